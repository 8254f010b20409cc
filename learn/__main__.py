"""`python -m learn`."""

from skillweave.base.command import end_on_signals

if __name__ == "__main__":
    end_on_signals()

    from learn.cli.app import main

    main()
