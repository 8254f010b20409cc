"""The runtime of generated servers: files that are copied beside each server and run there without this project.

The engine reads them as text and never imports them.
"""

from importlib.resources import files

RUNTIME = ("_runtime.py", "_transport.py", "_session.py", "_state.py", "_people.py", "_noise.py", "_arguments.py")


def runtime_files() -> dict[str, str]:
    """The texts of the runtime's files, by file name."""
    folder = files("synth.servers").joinpath("runtime")
    return {name: folder.joinpath(name).read_text("utf-8") for name in RUNTIME}


def probe_source() -> str:
    """The text of the probe, which runs in the sandbox beside a server and puts cases to it."""
    return files("synth.servers").joinpath("runtime/probe.py").read_text("utf-8")


def _followed_by_fingerprints() -> None:
    """Never called. Fingerprints of steps follow imports: through these a change of a copied file changes the step."""
    from synth.servers.runtime import (  # noqa: F401
        _arguments,
        _noise,
        _people,
        _runtime,
        _session,
        _state,
        _transport,
        probe,
    )
