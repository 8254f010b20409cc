"""Endpoint: what the providers that are reached through an official SDK have in common.

The SDK sends; what is sent, how the answer is read and whether it is tried again is ours. The SDKs' typed methods walk
through every message of a conversation in every call, so their documented `post` is used, with a body made here.
The key is read from the environment, is given to the SDK, and appears nowhere else: not in errors, logs or records.
"""

import asyncio
import json
import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

from skillweave.errors import StopError
from skillweave.llm.backends.body import AnswerError, BodyError, Events, decode
from skillweave.llm.backends.bounded import hooks
from skillweave.llm.backends.concessions import MOST, Concession, Concessions, Dispensable, Path, has
from skillweave.llm.backends.fault import Fault, fault_of
from skillweave.llm.backends.gated import CLOCK, gated
from skillweave.llm.backends.server_sent import read_events
from skillweave.llm.backends.settings import NO_KEY, Settings, check_extra, merged, read_key
from skillweave.llm.request import Reply, Request
from skillweave.schema.record import Json

LONGEST = 5
"""Times the timeout, which is for a silence, that a whole exchange may take."""
AS_JSON = {"headers": {"Content-Type": "application/json"}}


class Endpoint(ABC):
    provider: ClassVar[str]
    home: ClassVar[str]
    """The provider's own base URL."""
    key_variable: ClassVar[str | None]
    """Where the key of the provider's own endpoint is looked for."""
    path: ClassVar[str]
    """Of the one resource that is posted to, after the base URL."""
    dispensable: ClassVar[Sequence[Dispensable]]
    """What a request can do without, in the order in which it is given up."""
    schema_path: ClassVar[Path]
    """Where a body has the schema of the answer."""

    def __init__(self, model: str, settings: Settings) -> None:
        """Raises ConfigError."""
        check_extra(settings.extra)
        self.name = f"{self.provider}/{model}"
        self._settings = settings
        self._base_url = (settings.base_url or self.home).rstrip("/")
        self._is_home = self._base_url == self.home
        # Another endpoint is sent a key only where the user names one.
        self._key = read_key(settings.api_key_env or (self.key_variable if self._is_home else None))
        self._deadline = LONGEST * settings.timeout
        self._concessions = Concessions(self.name, self.dispensable, self.schema_path)
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, Any] = WeakKeyDictionary()
        self._lock = threading.Lock()

    async def complete(self, request: Request) -> Reply:
        body = self._concessions.applied(merged(self._body(request), self._settings.extra), request.schema)
        made: list[Concession] = []
        while True:
            # An answer that was not decoded by the schema is not wrapped, either.
            asked = request if has(body, self.schema_path) else replace(request, schema=None)
            got = await self._exchange(body, asked)
            if isinstance(got, Reply):
                self._concessions.remember(made, request.schema)
                return got
            found = self._concessions.find(body, got) if isinstance(got, Fault) and len(made) < MOST else None
            if found is None:
                # Raised out here, since the SDK's error, chained to ours, would carry the request along.
                raise got.error(self.name) if isinstance(got, Fault) else got
            made.append(found)
            body = found.applied(body)

    async def close(self) -> None:
        """Close the connections of the running event loop; each loop closes its own."""
        with self._lock:
            client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.close()

    @abstractmethod
    def _connect(self) -> Any:
        """A new client of the SDK, for one event loop."""

    @abstractmethod
    def _sdk(self) -> Any:
        """The SDK's module, imported when it is needed and not before."""

    @abstractmethod
    def _body(self, request: Request) -> dict[str, Any]:
        """What is posted."""

    @abstractmethod
    def _read(self, body: Json, request: Request) -> Reply:
        """The reply in a body; a request's schema is None where it was not sent. Raises BodyError, AnswerError."""

    @abstractmethod
    def _read_events(self, events: Events, request: Request) -> Reply:
        """The reply that the events of a stream give. Raises BodyError, AnswerError."""

    async def _exchange(self, body: dict[str, Any], request: Request) -> Reply | Fault | StopError:
        """Send the body, and read what comes."""
        # Made before the clock runs, since importing an SDK takes a while.
        self._client()
        try:
            # The SDK's own limit is for one read, so a server that drips would be waited for without end.
            async with asyncio.timeout(self._deadline) as clock:
                CLOCK.set(clock)
                answer = await self._sent(json.dumps(body).encode("ascii"))
        except Exception as error:  # of the SDK and of the transport below it, which lets its own through
            return self._settled(error)
        try:
            return self._read_events(answer, request) if isinstance(answer, Events) else self._read(answer, request)
        except (BodyError, AnswerError) as error:
            return self._settled(error)

    async def _sent(self, content: bytes) -> Json | Events:
        """What comes back. Raises BodyError, AnswerError, TooLargeError, StopError and whatever the SDK does."""
        client = self._client()
        if not self._settings.stream:
            whole: bytes = await client.post(self.path, cast_to=bytes, content=content, options=AS_JSON)
            return decode(whole)
        kind = self._sdk().AsyncStream[object]
        stream = await client.post(
            self.path, cast_to=object, content=content, options=AS_JSON, stream=True, stream_cls=kind
        )
        async with stream:
            return await read_events(stream.response)

    def _settled(self, error: Exception) -> Reply | Fault | StopError:
        """What an error amounts to."""
        for each in (error, error.__cause__):
            if isinstance(each, StopError):
                # The lane's; one SDK takes it for an error of the connection.
                return each
        if isinstance(error, TimeoutError):
            return Fault(what=f"no answer within {self._deadline:g} seconds")
        fault = fault_of(error, self._key if self._key != NO_KEY else None)
        if fault.no_longer_fits:
            return Reply(text="", stop="context_window")
        return Reply(text="", stop="content_filter") if fault.content_refused else fault

    def _http(self, kind: type) -> Any:
        """The SDK's HTTP client, made to take the lane and to keep to the bound."""
        lane = self._settings.lane
        client = kind if lane is None else gated(kind, lane)
        # Nobody is followed elsewhere: a key, and what it pays for, go to the endpoint that the user has named.
        return client(timeout=self._settings.timeout, event_hooks=hooks(), follow_redirects=False)

    def _client(self) -> Any:
        loop = asyncio.get_running_loop()
        with self._lock:
            client = self._clients.get(loop)
            if client is None:
                client = self._clients[loop] = self._connect()
                if self.key_variable is None or not self._is_home:
                    _forget_account(client)
            return client


def _forget_account(client: Any) -> None:
    """Have no header sent that an SDK has found in the environment: organisation, project, headers of the user's own.

    They are for the provider's endpoint, as its key is, and may hold secrets.
    """
    client._custom_headers = {}
    for name in ("organization", "project"):
        if hasattr(client, name):
            setattr(client, name, None)
