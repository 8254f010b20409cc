"""The command line: `python -m interop export` and `python -m interop serve`."""
