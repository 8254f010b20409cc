"""How strongly this machine can confine generated code. Found out once by trying, and said in the log."""

import functools
import json
import logging
import shutil
import subprocess
import sys
from importlib import resources
from typing import Literal, NamedTuple

Strength = Literal["bubblewrap", "namespaces", "limits"]
logger = logging.getLogger(__name__)

BOOT = "import sys; sys.path.insert(0, {root!r}); from inside.launcher import main; main()"
"""The launcher is imported as a package of its own, so that nothing else of ours comes along."""
PATIENCE = 30.0
"""Seconds for one trial on a busy machine."""


class Offer(NamedTuple):
    strength: Strength
    bubblewrap: str | None
    """Path of the program."""
    kernel: list[str]
    """`landlock`, `seccomp`: used at every strength where they are there."""


def strength() -> Strength:
    """The strongest confinement that works here."""
    return offer().strength


@functools.cache
def offer() -> Offer:
    """What works here, tried once a process."""
    kernel = _probe()
    program = shutil.which("bwrap")
    if program and _works(program):
        found = Offer("bubblewrap", program, kernel)
    elif {"namespaces", "landlock", "seccomp"} <= set(kernel):
        found = Offer("namespaces", None, kernel)
    else:
        found = Offer("limits", None, kernel)
    if found.strength == "limits":
        also = [name for name in kernel if name != "namespaces"]
        logger.warning(
            "sandbox strength: LIMITS ONLY%s. Generated code is not kept from this machine's files or network as it "
            "should be. Install bubblewrap, or allow user namespaces (Linux 5.13 or later), before you run code that "
            "a model wrote.",
            f" (with {', '.join(also)})" if also else "",
        )
    else:
        logger.info("sandbox strength: %s", found.strength)
    return found


def launcher_command(plan: dict[str, object]) -> list[str]:
    """The command that starts the launcher with `plan`."""
    return [sys.executable, "-I", "-S", "-c", BOOT.format(root=package_folder()), json.dumps(plan)]


def package_folder() -> str:
    """Where the launcher's package lies."""
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


def _works(program: str) -> bool:
    trial = [program, "--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", sys.executable, "-S", "-c", "0"]
    try:
        return subprocess.run(trial, check=False, capture_output=True, timeout=PATIENCE, env={}).returncode == 0
    except (OSError, subprocess.SubprocessError):
        return False
