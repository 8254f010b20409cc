"""Keep replies in one SQLite file, by what was asked. A reply is on disk before anybody reads it.

So a run that is killed while it reads an answer does not pay for that answer again. Replies that say nothing are not
kept: the next run asks again.
"""

import asyncio
import json
import sqlite3
import threading
from dataclasses import replace
from pathlib import Path

from pydantic import TypeAdapter

from skillweave.errors import ArtifactError, StopError
from skillweave.llm.backend import Backend
from skillweave.llm.database import shared_database
from skillweave.llm.request import Reply, Request

REPLY = TypeAdapter(Reply)


class Cache:
    def __init__(self, inner: Backend, path: Path, source: str = "") -> None:
        """`source` tells authors of one name apart: at which endpoint, asked in which way."""
        self.name = inner.name
        self._source = source
        self._inner = inner
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
        # In threads, since another process may hold the file, and nobody else is to wait for that.
        known = await asyncio.to_thread(self._find, digest)
        if known is not None:
            return known
        reply = await self._inner.complete(request)
        if reply.stop == "content_filter" or not (reply.text or reply.tool_calls or reply.stop == "context_window"):
            return reply
        await asyncio.to_thread(self._keep, digest, reply)
        return reply

    async def close(self) -> None:
        await self._inner.close()
        with self._lock:
            self._connection.close()

    def _complaint(self, done: str, error: sqlite3.Error) -> StopError:
        return StopError(
            f"the cache {str(self._path)!r} cannot be {done} ({error}); make room, wait for who holds it, or set "
            "llm.cache to another path"
        )

    def _keep(self, digest: str, reply: Reply) -> None:
        # Escaped, since SQLite's text is UTF-8 and a reply may hold lone surrogates.
        body = json.dumps(REPLY.dump_python(reply, mode="python"), default=vars)
        try:
            with self._lock:
                self._connection.execute("INSERT OR REPLACE INTO reply VALUES (?, ?)", (digest, body))
        except sqlite3.Error as error:
            # Whatever is asked from now on would be paid for and lost.
            raise self._complaint("written", error) from error

    def _find(self, digest: str) -> Reply | None:
        try:
            with self._lock:
                row = self._connection.execute("SELECT body FROM reply WHERE digest = ?", (digest,)).fetchone()
        except sqlite3.Error as error:
            raise self._complaint("read", error) from error
        if row is None:
            return None
        try:
            return replace(REPLY.validate_python(json.loads(row[0])), cached=True)
        except (ValueError, TypeError, RecursionError):
            # A damaged entry is as good as none: it is asked again and written over.
            return None
