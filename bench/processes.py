"""Commands in processes of their own, and what they and their descendants take."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
REAPER = """
import ctypes, os, resource, subprocess, sys, time
def ends_with_parent():
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, 15, 0, 0, 0)
ends_with_parent()
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
begun = time.perf_counter()
status = subprocess.call(sys.argv[1:], stdout=subprocess.DEVNULL, preexec_fn=ends_with_parent)
wall = time.perf_counter() - begun
try:
    while True:
        os.wait()
except ChildProcessError:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, wall)
sys.exit(status)
"""
"""Runs a command, which ends with this process (PR_SET_PDEATHSIG), and prints its seconds.

On Linux it also waits for processes whose parent is gone (PR_SET_CHILD_SUBREAPER); elsewhere their CPU time is unknown.
"""


def spent_by(command: Sequence[str], meanwhile: Callable[[int], None] | None = None) -> "Spent":
    """Run a command in the repository's root.

    Args:
        command: The command; `python` is replaced by this Python.
        meanwhile: Called four times a second with the id of a process whose descendants do the work.
    """
    python = [sys.executable if part == "python" else part for part in ("python", "-c", REAPER, *command)]
    # Where compiled modules are not kept, each start would compile them again.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with TemporaryFile() as said:
        with subprocess.Popen(python, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=said) as process:
            while meanwhile is not None and process.poll() is None:
                meanwhile(process.pid)
                time.sleep(0.25)
            cpu, wall = map(float, process.communicate()[0].split())
        said.seek(0)
        complaint = said.read().decode("utf-8", "replace").strip()
    return Spent(process.returncode, cpu, wall, complaint.rpartition("\n")[2])


class Spent(NamedTuple):
    """What a command took."""

    status: int
    cpu: float
    """CPU seconds of all its processes."""
    wall: float
    complaint: str
    """The last line of its standard error."""


def family(process: int) -> list[int]:
    """Ids of a process and all its descendants; only the process itself if there is no `/proc`."""
    parents: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            # The name in brackets may contain anything; state and parent follow it.
            parent = int(path.read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            continue
        parents.setdefault(parent, []).append(int(path.parent.name))
    members = [process]
    for member in members:
        members += parents.get(member, [])
    return members


def cpu_time(process: int) -> float:
    """CPU seconds of a running process so far. Raises OSError if the system does not tell (all but Linux)."""
    # The number of the clock that clock_getcpuclockid(3) gives.
    return time.clock_gettime((~process << 3) | 2)
