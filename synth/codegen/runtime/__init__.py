"""The runtime that stands beside every generated server, kept as a file to be copied and never imported by the engine."""

from importlib.resources import files


def source() -> str:
    """The text of `_runtime.py`."""
    return files(__package__).joinpath("_runtime.py").read_text("utf-8")
