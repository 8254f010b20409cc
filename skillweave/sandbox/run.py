"""Run generated Python code once in a sandbox, and return what it wrote and printed.

Whatever the code does, the answer is a `SandboxOutcome`: code that hangs, dies or floods is a result, not an error.
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

from skillweave.sandbox.folder import Files, SandboxLimits, excess, written
from skillweave.sandbox.jail import Jail, JailEnding

Status = Literal["ok", "failed", "timeout", "flooded", "killed"]
"""`failed`: it ended by itself with an error; `flooded`: too much output or too many files; `killed`: by a limit."""

CHUNK = 65536
TICK = 0.2
"""Seconds between two looks at the folder."""


@dataclass(frozen=True)
class SandboxOutcome:
    """What became of generated code."""

    status: Status
    """How it ended."""
    stdout: str
    """What it printed."""
    stderr: str
    """What it printed to the error output."""
    files: Mapping[str, bytes]
    """Relative path -> content of the files made or changed, sorted; links are left out."""
    reason: str
    """Why it did not end well, in one line; empty if the status is `ok`."""

    @property
    def ok(self) -> bool:
        """Whether it ended by itself without an error."""
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
    """Run Python and wait for it. It blocks: if an event loop runs, call it from another thread.

    Args:
        files: What the working folder holds, which is on the import path.
        command: Python's arguments: `["main.py", "--count", "3"]`, `["-m", "pytest"]`.
        stdin: Its input.
        limits: What it may use; None: the defaults of the configuration.
        readable: Paths that it may read in addition to the standard library.
        packages: Whether it may import installed packages.

    Raises:
        ConfigError: The machine confines less strongly than the limits demand.
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
    """A file with that content, open for reading only."""
    descriptor, name = tempfile.mkstemp(prefix="skillweave-")
    with os.fdopen(descriptor, "wb") as file, Path(name).open("rb") as given:
        Path(name).unlink()
        file.write(content)
        file.flush()
        yield given


class _Watched:
    """Reads the output of a jail as it comes, and watches the clock and the folder."""

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
        """What came on stdout and on stderr."""
        out, err = self._parts.values()
        return bytes(out), bytes(err)

    def until_end(self) -> tuple[Status, str] | None:
        """Read until the code and both streams have ended. Returns why it has to be stopped; None if it ended."""
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
        """Read a stream, and say whether more may come. The line to the launcher is only watched, not read."""
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
