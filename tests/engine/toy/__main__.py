"""`python -m tests.engine.toy`: the toy's command line."""

from skillweave.interrupt import end_on_signals

if __name__ == "__main__":
    end_on_signals()

    from synth.cli.app import main
    from synth.cli.place import Place

    main(Place("tests.engine.toy.steps", "tests.engine.toy.author:ToyAuthor"))
