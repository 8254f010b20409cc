"""What goes wrong on the way ends in the right class, whichever the protocol, streamed or whole."""

import asyncio
import logging
import time
import traceback
from typing import Any

import pytest

from skillweave.base.errors import OutageError, ProviderError
from skillweave.llm.backends.backend import Reply
from skillweave.llm.limits.limiter import EndpointLimiter, Permit
from skillweave.llm.models import connect

from ..protocols import a_completion, a_message, a_response, chunks_of, events_of, response_events_of
from ..scripted import CLOSED, GARBAGE, HANG, RESET, TRUNCATED, Act, ScriptedServer, fault, reply, soon, stream
from .conftest import Complete, Protocol, a_request, a_spec

WAYS: list[tuple[Protocol, bool]] = [
    ("openai", False),
    ("openai", True),
    ("anthropic", False),
    ("anthropic", True),
    ("responses", False),
    ("responses", True),
]
NAMED = ("anthropic", "responses")
"""Their events have names."""
NAMES = {"openai": "openai/m", "anthropic": "anthropic/m", "responses": "openai/m"}
both = pytest.mark.parametrize(("provider", "streamed"), WAYS)
one_of_each = pytest.mark.parametrize(("provider", "streamed"), [WAYS[1], WAYS[2], WAYS[5]])
streams = pytest.mark.parametrize("provider", ["openai", "vllm", "anthropic", "responses"])


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those between our own tries; the SDKs' stay as they are."""
    monkeypatch.setattr("skillweave.llm.wrappers.FIRST_DELAY", 0.01)


def hi(provider: Protocol, streamed: bool) -> Act:
    if provider == "anthropic":
        return stream(events_of(a_message()), named=True) if streamed else reply(a_message())
    if provider == "responses":
        return stream(response_events_of(a_response()), named=True) if streamed else reply(a_response())
    return stream(chunks_of(a_completion())) if streamed else reply(a_completion())


def start_of(provider: Protocol) -> list[object]:
    """The events of an answer without its end."""
    if provider == "anthropic":
        return list(events_of(a_message())[:3])
    return list(response_events_of(a_response())[:3] if provider == "responses" else chunks_of(a_completion())[:3])


@one_of_each
def test_too_many_requests_are_repeated_after_the_time_asked_for(
    complete: Complete, provider: Protocol, streamed: bool
) -> None:
    with ScriptedServer(fault(429, "slow down", retry_after=1), hi(provider, streamed)) as server:
        began = time.monotonic()
        assert complete(provider, server, stream=streamed, max_retries=2).text == "Hi."
        assert time.monotonic() - began >= 1
        assert len(server.heard) == 2


@both
def test_rate_limits_without_end_are_a_provider_error(complete: Complete, provider: Protocol, streamed: bool) -> None:
    with ScriptedServer(soon(fault(429, "slow down"))) as server:
        with pytest.raises(ProviderError, match=r"status 429: .*slow down.*gave up after 2 retries") as caught:
            complete(provider, server, stream=streamed, max_retries=2)
        assert len(server.heard) == 3
        assert not caught.value.transient


@both
def test_server_errors_are_repeated_then_said(complete: Complete, provider: Protocol, streamed: bool) -> None:
    for status in (500, 503, 529):
        with ScriptedServer(soon(fault(status, "boom"))) as server:
            with pytest.raises(ProviderError, match=f"{NAMES[provider]}: status {status}: .*gave up after 1 retries"):
                complete(provider, server, stream=streamed, max_retries=1)
            assert len(server.heard) == 2


@both
@pytest.mark.parametrize("trouble", [CLOSED, RESET], ids=["closed", "reset"])
def test_a_connection_that_is_closed_at_once_is_no_timeout(
    complete: Complete, provider: Protocol, streamed: bool, trouble: Act
) -> None:
    with ScriptedServer(trouble) as server, pytest.raises(ProviderError, match="not reached: ") as caught:
        complete(provider, server, stream=streamed)
    assert caught.value.transient
    assert "imeout" not in str(caught.value)


@one_of_each
@pytest.mark.parametrize("trouble", [CLOSED, RESET, TRUNCATED], ids=["closed", "reset", "truncated"])
def test_a_broken_connection_is_tried_again(
    complete: Complete, provider: Protocol, streamed: bool, trouble: Act
) -> None:
    with ScriptedServer(trouble, hi(provider, streamed)) as server:
        assert complete(provider, server, stream=streamed, max_retries=1).text == "Hi."
    with ScriptedServer(trouble) as server, pytest.raises(ProviderError, match=f"{NAMES[provider]}: "):
        complete(provider, server, stream=streamed)


@both
def test_what_is_no_http_is_a_provider_error(complete: Complete, provider: Protocol, streamed: bool) -> None:
    with ScriptedServer(GARBAGE) as server, pytest.raises(ProviderError, match=f"{NAMES[provider]}: "):
        complete(provider, server, stream=streamed)


@both
def test_silence_is_a_timeout(complete: Complete, provider: Protocol, streamed: bool) -> None:
    with ScriptedServer(HANG) as server, pytest.raises(ProviderError, match=r"APITimeoutError|no answer within"):
        complete(provider, server, stream=streamed, timeout=1.0)


@one_of_each
def test_a_timeout_is_tried_again(complete: Complete, provider: Protocol, streamed: bool) -> None:
    with ScriptedServer(HANG, hi(provider, streamed)) as server:
        assert complete(provider, server, stream=streamed, timeout=1.0, max_retries=9).text == "Hi."


