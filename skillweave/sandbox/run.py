"""Run generated Python code once, in a sandbox, and see what it wrote and said.

Whatever the code does, this returns an Outcome: code that hangs, dies or floods is a result, not an error of ours.
"""

import contextlib
import os
import selectors
import signal
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

from skillweave.sandbox.folder import Files, excess, written
from skillweave.sandbox.jail import Jail, JailEnding
from skillweave.sandbox.limits import SandboxLimits

Status = Literal["ok", "failed", "timeout", "flooded", "killed"]
"""failed: it ended by itself with an error. flooded: too much output or too many files. killed: by a limit."""

CHUNK = 65536
TICK = 0.2
"""Seconds between two looks at the folder."""


@dataclass(frozen=True)
class SandboxOutcome:
    status: Status
    stdout: str
    stderr: str
    files: Mapping[str, bytes]
    """Files made or changed, by relative path, sorted; links are left out."""
    reason: str
    """One line; empty where the status is ok."""

    @property
    def ok(self) -> bool:
        return self.status == "ok"


def run(
    files: Files,
    command: Sequence[str],
    *,
    stdin: bytes = b"",
    limits: SandboxLimits | None = None,
    readable: Sequence[Path] = (),
    packages: bool = False,
) -> SandboxOutcome:
    """Run Python with the arguments `command` (`["main.py", "--count", "3"]`, `["-m", "pytest"]`).

    The working folder holds `files` and is on the import path. `readable` paths may be read beside the standard
    library; installed packages only with `packages`. Blocks: call it from a thread where an event loop runs.
    """
    limits = limits or SandboxLimits()
    with (
        _reading(stdin) as given,
        Jail(files, command, limits=limits, readable=readable, packages=packages, stdin=given) as jail,
    ):
        watched = _Watched(jail, limits)
        stopped = watched.until_end()
        ending = JailEnding(None) if stopped else jail.ending()
        jail.kill()
        out, err = (jail.scrub(part).decode("utf-8", "replace") for part in watched.output())
        verdict, reason = stopped or _verdict(ending, err, limits)
        return SandboxOutcome(verdict, out, err, written(jail.folder, files, limits), reason)


@contextlib.contextmanager
def _reading(content: bytes) -> Iterator[IO[bytes]]:
    """A file of that content which cannot be written to."""
    descriptor, name = tempfile.mkstemp(prefix="skillweave-")
    with os.fdopen(descriptor, "wb") as file, Path(name).open("rb") as given:
        Path(name).unlink()
        file.write(content)
        file.flush()
        yield given


class _Watched:
    """The output of a jail, read as it comes, with an eye on the clock and the folder."""

    def __init__(self, jail: Jail, limits: SandboxLimits) -> None:
        assert jail.process.stdout is not None
        assert jail.process.stderr is not None
        self._jail = jail
        self._limits = limits
        self._parts: dict[int, bytearray] = {
            jail.process.stdout.fileno(): bytearray(),
            jail.process.stderr.fileno(): bytearray(),
        }

    def output(self) -> tuple[bytes, bytes]:
        out, err = self._parts.values()
        return bytes(out), bytes(err)

    def until_end(self) -> tuple[Status, str] | None:
        """Read until the code has ended and both streams too; why it was stopped, if it was."""
        deadline = time.monotonic() + self._limits.seconds
        look = time.monotonic() + TICK
        with selectors.DefaultSelector() as selector:
            for source in (*self._parts, self._jail.line.fileno()):
                selector.register(source, selectors.EVENT_READ)
            while selector.get_map():
                now = time.monotonic()
                if now >= deadline:
                    return "timeout", f"it ran longer than {self._limits.seconds:g} seconds"
                if now >= look:
                    look = now + TICK
                    if too_much := excess(self._jail.folder, self._limits):
                        return "flooded", too_much
                for key, _ in selector.select(min(deadline, look) - now):
                    if not self._read(key.fd):
                        selector.unregister(key.fd)
                if sum(map(len, self._parts.values())) > self._limits.output_bytes:
                    return "flooded", f"it wrote more than {self._limits.output_bytes} bytes of output"
        too_much = excess(self._jail.folder, self._limits)
        return ("flooded", too_much) if too_much else None

    def _read(self, source: int) -> bool:
        """Whether more may come. The line is only watched: it speaks once, at the end."""
        chunk = os.read(source, CHUNK) if source in self._parts else b""
        if chunk:
            self._parts[source] += chunk
        return bool(chunk)


def _verdict(ending: JailEnding, stderr: str, limits: SandboxLimits) -> tuple[Status, str]:
    status = ending.status
    if status == 0:
        return "ok", ""
    if ending.passed:
        return "killed", limits.passed(ending.passed)
    last = next((line for line in reversed(stderr.splitlines()) if line.strip()), "")[:500]
    if status is not None and status < 128:
        return "failed", f"it ended with status {status}" + (f": {last}" if last else "")
    if status in (128 + signal.SIGXCPU, 128 + signal.SIGKILL):
        return "killed", f"it used more than {limits.cpu_seconds} seconds of CPU time"
    name = "a signal" if status is None else signal.strsignal(status - 128) or f"signal {status - 128}"
    return "killed", f"it was killed: {name}"
