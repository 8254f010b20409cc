"""`python -m tests.engine.toy`: the toy's command line."""

from synth.cli.app import main
from synth.cli.place import Place

if __name__ == "__main__":
    main(Place("tests.engine.toy.steps", "tests.engine.toy.author:ToyAuthor"))
