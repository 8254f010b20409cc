"""The files that every generated server stands on: copied beside it as they are, never imported by the engine."""

from importlib.resources import files

RUNTIME = ("_runtime.py", "_session.py", "_arguments.py")


def runtime_files() -> dict[str, str]:
    """Their texts by name."""
    folder = files("synth.codegen").joinpath("runtime")
    return {name: folder.joinpath(name).read_text("utf-8") for name in RUNTIME}
