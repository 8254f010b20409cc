"""The files that every generated server stands on: copied beside it as they are, never imported by the engine."""

from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # Named here so that a change of theirs is a change of this module: fingerprints follow imports.
    from synth.codegen.inside import probe  # noqa: F401
    from synth.codegen.runtime import (  # noqa: F401
        _arguments,
        _noise,
        _people,
        _runtime,
        _session,
        _state,
        _transport,
    )

RUNTIME = ("_runtime.py", "_transport.py", "_session.py", "_state.py", "_people.py", "_noise.py", "_arguments.py")


def runtime_files() -> dict[str, str]:
    """Their texts by name."""
    folder = files("synth.codegen").joinpath("runtime")
    return {name: folder.joinpath(name).read_text("utf-8") for name in RUNTIME}
