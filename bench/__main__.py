"""`python -m bench`."""

from skillweave.base.command import end_on_signals

if __name__ == "__main__":
    end_on_signals()

    from bench.cli import main

    main()
