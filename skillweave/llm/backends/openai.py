"""The openai provider: the official SDK, for OpenAI and for any endpoint that speaks its chat API.

The key is read from the environment, is given to the SDK, and appears nowhere else: not in errors, logs or records.
"""

import asyncio
import json
import os
import threading
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from skillweave.errors import ConfigError, ProviderError
from skillweave.llm.backends.completion import read_completion
from skillweave.llm.backends.structured import response_format, unwrap
from skillweave.llm.request import Reply, Request
from skillweave.schema.message import Message

if TYPE_CHECKING:
    from openai import APIError, AsyncOpenAI

ENDPOINT = "https://api.openai.com/v1"
KEY_VARIABLE = "OPENAI_API_KEY"
LONGEST_PAUSE = 60.0
"""Seconds that the SDK waits at most before it tries again, whatever Retry-After says."""
NO_KEY = "none"
"""What is sent to a local endpoint that asks for no key; never the key of another endpoint."""
FULL = ("context_length_exceeded", "maximum context length", "context window")


class OpenAIBackend:
    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key_env: str | None = None,
        timeout: float = 120.0,
        max_retries: int = 4,
        structured: bool = True,
    ) -> None:
        self.name = f"openai/{model}"
        self._base_url = base_url
        self._key = _key(base_url, api_key_env)
        self._timeout = timeout
        self._max_retries = max_retries
        # One more than there are tries, so that the SDK, which knows more, speaks first.
        self._deadline = (max_retries + 2) * timeout + max_retries * LONGEST_PAUSE
        self._structured = structured
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncOpenAI] = WeakKeyDictionary()
        self._lock = threading.Lock()

    async def complete(self, request: Request) -> Reply:
        from openai import APIError

        failure: ProviderError
        try:
            # The SDK's own limit is for one read, so a server that drips would be waited for without end.
            async with asyncio.timeout(self._deadline):
                raw = await self._client().chat.completions.with_raw_response.create(**self._arguments(request))
            return self._read(raw.text, request)
        except APIError as error:
            if _is_full(error):
                return Reply(text="", model=request.model, stop="context_window")
            failure = self._translated(error)
        except TimeoutError:
            failure = ProviderError(f"{self.name}: no answer within {self._deadline:g} seconds, retries included")
        except UnicodeError:
            failure = ProviderError(f"{self.name} answered with bytes that are no text", transient=True)
        # Raised out here, since the SDK's error, chained to ours, would carry the request and its headers along.
        raise failure

    async def close(self) -> None:
        """Close the connections of the running event loop; each loop closes its own."""
        with self._lock:
            client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.close()

    def _client(self) -> "AsyncOpenAI":
        from openai import AsyncOpenAI, DefaultAioHttpClient

        with self._lock:
            loop = asyncio.get_running_loop()
            client = self._clients.get(loop)
            if client is None:
                client = self._clients[loop] = AsyncOpenAI(
                    api_key=self._key,
                    base_url=self._base_url or ENDPOINT,
                    timeout=self._timeout,
                    max_retries=self._max_retries,
                    http_client=DefaultAioHttpClient(timeout=self._timeout),
                )
            return client

    def _read(self, body: str, request: Request) -> Reply:
        reply = read_completion(body, self.name)
        return unwrap(reply, request.schema) if self._structured else reply

    def _arguments(self, request: Request) -> dict[str, Any]:
        given: dict[str, Any] = dict(request.sampling.given())
        if self._base_url is None and "max_tokens" in given:
            # OpenAI's newer models know only the new name, other servers often only the old one.
            given["max_completion_tokens"] = given.pop("max_tokens")
        if request.tools:
            given |= {"tools": list(request.tools), "tool_choice": request.tool_choice}
        if request.schema is not None and self._structured:
            given["response_format"] = response_format(request.schema)
        return {"model": request.model, "messages": [_wire(message) for message in request.messages], **given}

    def _translated(self, error: "APIError") -> ProviderError:
        status = getattr(error, "status_code", None)
        what = f"status {status}" if status else type(error).__name__
        words = str(error) + (f" {error.__cause__}" if status is None and error.__cause__ else "")
        if self._key != NO_KEY:
            words = words.replace(self._key, "***")
        advice = {401: "check the key", 403: "check the key", 404: "check the model's name and base_url"}.get(
            status or 0, f"gave up after {self._max_retries} retries" if status in (None, 408, 409, 429) else ""
        )
        return ProviderError(f"{self.name}: {what}: {words[:400]}" + (f" ({advice})" if advice else ""))


def _key(base_url: str | None, variable: str | None) -> str:
    if variable is None and base_url is not None:
        return NO_KEY
    variable = variable or KEY_VARIABLE
    key = os.environ.get(variable, "").strip()
    if not key:
        raise ConfigError(f"the environment variable {variable!r} holds no API key; set it, or name another one")
    return key


def _wire(message: Message) -> dict[str, object]:
    """The fields that chat endpoints know; records carry more."""
    wire: dict[str, object] = {"role": message.role, "content": message.content}
    if message.tool_call_id is not None:
        wire["tool_call_id"] = message.tool_call_id
    if message.tool_calls:
        calls = [call.model_dump(mode="json") for call in message.tool_calls]
        for call in calls:
            if not isinstance(call["function"]["arguments"], str):
                call["function"]["arguments"] = json.dumps(call["function"]["arguments"])
        wire["tool_calls"] = calls
    return wire


def _is_full(error: "APIError") -> bool:
    words = f"{getattr(error, 'code', '')} {error}".lower()
    return getattr(error, "status_code", None) in (400, 413) and any(mark in words for mark in FULL)
