"""Answers that were given before:
the cache, which makes a repeated request free, and cassettes, which record and replay a run.
"""

import asyncio
import json
import os
import sqlite3
import threading
import time
from dataclasses import replace
from pathlib import Path

from pydantic import ConfigDict, TypeAdapter, ValidationError

from skillweave.base.errors import ArtifactError, ConfigError, ProviderError, StopError
from skillweave.base.text import UnreadableTextError, read_user_text
from skillweave.llm.backends.backend import Backend, BackendWrapper, Reply, Request
from skillweave.schema.record import Record
from skillweave.schema.trajectory import Message

WAIT = 30.0
"""Seconds to wait for another process that writes."""
RETRY_S = 0.05
"""Seconds between two attempts to switch the journal."""


def shared_database(path: Path | str) -> sqlite3.Connection:
    """Open a database with a write-ahead log, for any thread; each statement is its own transaction.

    SQLite waits for other writers by itself, except while the journal is switched: of two processes that open a new
    file at the same moment one would fail at once. So the switch is tried again, for WAIT seconds in all.

    Raises:
        sqlite3.Error: The file cannot be opened, is no database, or stays locked.
    """
    connection = sqlite3.connect(path, timeout=WAIT, check_same_thread=False, isolation_level=None)
    try:
        _write_ahead(connection, until=time.monotonic() + WAIT)
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _write_ahead(connection: sqlite3.Connection, until: float) -> None:
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(RETRY_S)


REPLY = TypeAdapter(Reply)


