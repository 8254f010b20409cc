"""A jail: a fresh folder with one confined Python process in it. Closing it deletes everything.

One-shot runs (`run`) and long-lived workers (`worker`) both use it.
"""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO, NamedTuple, Self

from skillweave.sandbox.folder import Files, SandboxLimits, delete, place
from skillweave.sandbox.strength import (
    MachineSupport,
    launcher_command,
    machine_support,
    package_folder,
    profile,
    require,
)

SYSTEM = (
    "/lib",
    "/lib64",
    "/usr/lib",
    "/usr/lib64",
    "/nix/store",
    "/usr/share/zoneinfo",
    "/etc/ld.so.cache",
    "/etc/localtime",
)
DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random")
INNER_ID = "1000"
TRUSTED: dict[str, int] = {"bubblewrap": 2, "namespaces": 1}
"""Strength -> number of processes around the code that confine it."""
DISMISSED = b"."
"""A byte on the line to the launcher: it tells dismissal from our death, which closes the line without a word."""
GRACE = 5.0
"""Seconds for the launcher to kill what it started; then it is killed itself."""

Stream = int | IO[bytes]


class JailEnding(NamedTuple):
    """How the code in a jail ended."""

    status: int | None
    """Exit status of the code, 128 and more for signals. None if it was stopped, or if the launcher itself failed."""
    passed: str = ""
    """The bound for which it was stopped: one of `SandboxLimits.of_watch`; empty if it was not."""


class Jail:
    """A confined Python process in a folder of its own. A `with` block closes it."""

    def __init__(
        self,
        files: Files,
        arguments: Sequence[str],
        *,
        limits: SandboxLimits,
        readable: Sequence[Path] = (),
        packages: bool = False,
        stdin: Stream = subprocess.PIPE,
        stdout: Stream = subprocess.PIPE,
        stderr: Stream = subprocess.PIPE,
    ) -> None:
        """Start Python.

        Args:
            files: What the folder holds; it is the working folder and on the import path.
            arguments: Python's arguments: `["main.py", "--count", "3"]`.
            limits: What the process may use, and how strongly it must be confined.
            readable: Paths that it may read in addition to the standard library.
            packages: Whether it may import installed packages.
            stdin: Where its input comes from.
            stdout: Where its output goes.
            stderr: Where its error output goes.

        Raises:
            ConfigError: The machine confines less strongly than the limits demand, or a file's path leads out.
        """
        support = machine_support()
        require(limits.minimum, support)
        self.folder = Path(os.path.realpath(tempfile.mkdtemp(prefix="skillweave-")))
        try:
            place(self.folder, files)
            self.line, theirs = socket.socketpair()
            with theirs:
                plan = _plan(self.folder, arguments, limits, readable, packages, support)
                self.process = subprocess.Popen(
                    launcher_command({**plan, "line": theirs.fileno()}),
                    stdin=stdin,
                    stdout=stdout,
                    stderr=stderr,
                    env={},
                    cwd=self.folder,
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,
                )
        except BaseException:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise

    def ending(self) -> JailEnding:
        """Wait until the code ends, and say how it ended."""
        report = b""
        while not report.endswith(b"\n") and (part := self.line.recv(64)):
            report += part
        word = report.decode("ascii").strip()
        return JailEnding(int(word)) if word.isdigit() else JailEnding(None, word)

    def kill(self) -> None:
        """Kill everything in the jail, and wait until it is dead."""
        # The line may be closed already, by an earlier call or by the death of the launcher.
        with contextlib.suppress(OSError):
            self.line.sendall(DISMISSED)
        self.line.close()
        try:
            self.process.wait(GRACE)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def close(self) -> None:
        """Kill everything and delete the folder."""
        self.kill()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()
        delete(self.folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def scrub(self, output: bytes) -> bytes:
        """The output without this machine's paths, which differ between runs and machines."""
        for path, name in ((self.folder, b"."), (Path(sys.prefix), b"<python>"), (Path(sys.base_prefix), b"<python>")):
            output = output.replace(os.fsencode(path), name)
        return output


def _plan(
    folder: Path,
    arguments: Sequence[str],
    limits: SandboxLimits,
    readable: Sequence[Path],
    packages: bool,
    support: MachineSupport,
) -> dict[str, object]:
    """The plan that the launcher carries out, as JSON."""
    # -I would also ignore the environment, and with it the fixed hash seed. The environment is ours anyway.
    options = ["-P", "-s"] if packages else ["-P", "-s", "-S"]
    visible = _readable(readable, packages)
    plan: dict[str, object] = {
        "stage": "launch",
        "strength": support.strength,
        "offers": support.kernel,
        "folder": str(folder),
        "argv": [sys.executable, *options, *arguments],
        "environment": _environment(folder),
        "readable": [*visible, *DEVICES],
        "writable": [str(folder)],
        "limits": limits.of_kernel(),
        "bounds": limits.of_watch(),
        "trusted": TRUSTED.get(support.strength, 0),
    }
    if "seccomp" not in support.kernel:
        # Only the filter can tell threads from processes; without it neither may be started.
        plan["limits"] = limits.of_kernel() | {"RLIMIT_NPROC": (0, 0)}
    payload = launcher_command({**plan, "stage": "payload"})
    if support.strength == "bubblewrap":
        plan["wrapper"] = [str(support.program), *_bubblewrap(folder, visible), *payload]
    elif support.strength == "seatbelt":
        plan["wrapper"] = [str(support.program), "-p", profile([*visible, package_folder()], [str(folder)]), *payload]
    return plan


def _readable(extra: Sequence[Path], packages: bool) -> list[str]:
    """Paths that exist: the interpreter, its libraries and what the caller adds."""
    python = [os.path.realpath(sys.executable), sys.base_prefix]
    if packages:
        python += [sys.prefix]
    else:
        python += [sys.executable, os.path.join(sys.prefix, "pyvenv.cfg")]
    paths = [*SYSTEM, *python, *(os.path.realpath(path) for path in extra)]
    return sorted({path for path in paths if Path(path).exists()})


def _environment(folder: Path) -> dict[str, str]:
    return {
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "PYTHONPATH": str(folder),
        "PYTHONHASHSEED": "0",
        "PYTHONUTF8": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        # Memory that is given back to the kernel is taken again with the next page that SQLite reads.
        "MALLOC_TRIM_THRESHOLD_": str(64 << 20),
    }


def _bubblewrap(folder: Path, visible: list[str]) -> list[str]:
    options = ["--unshare-all", "--unshare-user", "--uid", INNER_ID, "--gid", INNER_ID, "--cap-drop", "ALL"]
    options += ["--die-with-parent", "--new-session", "--clearenv"]
    for path in [*visible, package_folder()]:
        options += ["--ro-bind", path, path]
    options += ["--dev", "/dev", "--bind", str(folder), str(folder)]
    # Both are in memory, where nothing counts what is written to them.
    options += ["--remount-ro", "/dev", "--remount-ro", "/"]
    return [*options, "--chdir", str(folder), "--"]
