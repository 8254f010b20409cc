"""What goes wrong on the way ends in the right class, whichever the protocol, streamed or whole."""

import asyncio
import logging
import time
import traceback
from typing import Any

import pytest

from skillweave.errors import ProviderError
from skillweave.llm.models import AuthorSpec, Provider, connect
from skillweave.llm.request import Reply

from ..protocols import a_completion, a_message, chunks_of, events_of
from ..scripted import CLOSED, GARBAGE, HANG, RESET, TRUNCATED, Act, ScriptedServer, fault, reply, soon, stream
from .conftest import Complete, a_request

WAYS: list[tuple[Provider, bool]] = [("openai", False), ("openai", True), ("anthropic", False), ("anthropic", True)]
both = pytest.mark.parametrize(("provider", "streamed"), WAYS)
one_of_each = pytest.mark.parametrize(("provider", "streamed"), WAYS[1:3])
streams = pytest.mark.parametrize("provider", ["openai", "vllm", "anthropic"])


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those between our own tries; the SDKs' stay as they are."""
    monkeypatch.setattr("skillweave.llm.wrappers.retry.FIRST_DELAY", 0.01)


def hi(provider: Provider, streamed: bool) -> Act:
    if provider == "anthropic":
        return stream(events_of(a_message()), named=True) if streamed else reply(a_message())
    return stream(chunks_of(a_completion())) if streamed else reply(a_completion())


@one_of_each
def test_too_many_requests_are_repeated_after_the_time_asked_for(
    complete: Complete, provider: Provider, streamed: bool
) -> None:
    with ScriptedServer(fault(429, "slow down", retry_after=1), hi(provider, streamed)) as server:
        began = time.monotonic()
        assert complete(provider, server, stream=streamed, max_retries=2).text == "Hi."
        assert time.monotonic() - began >= 1
        assert len(server.heard) == 2


@both
def test_rate_limits_without_end_are_a_provider_error(complete: Complete, provider: Provider, streamed: bool) -> None:
    with ScriptedServer(soon(fault(429, "slow down"))) as server:
        with pytest.raises(ProviderError, match=r"status 429: .*slow down.*gave up after 2 retries") as caught:
            complete(provider, server, stream=streamed, max_retries=2)
        assert len(server.heard) == 3
        assert not caught.value.transient


@both
def test_server_errors_are_repeated_then_said(complete: Complete, provider: Provider, streamed: bool) -> None:
    for status in (500, 503, 529):
        with ScriptedServer(soon(fault(status, "boom"))) as server:
            with pytest.raises(ProviderError, match=f"{provider}/m: status {status}: .*gave up after 1 retries"):
                complete(provider, server, stream=streamed, max_retries=1)
            assert len(server.heard) == 2


@one_of_each
@pytest.mark.parametrize("trouble", [CLOSED, RESET, TRUNCATED], ids=["closed", "reset", "truncated"])
def test_a_broken_connection_is_tried_again(
    complete: Complete, provider: Provider, streamed: bool, trouble: Act
) -> None:
    with ScriptedServer(trouble, hi(provider, streamed)) as server:
        assert complete(provider, server, stream=streamed, max_retries=1).text == "Hi."
    with ScriptedServer(trouble) as server, pytest.raises(ProviderError, match=f"{provider}/m: "):
        complete(provider, server, stream=streamed)


@both
def test_what_is_no_http_is_a_provider_error(complete: Complete, provider: Provider, streamed: bool) -> None:
    with ScriptedServer(GARBAGE) as server, pytest.raises(ProviderError, match=f"{provider}/m: "):
        complete(provider, server, stream=streamed)


@both
def test_silence_is_a_timeout(complete: Complete, provider: Provider, streamed: bool) -> None:
    with ScriptedServer(HANG) as server, pytest.raises(ProviderError, match=r"APITimeoutError|no answer within"):
        complete(provider, server, stream=streamed, timeout=1.0)


@one_of_each
def test_a_timeout_is_tried_again(complete: Complete, provider: Provider, streamed: bool) -> None:
    with ScriptedServer(HANG, hi(provider, streamed)) as server:
        assert complete(provider, server, stream=streamed, timeout=1.0, max_retries=1).text == "Hi."


@streams
@pytest.mark.parametrize("end", ["whole", "closed", "reset", "hang"])
def test_a_stream_that_breaks_off_is_asked_for_again(complete: Complete, provider: Provider, end: Any) -> None:
    is_named = provider == "anthropic"
    events = (events_of(a_message()) if is_named else chunks_of(a_completion()))[:2]
    broken = stream(events, end=end, named=is_named)
    with ScriptedServer(broken) as server:
        with pytest.raises(ProviderError) as caught:
            complete(provider, server, stream=True, timeout=1.0)
        assert caught.value.transient
    with ScriptedServer(broken, hi(provider, True)) as server:
        assert complete(provider, server, stream=True, timeout=1.0, max_retries=1).text == "Hi."
        assert len(server.heard) == 2


@streams
def test_an_error_in_a_stream_says_what_it_is(complete: Complete, provider: Provider) -> None:
    is_named = provider == "anthropic"
    start: list[object] = [(events_of(a_message()) if is_named else chunks_of(a_completion()))[0]]
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
    complete: Complete, provider: Provider, streamed: bool, message: str, details: dict[str, Any]
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
    complete: Complete, provider: Provider, streamed: bool, message: str, details: dict[str, Any]
) -> None:
    with ScriptedServer(fault(400, message, **details)) as server:
        assert complete(provider, server, stream=streamed) == Reply("", stop="content_filter")


@both
def test_a_wrong_request_is_said_at_once(complete: Complete, provider: Provider, streamed: bool) -> None:
    with ScriptedServer(fault(400, "tools.0: name is\nnot allowed", code="invalid_value")) as server:
        with pytest.raises(ProviderError, match=r"status 400: .*name is not allowed") as caught:
            complete(provider, server, stream=streamed, max_retries=3)
        assert (len(server.heard), caught.value.transient) == (1, False)


@both
def test_the_key_is_in_no_error_and_no_log(
    complete: Complete,
    provider: Provider,
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


@both
def test_many_at_once_are_told_apart(provider: Provider, streamed: bool) -> None:
    async def all_of_them(server: ScriptedServer) -> list[str]:
        path = "" if provider == "anthropic" else "/v1"
        backend = connect(AuthorSpec(provider, "m", base_url=server.url + path, stream=streamed))
        asked = [a_request(key=str(number), question=str(number)) for number in range(100)]
        replies = await asyncio.gather(*(backend.complete(request) for request in asked))
        await backend.close()
        return [said.text for said in replies]

    with ScriptedServer(hi(provider, streamed)) as server:
        assert asyncio.run(all_of_them(server)) == ["Hi."] * 100
        assert len(server.heard) == 100
