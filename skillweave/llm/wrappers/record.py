"""Record every reply to a cassette, as it comes. Each line is written whole, before the reply is handed on."""

import os
import threading
from pathlib import Path

from skillweave.errors import ConfigError
from skillweave.llm.backend import Backend
from skillweave.llm.cassette import a_take
from skillweave.llm.request import Reply, Request


class Recorder:
    def __init__(self, inner: Backend, cassette: Path) -> None:
        self.name = inner.name
        self._inner = inner
        self._path = cassette
        self._lock = threading.Lock()
        try:
            cassette.parent.mkdir(parents=True, exist_ok=True)
            if cassette.exists() and not cassette.is_file():
                raise ConfigError(f"cassette {str(cassette)!r} is no file; give llm.record the path of one")
            _mend(cassette)
        except OSError as error:
            raise ConfigError(
                f"cassette {str(cassette)!r} cannot be written: {error.strerror}; give llm.record another path"
            ) from error

    async def complete(self, request: Request) -> Reply:
        reply = await self._inner.complete(request)
        line = a_take(request, reply).encode("ascii")
        with self._lock, self._path.open("ab") as file:
            file.write(line)
        return reply

    async def close(self) -> None:
        await self._inner.close()


def _mend(path: Path) -> None:
    """Cut off a last line that a killed run left torn, so that the next line is not glued to it."""
    if not path.exists():
        return
    with path.open("rb+") as file:
        content = file.read()
        if content and not content.endswith(b"\n"):
            file.seek(content.rfind(b"\n") + 1)
            file.truncate()
            os.fsync(file.fileno())
