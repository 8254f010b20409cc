"""What all backends have in common that reach an endpoint through an official SDK.

The SDK sends; we make the request body, read the reply, and decide whether to try again. The SDKs' typed methods
walk through every message of a conversation in every call, so their documented `post` is used. The key is read
from the environment, is given to the SDK, and appears nowhere else: not in errors, logs or records.
"""

import asyncio
import json
import os
import re
import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

from skillweave.base.call_arguments import valid_text
from skillweave.base.errors import ConfigError, StopError
from skillweave.base.proxy import proxy_for
from skillweave.llm.backends.backend import DEADLINE, Reply, Request
from skillweave.llm.backends.body import BodyError, Events, SentError, decode, read_event_stream
from skillweave.llm.backends.errors import (
    MOST_CHANGES,
    SHOWN,
    ErrorReport,
    FieldChange,
    FieldPath,
    OptionalField,
    UnsupportedFields,
    error_report,
    has_field,
)
from skillweave.llm.history import ANY_ID, valid_history
from skillweave.llm.limits.limiter import EndpointLimiter
from skillweave.schema.record import Json

NO_KEY = "none"
"""What is sent to an endpoint that wants no key; never the key of another endpoint."""
LIMIT_FIELDS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
RESERVED_FIELDS = ("model", "messages", "input", "instructions", "system", "stream", "tools", "tool_choice", "n")
"""Fields of a body that only the request sets."""
DEADLINE_FACTOR = 5
"""The time of a whole exchange, in multiples of the timeout, which limits the time without any byte."""
JSON_HEADERS = {"headers": {"Content-Type": "application/json"}}


@dataclass(frozen=True)
class EndpointSettings:
    """How an endpoint is reached and asked; see `skillweave.config.llm.AuthorConfig`."""

    base_url: str | None = None
    """None is the provider's own."""
    api_key_env: str | None = None
    """The environment variable that holds the key; None is the provider's, and no key for other endpoints."""
    timeout: float = 120.0
    """Seconds for one request."""
    stream: bool = False
    """Read replies as a stream."""
    structured: bool = True
    """Send the answer's schema along."""
    record_tokens: bool = False
    """Keep token ids and log probabilities."""
    reasoning_effort: str | None = None
    extra: Mapping[str, Json] = field(default_factory=dict)
    """Further fields of the body."""
    limiter: EndpointLimiter | None = None


class MissingKeyError(ConfigError):
    """No key is there for an endpoint that wants one. Whoever only looks at a configuration needs none."""

    def __init__(self, variable: str) -> None:
        super().__init__(f"the environment variable {variable!r} holds no API key; set it, or name another one")
        self.variable = variable


def read_key(variable: str | None) -> str:
    """Read a key from the environment.

    Args:
        variable: Its name; None if the endpoint gets no key.

    Returns:
        The key, or `NO_KEY`.

    Raises:
        MissingKeyError: The variable is unset or empty.
    """
    if variable is None:
        return NO_KEY
    key = os.environ.get(variable, "").strip()
    if not key:
        raise MissingKeyError(variable)
    return key


def check_extra(extra: Mapping[str, Json]) -> None:
    """Check the further fields of a body.

    Raises:
        ConfigError: A field would change what is asked, or get round the budget.
    """
    for name in extra:
        if name in LIMIT_FIELDS:
            raise ConfigError(f"extra.{name} would get round the budget; give max_tokens beside extra instead")
        if name in RESERVED_FIELDS:
            reserved = ", ".join((*RESERVED_FIELDS, *LIMIT_FIELDS))
            raise ConfigError(f"extra.{name} would change what is asked; extra may hold any field but {reserved}")


