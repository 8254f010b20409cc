"""A worker: generated code that stays in its sandbox and answers many requests, as lines of JSON.

Its main file reads a line from standard input and writes one to standard output, in turn. `serve` of the module
`sandbox_worker`, which is put into its folder, does that. A worker that fails once cannot be used again.
"""

import json
import math
import os
import select
import selectors
import tempfile
import threading
import time
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import NoReturn, Self

from skillweave.base.errors import WorldError
from skillweave.sandbox.folder import Files, SandboxLimits, excess
from skillweave.sandbox.jail import Jail
from skillweave.schema.record import Json

SERVE = "sandbox_worker.py"
CHUNK = 65536
TAIL = 2000
"""Bytes of standard error that an error message quotes, at most."""
LIFE = SandboxLimits(seconds=20, cpu_seconds=300)
"""Default limits. CPU time is for the whole life of a worker; `seconds` is for one answer."""


class WorkerError(WorldError):
    """Generated code gave no answer: it died, hung, wrote too much, or wrote something that is not JSON."""


class Worker:
    """Generated code that answers requests. Threads may share it; they take turns."""

    def __init__(
        self,
        files: Files,
        main: str = "worker_main.py",
        limits: SandboxLimits = LIFE,
        *,
        arguments: Sequence[str] = (),
        readable: Sequence[Path] = (),
        packages: bool = False,
    ) -> None:
        """Start a worker.

        Args:
            files: What its folder holds; `sandbox_worker.py` is added.
            main: The file to run.
            limits: What it may use; `seconds` for one answer, the others for its whole life.
            arguments: Arguments of the program.
            readable: Paths that it may read in addition to the standard library.
            packages: Whether it may import installed packages.

        Raises:
            ConfigError: The machine confines less strongly than the limits demand.
        """
        serve = resources.files(__package__).joinpath("inside", SERVE).read_bytes()
        self._main = main
        self._limits = limits
        self._said = b""
        self._lock = threading.Lock()
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the worker
        try:
            self._jail = Jail(
                {SERVE: serve, **files},
                [main, *arguments],
                limits=limits,
                readable=readable,
                packages=packages,
                stderr=self._errors,
            )
        except BaseException:
            self._errors.close()
            raise
        assert self._jail.process.stdin is not None
        assert self._jail.process.stdout is not None
        self._stdin = self._jail.process.stdin.fileno()
        self._stdout = self._jail.process.stdout.fileno()
        os.set_blocking(self._stdin, False)
        self._failed: str | None = None

    def ask(self, message: Json, timeout: float | None = None) -> Json:
        """Send a request and wait for the answer.

        Args:
            message: The request.
            timeout: Seconds to wait; None: those of the limits.

        Raises:
            WorkerError: There is no answer, or it is not JSON. The worker has ended.
        """
        with self._lock:
            if self._failed is not None:
                raise WorkerError(f"worker {self._main!r} is over: {self._failed}; start another one")
            if select.select([self._stdout], [], [], 0)[0]:
                self._receive()
            if self._said:
                self._fail(f"it spoke before it was asked: {self._said[:200]!r}")
            line = self._exchange(json.dumps(message).encode() + b"\n", timeout or self._limits.seconds)
            if too_much := excess(self._jail.folder, self._limits):
                self._fail(too_much)
            try:
                answer: Json = json.loads(line, parse_constant=_refuse, parse_float=_finite)
                json.dumps(answer, ensure_ascii=False).encode()
            except (ValueError, RecursionError) as error:
                self._fail(f"it answered with a line that is no JSON ({error}): {line[:200]!r}")
            return answer

    def close(self) -> None:
        """End the worker and delete its folder. Closing it again does nothing."""
        with self._lock:
            if not self._errors.closed:
                self._jail.close()
                self._errors.close()
                self._failed = self._failed or "it was closed"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _exchange(self, given: bytes, seconds: float) -> bytes:
        """Send the bytes and read one line, both at once: the worker may answer before it has read everything."""
        deadline = time.monotonic() + seconds
        with selectors.DefaultSelector() as selector:
            selector.register(self._stdout, selectors.EVENT_READ)
            selector.register(self._stdin, selectors.EVENT_WRITE)
            while b"\n" not in self._said:
                left = deadline - time.monotonic()
                if left <= 0:
                    self._fail(f"it did not answer within {seconds:g} seconds")
                for key, _ in selector.select(left):
                    if key.fd == self._stdin:
                        given = self._send(given)
                        if not given:
                            selector.unregister(self._stdin)
                    else:
                        self._receive()
        line, _, self._said = self._said.partition(b"\n")
        return line

    def _send(self, given: bytes) -> bytes:
        """Send a part; the rest that is still to be sent."""
        try:
            return given[os.write(self._stdin, given[:CHUNK]) :]
        except BlockingIOError:
            return given
        except BrokenPipeError:
            # It stopped reading, most likely because it died. Reading its output will tell.
            return b""

    def _receive(self) -> None:
        chunk = os.read(self._stdout, CHUNK)
        if not chunk:
            self._fail("it ended")
        self._said += chunk
        if len(self._said) > self._limits.output_bytes:
            self._fail(f"it answered with more than {self._limits.output_bytes} bytes")

    def _fail(self, reason: str) -> NoReturn:
        """End the worker, and raise WorkerError with its last words."""
        self._jail.kill()
        size = self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(0, size - TAIL))
        last_words = self._jail.scrub(self._errors.read()).decode("utf-8", "replace").strip()
        self._failed = reason
        raise WorkerError(
            f"worker {self._main!r}: {reason}" + (f"; its last words:\n{last_words}" if last_words else "")
        )


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _refuse(text)


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")
