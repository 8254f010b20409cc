"""What all backends have in common that reach an endpoint through an official SDK.

The SDK sends; we make the request body, read the reply, and decide whether to try again. The SDKs' typed methods
walk through every message of a conversation in every call, so their documented `post` is used. The key is read
from the environment, is given to the SDK, and appears nowhere else: not in errors, logs or records.
"""

import asyncio
import json
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

from skillweave.base.errors import ConfigError, StopError
from skillweave.llm.backends.backend import Reply, Request
from skillweave.llm.backends.body import BodyError, Events, SentError, decode, read_event_stream
from skillweave.llm.backends.errors import (
    MOST_CHANGES,
    ErrorReport,
    FieldChange,
    FieldPath,
    OptionalField,
    UnsupportedFields,
    error_report,
    has_field,
)
from skillweave.llm.backends.transport import DEADLINE, limited_client, size_limit_hooks
from skillweave.llm.limits.limiter import EndpointLimiter
from skillweave.schema.record import Json

NO_KEY = "none"
"""What is sent to an endpoint that asks for no key; never the key of another endpoint."""
LIMIT_FIELDS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
RESERVED_FIELDS = ("model", "messages", "input", "instructions", "system", "stream", "tools", "tool_choice", "n")
"""Fields of a body that are nobody's to set but the request's."""


@dataclass(frozen=True)
class EndpointSettings:
    base_url: str | None = None
    """None is the provider's own."""
    api_key_env: str | None = None
    timeout: float = 120.0
    """Seconds for one request."""
    stream: bool = False
    structured: bool = True
    """Send the answer's schema along."""
    record_tokens: bool = False
    reasoning_effort: str | None = None
    extra: Mapping[str, Json] = field(default_factory=dict)
    """Further fields of the body."""
    lane: EndpointLimiter | None = None


def read_key(variable: str | None) -> str:
    """The key in an environment variable; without one, what stands for no key. Raises ConfigError."""
    if variable is None:
        return NO_KEY
    key = os.environ.get(variable, "").strip()
    if not key:
        raise ConfigError(f"the environment variable {variable!r} holds no API key; set it, or name another one")
    return key


def check_extra(extra: Mapping[str, Json]) -> None:
    """Raises ConfigError for a field that is not the user's to set in this way."""
    for name in extra:
        if name in LIMIT_FIELDS:
            raise ConfigError(f"extra.{name} would pass by the budget; give max_tokens beside extra in its place")
        if name in RESERVED_FIELDS:
            reserved = ", ".join((*RESERVED_FIELDS, *LIMIT_FIELDS))
            raise ConfigError(f"extra.{name} would change what is asked; extra may hold any field but {reserved}")


def merged_body(body: Mapping[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    """The body with further fields; where both have an object, it has the fields of both."""
    found = dict(body)
    for name, value in extra.items():
        known = found.get(name)
        is_nested = isinstance(known, Mapping) and isinstance(value, Mapping)
        found[name] = merged_body(known, value) if is_nested else value  # type: ignore[arg-type]
    return found


DEADLINE_FACTOR = 5
"""Times the timeout, which is for a silence, that a whole exchange may take."""
JSON_HEADERS = {"headers": {"Content-Type": "application/json"}}


class SdkBackend(ABC):
    provider: ClassVar[str]
    home: ClassVar[str]
    """The provider's own base URL."""
    key_variable: ClassVar[str | None]
    """Where the key of the provider's own endpoint is looked for."""
    path: ClassVar[str]
    """Of the one resource that is posted to, after the base URL."""
    dispensable: ClassVar[Sequence[OptionalField]]
    """What a request can do without, in the order in which it is given up."""
    schema_path: ClassVar[FieldPath]
    """Where a body has the schema of the answer."""

    def __init__(self, model: str, settings: EndpointSettings) -> None:
        """Raises ConfigError."""
        check_extra(settings.extra)
        self.name = f"{self.provider}/{model}"
        self._settings = settings
        self._base_url = (settings.base_url or self.home).rstrip("/")
        self._is_home = self._base_url == self.home
        # Another endpoint is sent a key only where the user names one.
        self._key = read_key(settings.api_key_env or (self.key_variable if self._is_home else None))
        self._deadline = DEADLINE_FACTOR * settings.timeout
        self._concessions = UnsupportedFields(self.name, self.dispensable, self.schema_path)
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, Any] = WeakKeyDictionary()
        self._lock = threading.Lock()

    async def complete(self, request: Request) -> Reply:
        body = self._concessions.applied(merged_body(self._body(request), self._settings.extra), request.schema)
        made: list[FieldChange] = []
        while True:
            # An answer that was not decoded by the schema is not wrapped, either.
            asked = request if has_field(body, self.schema_path) else replace(request, schema=None)
            got = await self._exchange(body, asked)
            if isinstance(got, Reply):
                self._concessions.remember(made, request.schema)
                return got
            found = (
                self._concessions.find(body, got) if isinstance(got, ErrorReport) and len(made) < MOST_CHANGES else None
            )
            if found is None:
                # Raised out here, since the SDK's error, chained to ours, would carry the request along.
                raise got.error(self.name) if isinstance(got, ErrorReport) else got
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

    async def _exchange(self, body: dict[str, Any], request: Request) -> Reply | ErrorReport | StopError:
        """Send the body, and read what comes."""
        # Made before the clock runs, since importing an SDK takes a while.
        self._client()
        try:
            # The SDK's own limit is for one read, so a server that drips would be waited for without end.
            async with asyncio.timeout(self._deadline) as clock:
                DEADLINE.set(clock)
                answer = await self._sent(json.dumps(body).encode("ascii"))
        except Exception as error:  # of the SDK and of the transport below it, which lets its own through
            return self._settled(error)
        try:
            return self._read_events(answer, request) if isinstance(answer, Events) else self._read(answer, request)
        except (BodyError, SentError) as error:
            return self._settled(error)

    async def _sent(self, content: bytes) -> Json | Events:
        """What comes back. Raises BodyError, AnswerError, TooLargeError, StopError and whatever the SDK does."""
        client = self._client()
        if not self._settings.stream:
            whole: bytes = await client.post(self.path, cast_to=bytes, content=content, options=JSON_HEADERS)
            return decode(whole)
        kind = self._sdk().AsyncStream[object]
        stream = await client.post(
            self.path, cast_to=object, content=content, options=JSON_HEADERS, stream=True, stream_cls=kind
        )
        async with stream:
            return await read_event_stream(stream.response)

    def _settled(self, error: Exception) -> Reply | ErrorReport | StopError:
        """What an error amounts to."""
        for each in (error, error.__cause__):
            if isinstance(each, StopError):
                # The lane's; one SDK takes it for an error of the connection.
                return each
        if isinstance(error, TimeoutError):
            return ErrorReport(what=f"no answer within {self._deadline:g} seconds")
        fault = error_report(error, self._key if self._key != NO_KEY else None)
        if fault.no_longer_fits:
            return Reply(text="", stop="context_window")
        return Reply(text="", stop="content_filter") if fault.content_refused else fault

    def _http(self, kind: type) -> Any:
        """The SDK's HTTP client, made to take the lane and to keep to the bound."""
        lane = self._settings.lane
        client = kind if lane is None else limited_client(kind, lane)
        # Nobody is followed elsewhere: a key, and what it pays for, go to the endpoint that the user has named.
        return client(timeout=self._settings.timeout, event_hooks=size_limit_hooks(), follow_redirects=False)

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
