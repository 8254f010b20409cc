"""`python -m tests.engine.toy`: the toy's command line."""

from skillweave.base.command import end_on_signals

if __name__ == "__main__":
    end_on_signals()

    from synth.cli.app import main
    from synth.cli.options import PipelineSource

    main(PipelineSource("tests.engine.toy.steps", "tests.engine.toy.author:ToyAuthor"))