class CassetteEntry(Record):
    """One line of a cassette: a request and its reply."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=(), ser_json_inf_nan="null")

    digest: str
    question: str
    key: str
    attempt: int
    messages: list[Message]
    """What was asked, for people: replies are found by the digest."""
    reply: Reply


def cassette_line(request: Request, reply: Reply) -> str:
    """The line of a cassette that records a reply, with its line feed."""
    entry = CassetteEntry(
        digest=request.conversation_digest(),
        question=request.question,
        key=request.key,
        attempt=request.attempt,
        messages=list(request.messages),
        reply=replace(reply, cached=False),
    )
    # Escaped, since a reply may hold lone surrogates. The parser is to refuse them, not the recorder.
    return json.dumps(entry.model_dump(mode="python", exclude_none=True), default=vars) + "\n"


def read_cassette(path: Path) -> dict[str, Reply]:
    """Read a cassette; of several replies to one request the last counts.

    Returns:
        Replies by the conversation digest of their requests.

    Raises:
        ArtifactError: The file cannot be read, or a line other than the last is no entry.
    """
    try:
        lines = read_user_text(path).split("\n")
    except UnreadableTextError as error:
        raise ArtifactError(f"cassette {str(path)!r} cannot be read: {error}; record one first") from error
    replies: dict[str, Reply] = {}
    for number, line in enumerate(lines, start=1):
        if not line:
            continue
        try:
            entry = CassetteEntry.model_validate(json.loads(line))
        except (ValidationError, ValueError, RecursionError) as error:
            if number == len(lines):
                break
            raise ArtifactError(
                f"line {number} of cassette {str(path)!r} is no recorded reply; record it again"
            ) from error
        replies[entry.digest] = entry.reply
    return replies


class RecordingBackend(BackendWrapper):
    """Adds every reply to a cassette, before the reply is handed on."""

    def __init__(self, inner: Backend, cassette: Path) -> None:
        """Prepare the file. Raises ConfigError where it cannot be written."""
        super().__init__(inner)
        self._path = cassette
        self._lock = threading.Lock()
        try:
            cassette.parent.mkdir(parents=True, exist_ok=True)
            if cassette.exists() and not cassette.is_file():
                raise ConfigError(f"cassette {str(cassette)!r} is no file; give llm.record the path of one")
            _cut_torn_line(cassette)
        except OSError as error:
            raise ConfigError(
                f"cassette {str(cassette)!r} cannot be written: {error.strerror}; give llm.record another path"
            ) from error

    async def complete(self, request: Request) -> Reply:
        reply = await self._inner.complete(request)
        line = cassette_line(request, reply).encode("ascii")
        with self._lock, self._path.open("ab") as file:
            file.write(line)
        return reply


def _cut_torn_line(path: Path) -> None:
    """Remove a last line that a killed run left unfinished, so that the next line does not continue it."""
    if not path.exists():
        return
    with path.open("rb+") as file:
        content = file.read()
        if content and not content.endswith(b"\n"):
            file.seek(content.rfind(b"\n") + 1)
            file.truncate()
            os.fsync(file.fileno())


class ReplayBackend:
    """Answers from a cassette. A reply is found by words, item and attempt; the model that was recorded is ignored."""

    def __init__(self, cassette: Path) -> None:
        """Read the cassette. Raises ArtifactError."""
        self.name = f"replay/{cassette}"
        self._path = cassette
        self._replies = read_cassette(cassette)

    async def complete(self, request: Request) -> Reply:
        try:
            return self._replies[request.conversation_digest()]
        except KeyError:
            raise ProviderError(
                f"cassette {str(self._path)!r} holds no answer to question {request.question!r} for {request.key!r}, "
                f"attempt {request.attempt}: its prompt or what it is asked about has changed; record it again"
            ) from None

    async def close(self) -> None:
        """The cassette was read whole; there is nothing to release."""


class CachedBackend(BackendWrapper):
    """Keeps replies in one SQLite file, by what was asked. Replies without content are not kept."""

    def __init__(self, inner: Backend, path: Path, source: str = "") -> None:
        """Open the cache.

        Args:
            inner: Who answers what is not in the cache.
            path: The SQLite file; runs share it.
            source: Tells authors of one name apart: the endpoint, and how it is asked.

        Raises:
            ArtifactError: The file is no usable SQLite file.
        """
        super().__init__(inner)
        self._source = source
        self._path = path
        self._lock = threading.Lock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = shared_database(path)
            self._connection.execute("PRAGMA synchronous = FULL")
            self._connection.execute("CREATE TABLE IF NOT EXISTS reply (digest TEXT PRIMARY KEY, body TEXT NOT NULL)")
        except (sqlite3.DatabaseError, OSError) as error:
            raise ArtifactError(
                f"the cache {str(path)!r} is no usable SQLite file ({error}); delete it, or set llm.cache to another "
                "path or to false"
            ) from error

    async def complete(self, request: Request) -> Reply:
        digest = f"{self.name} {self._source} {request.digest()}"
        # In a thread, since another process may lock the file, and other requests should not wait for it.
        cached = await asyncio.to_thread(self._find, digest)
        if cached is not None:
            return cached
        reply = await self._inner.complete(request)
        if reply.stop == "content_filter" or not (reply.text or reply.tool_calls or reply.stop == "context_window"):
            return reply
        await asyncio.to_thread(self._keep, digest, reply)
        return reply

    async def close(self) -> None:
        await super().close()
        with self._lock:
            self._connection.close()

    def _stop(self, action: str, error: sqlite3.Error) -> StopError:
        return StopError(
            f"the cache {str(self._path)!r} cannot be {action} ({error}); make room, wait for who holds it, or set "
            "llm.cache to another path"
        )

    def _keep(self, digest: str, reply: Reply) -> None:
        # Escaped, since SQLite's text is UTF-8 and a reply may hold lone surrogates.
        body = json.dumps(REPLY.dump_python(reply, mode="python"), default=vars)
        try:
            with self._lock:
                self._connection.execute("INSERT OR REPLACE INTO reply VALUES (?, ?)", (digest, body))
        except sqlite3.Error as error:
            # All further replies would be paid for and lost.
            raise self._stop("written", error) from error

    def _find(self, digest: str) -> Reply | None:
        try:
            with self._lock:
                row = self._connection.execute("SELECT body FROM reply WHERE digest = ?", (digest,)).fetchone()
        except sqlite3.Error as error:
            raise self._stop("read", error) from error
        if row is None:
            return None
        try:
            return replace(REPLY.validate_python(json.loads(row[0])), cached=True)
        except (ValueError, TypeError, RecursionError):
            # A damaged entry counts as none: the request is sent again, and the entry is overwritten.
            return None
