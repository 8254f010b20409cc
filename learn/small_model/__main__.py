"""`python -m learn.small_model`."""

from skillweave.base.command import end_on_signals

if __name__ == "__main__":
    end_on_signals()

    from learn.small_model.command import main

    main()
