"""`python -m evaluator.run_evaluation`: the same as `python -m evaluator run`."""

from skillweave.base.command import end_on_signals

if __name__ == "__main__":
    end_on_signals()

    import sys

    from evaluator.cli.app import main

    main(["run", *sys.argv[1:]])
