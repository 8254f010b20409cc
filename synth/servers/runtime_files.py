"""The files that every generated server stands on. They are copied beside it and never imported by the engine."""

from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # Named here so that a change of theirs is a change of this module: fingerprints follow imports.
    from synth.servers import probe  # noqa: F401

RUNTIME = ("_runtime.py", "_transport.py", "_session.py", "_state.py", "_people.py", "_noise.py", "_arguments.py")


def runtime_files() -> dict[str, str]:
    """Their texts by name."""
    folder = files("synth.servers").joinpath("runtime")
    return {name: folder.joinpath(name).read_text("utf-8") for name in RUNTIME}