def merged_body(body: Mapping[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    """A body with further fields; an object that stands in both gets the fields of both."""
    merged = dict(body)
    for name, value in extra.items():
        known = merged.get(name)
        is_nested = isinstance(known, Mapping) and isinstance(value, Mapping)
        merged[name] = merged_body(known, value) if is_nested else value  # type: ignore[arg-type]
    return merged


class SdkBackend(ABC):
    """A backend of one model at one endpoint. A subclass says what the provider's bodies look like."""

    provider: ClassVar[str]
    home: ClassVar[str]
    """The provider's own base URL."""
    key_variable: ClassVar[str | None]
    """The environment variable with the key of the provider's own endpoint; None if it wants no key."""
    path: ClassVar[str]
    """What is posted to, after the base URL."""
    optional_fields: ClassVar[Sequence[OptionalField]]
    """What a request can do without, in the order in which it is given up."""
    schema_path: ClassVar[FieldPath]
    """Where a body has the schema of the answer."""
    call_ids: ClassVar[re.Pattern[str]] = ANY_ID
    """What the id of a call may be in a body."""

    def __init__(self, model: str, settings: EndpointSettings) -> None:
        """Prepare the backend; nothing is sent, and no SDK is imported.

        Raises:
            ConfigError: There is no key, a field of `extra` is reserved, or the proxy cannot be used.
        """
        check_extra(settings.extra)
        self.name = f"{self.provider}/{model}"
        self._settings = settings
        self._base_url = (settings.base_url or self.home).rstrip("/")
        self._is_home = self._base_url == self.home
        # Another endpoint gets a key only if the user names one.
        self._key = read_key(settings.api_key_env or (self.key_variable if self._is_home else None))
        self._proxy = proxy_for(self._base_url)
        self._deadline = DEADLINE_FACTOR * settings.timeout
        self._unsupported = UnsupportedFields(self.name, self.optional_fields, self.schema_path)
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, Any] = WeakKeyDictionary()
        self._lock = threading.Lock()

    async def complete(self, request: Request) -> Reply:
        offered = frozenset(map(_name_of, request.tools))
        history = tuple(valid_history(request.messages, offered, self.call_ids))
        request = replace(request, messages=history)
        body = self._unsupported.applied(merged_body(self._body(request), self._settings.extra), request.schema)
        changes: list[FieldChange] = []
        while True:
            # An answer that was not decoded by the schema is not wrapped, either.
            sent = request if has_field(body, self.schema_path) else replace(request, schema=None)
            outcome = await self._exchange(body, sent)
            if isinstance(outcome, Reply):
                self._unsupported.remember(changes, request.schema)
                return outcome
            # Raised out here, since the SDK's error, chained to ours, would carry the request along.
            if isinstance(outcome, StopError):
                raise outcome
            change = self._unsupported.find(body, outcome) if len(changes) < MOST_CHANGES else None
            if change is None:
                raise outcome.error(self.name, self._proxy)
            changes.append(change)
            body = change.applied(body)

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
        """The SDK's module. An import takes a second or more, so it happens when the SDK is first needed."""

    @abstractmethod
    def _body(self, request: Request) -> dict[str, Any]:
        """What is posted."""

    @abstractmethod
    def _read(self, body: Json, request: Request) -> Reply:
        """The reply in a body. The request's schema is None if it was not sent. Raises BodyError, SentError."""

    @abstractmethod
    def _read_events(self, events: Events, request: Request) -> Reply:
        """The reply that the events of a stream give. Raises BodyError, SentError."""

    async def _exchange(self, body: dict[str, Any], request: Request) -> Reply | ErrorReport | StopError:
        """Send a body, and read what comes back."""
        # Before the deadline runs, since importing an SDK takes a while.
        self._client()
        try:
            # Halves of characters, which models write and strict parsers refuse, are replaced in all that is sent.
            # The SDK limits the time of one read; a server that sends byte after byte would never end.
            async with asyncio.timeout(self._deadline) as deadline:
                DEADLINE.set(deadline)
                answer = await self._send(valid_text(json.dumps(body, ensure_ascii=False)).encode())
        except Exception as error:  # of the SDK, and of the transport below it, whose errors it lets through
            return self._outcome(error)
        try:
            return self._read_events(answer, request) if isinstance(answer, Events) else self._read(answer, request)
        except (BodyError, SentError) as error:
            return self._outcome(error)

    async def _send(self, content: bytes) -> Json | Events:
        """Post a body, and decode the answer. Raises BodyError, SentError, TooLargeError, StopError, SDK errors."""
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

    def _outcome(self, error: Exception) -> Reply | ErrorReport | StopError:
        """What an error means: a reply without text, a report, or the end of all asking."""
        for each in (error, error.__cause__):
            if isinstance(each, StopError):
                # The limiter raised it; one SDK wraps it into an error of the connection.
                return each
        if isinstance(error, TimeoutError):
            return ErrorReport(what=f"no answer within {self._deadline:g} seconds")
        report = error_report(error, self._key if self._key != NO_KEY else None)
        if report.exceeds_context:
            return Reply(text="", stop="context_window")
        if report.refuses_content:
            return Reply(text="", stop="content_filter", withheld=report.words[:SHOWN] or None)
        return report

    def _http(self, kind: type) -> Any:
        """An HTTP client of the SDK's class, with the limiter and the bound on sizes."""
        # Imported with the SDK, since it imports the same HTTP libraries.
        from skillweave.llm.backends.transport import http_client

        return http_client(kind, self._settings.limiter, self._settings.timeout, self._proxy)

    def _client(self) -> Any:
        loop = asyncio.get_running_loop()
        with self._lock:
            client = self._clients.get(loop)
            if client is None:
                client = self._clients[loop] = self._connect()
                if self.key_variable is None or not self._is_home:
                    _drop_account_headers(client)
            return client


def _name_of(tool: Mapping[str, Json]) -> str:
    function = tool.get("function")
    return str((function if isinstance(function, dict) else tool).get("name"))


def _drop_account_headers(client: Any) -> None:
    """Drop the headers that an SDK has read from the environment: organisation, project, headers of the user's own.

    They are for the provider's endpoint, as its key is, and may hold secrets.
    """
    client._custom_headers = {}
    for name in ("organization", "project"):
        if hasattr(client, name):
            setattr(client, name, None)
