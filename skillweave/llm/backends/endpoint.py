"""Endpoint: what the providers that are reached through an official SDK have in common.

The SDK sends, waits and tries again; what is sent and how the answer is read is ours. The SDKs' typed methods walk
through every message of a conversation in every call, so their documented `post` is used, with a body made here.
The key is read from the environment, is given to the SDK, and appears nowhere else: not in errors, logs or records.
"""

import asyncio
import json
import os
import threading
from abc import ABC, abstractmethod
from typing import Any
from weakref import WeakKeyDictionary

from skillweave.errors import ConfigError, ProviderError
from skillweave.llm.backends.fault import content_refused, no_longer_fits, translated
from skillweave.llm.backends.gated import CLOCK, gated
from skillweave.llm.lane import Lane
from skillweave.llm.request import Reply, Request

LONGEST_PAUSE = 120.0
"""Seconds that an SDK waits at most before it tries again; a longer Retry-After ends its tries."""
NO_KEY = "none"
"""What is sent to an endpoint that asks for no key; never the key of another endpoint."""
AS_JSON = {"headers": {"Content-Type": "application/json"}}


class Endpoint(ABC):
    path: str
    """Of the one resource that is posted to, after the base URL."""

    def __init__(
        self,
        name: str,
        *,
        base_url: str,
        key: str,
        timeout: float = 120.0,
        max_retries: int = 4,
        stream: bool = False,
        lane: Lane | None = None,
    ) -> None:
        self.name = name
        self._base_url = base_url
        self._key = key
        self._timeout = timeout
        self._max_retries = max_retries
        self._stream = stream
        self._lane = lane
        # One more than there are tries, so that the SDK, which knows more, speaks first.
        self._deadline = (max_retries + 2) * timeout + max_retries * LONGEST_PAUSE
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, Any] = WeakKeyDictionary()
        self._lock = threading.Lock()

    async def complete(self, request: Request) -> Reply:
        got = await self._exchange(self._body(request))
        if isinstance(got, ProviderError) and self._gives_way(got):
            got = await self._exchange(self._body(request))
        if isinstance(got, Reply):
            return got
        if isinstance(got, ProviderError):
            # Raised out here, since the SDK's error, chained to ours, would carry the request and its headers along.
            raise got
        return self._read(got, request)

    async def close(self) -> None:
        """Close the connections of the running event loop; each loop closes its own."""
        with self._lock:
            client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.close()

    @abstractmethod
    def _sdk(self) -> Any:
        """The SDK's module, imported when it is needed and not before."""

    @abstractmethod
    def _connect(self) -> Any:
        """A new client of the SDK, for one event loop."""

    @abstractmethod
    def _body(self, request: Request) -> dict[str, Any]:
        """What is posted."""

    @abstractmethod
    def _read(self, answer: bytes | list[object], request: Request) -> Reply:
        """The reply: from a whole body, or from the events of a stream. Raises ProviderError."""

    def _gives_way(self, fault: ProviderError) -> bool:
        """Whether the next body leaves out what the endpoint complains about."""
        return False

    async def _exchange(self, body: dict[str, Any]) -> bytes | list[object] | Reply | ProviderError:
        content = json.dumps(body).encode("ascii")
        events: list[object] | None = None
        try:
            # The SDK's own limit is for one read, so a server that drips would be waited for without end.
            async with asyncio.timeout(self._deadline) as clock:
                CLOCK.set(clock)
                client = self._client()
                if not self._stream:
                    whole: bytes = await client.post(self.path, cast_to=bytes, content=content, options=AS_JSON)
                    return whole
                kind = self._sdk().AsyncStream[object]
                stream = await client.post(
                    self.path, cast_to=object, content=content, options=AS_JSON, stream=True, stream_cls=kind
                )
                events = []
                async with stream:
                    async for event in stream:
                        events.append(event)
                return events
        except TimeoutError:
            return ProviderError(f"{self.name}: no answer within {self._deadline:g} seconds, retries included")
        except Exception as error:  # of the SDK and of the transport below it, which lets its own through
            return self._failed(error, has_begun=events is not None)

    def _failed(self, error: Exception, *, has_begun: bool) -> Reply | ProviderError:
        if no_longer_fits(error):
            return Reply(text="", stop="context_window")
        if content_refused(error):
            return Reply(text="", stop="content_filter")
        is_known = isinstance(error, self._sdk().APIError)
        secret = self._key if self._key != NO_KEY else None
        # What the SDK raised before the answer began it has tried again already; nobody did so for anything else.
        return translated(error, self.name, retries=self._max_retries, again=has_begun or not is_known, secret=secret)

    def _http(self, kind: type) -> Any:
        """The SDK's HTTP client, made to take the lane."""
        return (kind if self._lane is None else gated(kind, self._lane))(timeout=self._timeout)

    def _client(self) -> Any:
        loop = asyncio.get_running_loop()
        with self._lock:
            client = self._clients.get(loop)
            if client is None:
                client = self._clients[loop] = self._connect()
            return client


def read_key(variable: str | None) -> str:
    """The key in an environment variable; without one, what stands for no key. Raises ConfigError."""
    if variable is None:
        return NO_KEY
    key = os.environ.get(variable, "").strip()
    if not key:
        raise ConfigError(f"the environment variable {variable!r} holds no API key; set it, or name another one")
    return key
