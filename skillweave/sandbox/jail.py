"""A jail: a fresh folder with one confined Python process in it. What it holds is gone when it is closed.

Both one-shot runs and long-lived workers stand on it.
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

from skillweave.sandbox.folder import Files, delete, place
from skillweave.sandbox.limits import SandboxLimits
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
"""Processes that confine the code and stand around it, by strength."""
DISMISSED = b"."
"""A word on the line, so that the launcher can tell our leave from our death."""
GRACE = 5.0
"""Seconds for the launcher to kill what it started before it is killed itself."""

Stream = int | IO[bytes]


class JailEnding(NamedTuple):
    status: int | None
    """Of the code, 128 and more for signals. None where it was ended, or where the launcher itself came to grief."""
    passed: str = ""
    """The bound that it was ended for, if it was: one of `Limits.of_watch`."""


class Jail:
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
        found = machine_support()
        require(limits.minimum, found)
        self.folder = Path(os.path.realpath(tempfile.mkdtemp(prefix="skillweave-")))
        try:
            place(self.folder, files)
            self.line, theirs = socket.socketpair()
            with theirs:
                plan = _plan(self.folder, arguments, limits, readable, packages, found)
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
        """How the code ended; waits for it."""
        report = b""
        while not report.endswith(b"\n") and (part := self.line.recv(64)):
            report += part
        word = report.decode("ascii").strip()
        return JailEnding(int(word)) if word.isdigit() else JailEnding(None, word)

    def kill(self) -> None:
        """End everything in the jail, now; returns when it is over."""
        # It may be closed already, by us or by the launcher's own death.
        with contextlib.suppress(OSError):
            self.line.sendall(DISMISSED)
        self.line.close()
        try:
            self.process.wait(GRACE)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def close(self) -> None:
        """Kill what runs and delete the folder."""
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
        """`output` without this machine's paths, which differ from run to run."""
        for path, name in ((self.folder, b"."), (Path(sys.prefix), b"<python>"), (Path(sys.base_prefix), b"<python>")):
            output = output.replace(os.fsencode(path), name)
        return output


def _plan(
    folder: Path,
    arguments: Sequence[str],
    limits: SandboxLimits,
    readable: Sequence[Path],
    packages: bool,
    found: MachineSupport,
) -> dict[str, object]:
    # -I would also switch off the environment, and with it the fixed hash seed; the environment is ours anyway.
    options = ["-P", "-s"] if packages else ["-P", "-s", "-S"]
    visible = _readable(readable, packages)
    plan: dict[str, object] = {
        "stage": "launch",
        "strength": found.strength,
        "offers": found.kernel,
        "folder": str(folder),
        "argv": [sys.executable, *options, *arguments],
        "environment": _environment(folder),
        "readable": [*visible, *DEVICES],
        "writable": [str(folder)],
        "limits": limits.of_kernel(),
        "bounds": limits.of_watch(),
        "trusted": TRUSTED.get(found.strength, 0),
    }
    if "seccomp" not in found.kernel:
        # Without the filter that tells threads from processes, neither may be started.
        plan["limits"] = limits.of_kernel() | {"RLIMIT_NPROC": (0, 0)}
    payload = launcher_command({**plan, "stage": "payload"})
    if found.strength == "bubblewrap":
        plan["wrapper"] = [str(found.program), *_bubblewrap(folder, visible), *payload]
    elif found.strength == "seatbelt":
        plan["wrapper"] = [str(found.program), "-p", profile([*visible, package_folder()], [str(folder)]), *payload]
    return plan


def _readable(extra: Sequence[Path], packages: bool) -> list[str]:
    """Existing paths: the interpreter and its libraries, and what the caller adds."""
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
    }


def _bubblewrap(folder: Path, visible: list[str]) -> list[str]:
    options = ["--unshare-all", "--unshare-user", "--uid", INNER_ID, "--gid", INNER_ID, "--cap-drop", "ALL"]
    options += ["--die-with-parent", "--new-session", "--clearenv"]
    for path in [*visible, package_folder()]:
        options += ["--ro-bind", path, path]
    options += ["--dev", "/dev", "--bind", str(folder), str(folder)]
    # Both lie in memory, and what is written to them would count for nobody.
    options += ["--remount-ro", "/dev", "--remount-ro", "/"]
    return [*options, "--chdir", str(folder), "--"]
