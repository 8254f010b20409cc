"""`python -m synth`."""

from synth.cli.app import main

if __name__ == "__main__":
    main()