@streams
@pytest.mark.parametrize("end", ["whole", "closed", "reset", "hang"])
def test_a_stream_that_breaks_off_is_asked_for_again(complete: Complete, provider: Protocol, end: Any) -> None:
    broken, limit = stream(start_of(provider)[:2], end=end, named=provider in NAMED), 1.0 if end == "hang" else 60.0
    with ScriptedServer(broken) as server:
        with pytest.raises(ProviderError) as caught:
            complete(provider, server, stream=True, timeout=limit)
        assert caught.value.transient
    with ScriptedServer(broken, hi(provider, True)) as server:
        assert complete(provider, server, stream=True, timeout=limit, max_retries=9).text == "Hi."
        assert len(server.heard) >= 2


@streams
def test_an_error_in_a_stream_says_what_it_is(complete: Complete, provider: Protocol) -> None:
    is_named, start = provider in NAMED, start_of(provider)[:1]
    overloaded = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    with ScriptedServer(stream([*start, overloaded], named=is_named)) as server:
        with pytest.raises(ProviderError, match="Overloaded") as caught:
            complete(provider, server, stream=True)
        assert caught.value.transient
    full = {"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long", "code": 400}}
    with ScriptedServer(stream([*start, full], named=is_named)) as server:
        assert complete(provider, server, stream=True).stop == "context_window"
    wrong = {"type": "error", "error": {"type": "invalid_request_error", "message": "bad tool", "code": 400}}
    with ScriptedServer(stream([*start, wrong], named=is_named)) as server:
        with pytest.raises(ProviderError, match=r"status 400: .*bad tool") as caught:
            complete(provider, server, stream=True)
        assert not caught.value.transient


@both
@pytest.mark.parametrize(
    ("message", "details"),
    [
        ("This model's maximum context length is 8 tokens", {"code": "context_length_exceeded"}),
        ("This model's maximum context length is 1024 tokens. However, you requested 2000", {"code": 400}),
        ("prompt is too long: 210000 tokens > 200000 maximum", {"type": "invalid_request_error"}),
        ("The decoder prompt (length 99) is longer than the maximum model length of 8", {"type": "BadRequestError"}),
    ],
)
def test_a_full_context_window_is_a_stop_reason(
    complete: Complete, provider: Protocol, streamed: bool, message: str, details: dict[str, Any]
) -> None:
    with ScriptedServer(fault(400, message, **details)) as server:
        assert complete(provider, server, stream=streamed, max_retries=3).stop == "context_window"
        assert len(server.heard) == 1


@both
@pytest.mark.parametrize(
    ("message", "details"),
    [
        ("The response was filtered", {"code": "content_filter"}),
        ("Invalid prompt: flagged", {"code": "invalid_prompt"}),
        ("Output blocked by content filtering policy", {"type": "invalid_request_error"}),
    ],
)
def test_refused_content_is_a_stop_reason(
    complete: Complete, provider: Protocol, streamed: bool, message: str, details: dict[str, Any]
) -> None:
    with ScriptedServer(fault(400, message, **details)) as server:
        said = complete(provider, server, stream=streamed)
    assert said == Reply("", stop="content_filter", withheld=message)


@both
def test_a_wrong_request_is_said_at_once(complete: Complete, provider: Protocol, streamed: bool) -> None:
    with ScriptedServer(fault(400, "tools.0: name is\nnot allowed", code="invalid_value")) as server:
        with pytest.raises(ProviderError, match=r"status 400: .*name is not allowed") as caught:
            complete(provider, server, stream=streamed, max_retries=3)
        assert (len(server.heard), caught.value.transient) == (1, False)


@both
def test_the_key_is_in_no_error_and_no_log(
    complete: Complete,
    provider: Protocol,
    streamed: bool,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    key = "sk-this-is-the-secret-key"
    monkeypatch.setenv("TEST_KEY", key)
    caplog.set_level(logging.DEBUG)
    with ScriptedServer(fault(401, f"Incorrect API key provided: {key}")) as server:
        with pytest.raises(ProviderError, match="check the key") as caught:
            complete(provider, server, stream=streamed, api_key_env="TEST_KEY")
        assert key in str(server.heard[0].headers)
    assert key not in "".join(traceback.format_exception(caught.value))
    assert caught.value.__context__ is None
    assert key not in caplog.text


@one_of_each
def test_an_endpoint_that_is_down_stops_who_asks(provider: Protocol, streamed: bool) -> None:
    class Shut(EndpointLimiter):
        async def acquire(self, size: int) -> Permit:
            raise OutageError("the endpoint is down")

    async def asked(server: ScriptedServer) -> None:
        backend = connect(a_spec(provider, server, stream=streamed, max_retries=3), limiter=Shut("test"))
        try:
            await backend.complete(a_request())
        finally:
            await backend.close()

    with ScriptedServer(hi(provider, streamed)) as server:
        with pytest.raises(OutageError, match=r"\Athe endpoint is down\Z"):
            asyncio.run(asked(server))
        assert not server.heard


@both
def test_many_at_once_are_told_apart(provider: Protocol, streamed: bool) -> None:
    async def all_of_them(server: ScriptedServer) -> list[str]:
        backend = connect(a_spec(provider, server, stream=streamed))
        asked = [a_request(key=str(number), question=str(number)) for number in range(100)]
        replies = await asyncio.gather(*(backend.complete(request) for request in asked))
        await backend.close()
        return [said.text for said in replies]

    with ScriptedServer(hi(provider, streamed)) as server:
        assert asyncio.run(all_of_them(server)) == ["Hi."] * 100
        assert len(server.heard) == 100
