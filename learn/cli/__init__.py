"""The command line of `learn`."""
