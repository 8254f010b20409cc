"""How strongly this machine can confine generated code, found by a trial; and the profile for the sandbox of macOS.

The profile denies everything that it does not name. Its language is Apple's own and hardly documented; of the rules
that fit, the last one holds.
"""

import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from importlib import resources
from pathlib import Path
from typing import NamedTuple, get_args

from skillweave.base.errors import ConfigError
from skillweave.config.sections import Strength

SYSTEM = (
    "/usr/lib",
    "/usr/share/zoneinfo",
    "/System/Library",
    "/System/Cryptexes",
    "/System/Volumes/Preboot/Cryptexes",
    "/private/preboot/Cryptexes",
    "/private/var/db/dyld",
    "/private/var/db/timezone",
)
"""Paths that the dynamic linker and the C library of macOS read."""
DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random")
INTERPRETER = "Resources/Python.app/Contents/MacOS/Python"
"""In a framework build, `python` is a stub that becomes this program."""

BOOT = "import sys; sys.path.insert(0, {root!r}); from inside.launcher import main; main()"
"""Starts the launcher as a package of its own, so that nothing else of this project is imported with it."""
PATIENCE = 30.0
"""Seconds for one trial; enough for a busy machine."""
WAY_OUT = "install bubblewrap, or allow user namespaces (Linux 5.13 or later)"
PROGRAMS: dict[str, Strength] = {"bwrap": "bubblewrap", "sandbox-exec": "seatbelt"}


class MachineSupport(NamedTuple):
    """What this machine offers to confine code."""

    strength: Strength
    """The strongest confinement that works."""
    program: str | None
    """Path of the program that confines, if one does."""
    kernel: list[str]
    """`landlock`, `seccomp`: used at every strength if the kernel has them."""


def strength() -> Strength:
    """The strongest confinement that works on this machine."""
    return machine_support().strength


@functools.cache
def machine_support() -> MachineSupport:
    """What works on this machine. Tried once a process, since a trial starts programs and the answer cannot change."""
    kernel = _probe()
    name = "sandbox-exec" if sys.platform == "darwin" else "bwrap"
    program = shutil.which(name)
    if program and _works([program, *_trial(PROGRAMS[name])]):
        return MachineSupport(PROGRAMS[name], program, kernel)
    strong = {"namespaces", "landlock", "seccomp"} <= set(kernel)
    return MachineSupport("namespaces" if strong else "limits", None, kernel)


def require(minimum: Strength, support: MachineSupport | None = None) -> None:
    """Raise ConfigError if the machine confines less strongly than `minimum`.

    Args:
        minimum: The weakest confinement allowed.
        support: What the machine supports; None: find out.
    """
    offered = (support or machine_support()).strength
    order = get_args(Strength)
    if order.index(offered) < order.index(minimum):
        raise ConfigError(
            f"sandbox.minimum is {minimum!r}, but this machine offers {offered!r} at most (of {', '.join(order)}); "
            f"{WAY_OUT}, or lower sandbox.minimum"
        )


def caution() -> str | None:
    """A warning in one line for the user of a machine that cannot confine code; None if it can."""
    support = machine_support()
    if support.strength != "limits":
        return None
    also = ", ".join(name for name in support.kernel if name != "namespaces")
    return (
        f"sandbox strength: LIMITS ONLY{also and f' (with {also})'}. Generated code is not kept from this machine's "
        f"files or network as it should be. Before you run code that a model wrote: {WAY_OUT}."
    )


def launcher_command(plan: dict[str, object]) -> list[str]:
    """The command that starts the launcher with `plan`."""
    return [sys.executable, "-I", "-S", "-c", BOOT.format(root=package_folder()), json.dumps(plan)]


def package_folder() -> str:
    """The folder of the launcher's package."""
    return str(resources.files(__package__))


def _probe() -> list[str]:
    if sys.platform != "linux":
        return []
    command = launcher_command({"stage": "probe"})
    try:
        done = subprocess.run(command, capture_output=True, timeout=PATIENCE, env={}, check=True)
        return [str(name) for name in json.loads(done.stdout)]
    except (OSError, subprocess.SubprocessError, ValueError):
        return []


def _trial(wanted: Strength) -> list[str]:
    """Arguments with which the confining program runs a program that does nothing."""
    nothing = [sys.executable, "-I", "-S", "-c", "0"]
    if wanted == "seatbelt":
        return ["-p", profile([sys.executable, sys.prefix, sys.base_prefix], [tempfile.gettempdir()]), *nothing]
    return ["--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", *nothing]


def _works(trial: list[str]) -> bool:
    try:
        return subprocess.run(trial, check=False, capture_output=True, timeout=PATIENCE, env={}).returncode == 0
    except (OSError, subprocess.SubprocessError):
        return False


def profile(readable: Sequence[str], writable: Sequence[str]) -> str:
    """The profile for `sandbox-exec`: it may read beneath `readable`, and read and write beneath `writable`."""
    python = {sys.executable, os.path.realpath(sys.executable), os.path.join(sys.base_prefix, INTERPRETER)}
    above = {str(parent) for path in (*readable, *writable) for parent in Path(os.path.realpath(path)).parents}
    read = [*_named("subpath", {*SYSTEM, *map(os.path.realpath, (*readable, *writable))}), *_named("literal", DEVICES)]
    lines = [
        "(version 1)",
        "(deny default)",
        _allow("process-exec", _named("literal", python)),
        _allow("file-read*", read),
        _allow("file-read-metadata", _named("literal", above)),
        "(allow sysctl-read)",
        "(allow signal (target self))",
        _allow("file-write-data", _named("literal", ["/dev/null"])),
    ]
    if writable:
        lines.append(_allow("file-write*", _named("subpath", map(os.path.realpath, writable))))
        lines.append("(deny file-write-create (vnode-type SYMLINK))")
    return "\n".join([*lines, "(deny network*)", "(deny process-fork)"]) + "\n"


def _allow(operation: str, filters: Sequence[str]) -> str:
    return f"(allow {operation} {' '.join(filters)})"


def _named(kind: str, paths: Iterable[str]) -> list[str]:
    return [f"({kind} {json.dumps(path, ensure_ascii=False)})" for path in sorted(paths)]
