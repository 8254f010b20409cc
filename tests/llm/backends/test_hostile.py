"""What an endpoint sends to do harm ends in an error, with bounded memory."""

import gzip
import json
import zlib
from collections.abc import Callable
from typing import Any

import pytest

from skillweave.base.errors import ProviderError
from skillweave.llm.backends.body import BodyError, decode

from ..protocols import a_completion, a_message, a_response, chunks_of
from ..scripted import Act, ScriptedServer, reply, stream
from .conftest import Complete, Protocol

BOUND = 200_000
every = pytest.mark.parametrize("protocol", ["openai", "responses", "anthropic"])
BODIES: dict[str, Callable[..., dict[str, Any]]] = {
    "openai": a_completion,
    "responses": a_response,
    "anthropic": a_message,
}


@pytest.fixture
def low_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("body", "transport"):
        monkeypatch.setattr(f"skillweave.llm.backends.{module}.MOST_BYTES", BOUND)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("[" * 5000 + "]" * 5000, "nested deeper"),
        ("[" * 129 + "]" * 129, "nested deeper"),
        ('{"a": "x', "no JSON"),
        ("\ufeff\x00", "no JSON"),
        ("", "no JSON"),
    ],
)
def test_what_is_no_json_is_refused(body: str, words: str) -> None:
    with pytest.raises(BodyError, match=words):
        decode(body.encode())


def test_what_parsers_do_not_agree_about_does_not_refuse_the_rest() -> None:
    body = f'{{"a": 1, "a": 2, "b": [NaN, 1], "c": 1e999, "d": {"1" * 5000}}}'
    assert decode(body.encode()) == {"a": 2, "b": [None, 1], "c": None, "d": None}


def test_a_depth_that_answers_reach_is_read() -> None:
    assert decode(b"[" * 100 + b"]" * 100)


@every
def test_what_is_no_json_is_asked_for_again(complete: Complete, protocol: Protocol) -> None:
    text = json.dumps(BODIES[protocol]())[:-1] + ', "model": None}'
    event = b"event: x\ndata: " + text.encode() + b"\n\n"
    with ScriptedServer(
        Act(text.encode(), headers={"Content-Type": "application/json"}),
        Act(headers={"Content-Type": "text/event-stream"}, pieces=[event]),
    ) as server:
        for streamed in (False, True):
            with pytest.raises(ProviderError, match="no JSON") as caught:
                complete(protocol, server, stream=streamed)
            assert caught.value.transient


@every
@pytest.mark.usefixtures("low_bound")
def test_a_body_without_end_is_cut_off_and_not_asked_for_again(complete: Complete, protocol: Protocol) -> None:
    with ScriptedServer(Act(headers={"Content-Type": "application/json"}, pieces=[b" " * 65536] * 99)) as server:
        with pytest.raises(ProviderError, match="sent more than") as caught:
            complete(protocol, server, max_retries=3)
        assert (len(server.heard), caught.value.transient) == (1, False)


@every
@pytest.mark.usefixtures("low_bound")
def test_a_stream_without_end_is_cut_off_and_not_asked_for_again(complete: Complete, protocol: Protocol) -> None:
    filler: dict[str, Any] = {"type": "ping", "choices": [], "filler": "x" * 5000}
    line = b"data: " + b"x" * 300_000
    for act in (
        stream([filler] * 99, named=True),
        Act(headers={"Content-Type": "text/event-stream"}, pieces=[line] * 3),
    ):
        with ScriptedServer(act) as server:
            with pytest.raises(ProviderError, match="sent more than"):
                complete(protocol, server, stream=True, max_retries=3)
            assert len(server.heard) == 1


@pytest.mark.usefixtures("low_bound")
def test_events_without_end_are_too_many(complete: Complete, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skillweave.llm.backends.body.MOST_EVENTS", 50)
    with ScriptedServer(stream([{}] * 99)) as server, pytest.raises(ProviderError, match="sent more than"):
        complete("openai", server, stream=True)


@pytest.mark.usefixtures("low_bound")
@pytest.mark.parametrize("encoding", ["gzip", "deflate", "gzip, gzip", "br"])
def test_little_that_becomes_much_stays_little(complete: Complete, encoding: str) -> None:
    body = (gzip if "gzip" in encoding else zlib).compress(b" " * 50_000_000)
    act = Act(body, headers={"Content-Type": "application/json", "Content-Encoding": encoding})
    with ScriptedServer(act) as server, pytest.raises(ProviderError, match=r"sent more than|no JSON"):
        complete("openai", server)


@pytest.mark.parametrize("streamed", [False, True])
def test_a_compressed_answer_is_read(complete: Complete, streamed: bool) -> None:
    events = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in chunks_of(a_completion())[:-1])
    plain = events if streamed else json.dumps(a_completion()).encode()
    act = Act(gzip.compress(plain), headers={"Content-Type": "text/plain", "Content-Encoding": "gzip"})
    with ScriptedServer(act) as server:
        assert complete("openai", server, stream=streamed).text == "Hi."
        assert server.heard[0].headers["accept-encoding"] == "gzip"


def test_words_of_an_answer_are_not_taken_for_an_error(complete: Complete) -> None:
    body = {**a_completion("This model's maximum context length is 8"), "choices": "prompt is too long"}
    with ScriptedServer(reply(body)) as server, pytest.raises(ProviderError, match="no chat completion"):
        complete("openai", server)


def test_absurd_counts_are_bounded(complete: Complete) -> None:
    usage = {"prompt_tokens": -5, "completion_tokens": 10**300, "prompt_tokens_details": {"cached_tokens": None}}
    with ScriptedServer(reply({**a_completion(), "usage": usage})) as server:
        said = complete("openai", server)
    assert (said.input_tokens, said.cached_input_tokens, said.output_tokens) == (0, 0, 10**9)


def test_counts_that_are_written_as_texts_are_bounded_too(complete: Complete) -> None:
    usage = {"prompt_tokens": "-5", "completion_tokens": "9" * 400}
    with ScriptedServer(reply({**a_completion(), "usage": usage})) as server:
        said = complete("openai", server)
    assert (said.input_tokens, said.output_tokens) == (0, 10**9)


def test_an_error_in_the_place_of_an_answer_is_told(complete: Complete) -> None:
    with (
        ScriptedServer(reply({"error": {"message": "no\x1b[31m credit", "code": 402}})) as server,
        pytest.raises(ProviderError, match=r"status 402: no\?\[31m credit"),
    ):
        complete("openai", server)


def test_lines_end_at_line_feeds_alone(complete: Complete) -> None:
    said = "one\u2028two\u0085three\x0bfour"
    whole = b"".join(
        b"data: " + json.dumps(event, ensure_ascii=False).encode() + b"\r\n\r\n" if event != "[DONE]" else b""
        for event in chunks_of(a_completion(said), size=1000)
    )
    pieces = [whole[start : start + 7] for start in range(0, len(whole), 7)]
    with ScriptedServer(Act(headers={"Content-Type": "text/event-stream"}, pieces=pieces)) as server:
        assert complete("openai", server, stream=True).text == said
