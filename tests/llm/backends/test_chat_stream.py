"""Chat completions as a stream: the same reply as the whole body gives."""

import json

import pytest

from skillweave.base.errors import ProviderError
from skillweave.llm.backends.openai_chat import read_chunks
from skillweave.schema.record import Json
from skillweave.schema.trajectory import FunctionCall, ToolCall

from ..protocols import a_call, a_completion, a_delta, chunks_of
from ..scripted import Act, ScriptedServer, fault, reply, stream
from .conftest import Complete

ANSWERS = [
    a_completion("Hello, é 🙂."),
    a_completion(None, reason="tool_calls", tool_calls=[a_call(), a_call("find", "{}", "c2")]),
    a_completion("Wait.", reason="tool_calls", tool_calls=[a_call(arguments='{"day": 1')], reasoning_content="Hm."),
    a_completion(None, refusal="I won't."),
    a_completion(None, reason="content_filter"),
    a_completion("Once upon", reason="length"),
    a_completion(""),
]


@pytest.mark.parametrize("answer", ANSWERS, ids=range(len(ANSWERS)))
def test_a_stream_gives_the_reply_that_the_body_gives(complete: Complete, answer: dict[str, Json]) -> None:
    with ScriptedServer(reply(answer), stream(chunks_of(answer))) as server:
        whole = complete("openai", server)
        assert complete("openai", server, stream=True) == whole
        assert whole.input_tokens == 7
        assert server.heard[1].body == {
            **server.heard[0].body,
            "stream": True,
            "stream_options": {"include_usage": True},
        }


def test_parallel_calls_keep_their_arguments_as_the_model_wrote_them(complete: Complete) -> None:
    calls = [a_call(arguments='{"day": 1, "day'), a_call("find", "", "c1"), a_call("find", '{"a": NaN}', None)]
    with ScriptedServer(stream(chunks_of(a_completion(None, reason="tool_calls", tool_calls=calls)))) as server:
        said = complete("openai", server, stream=True)
    assert said.tool_calls == (
        ToolCall(id="c1", function=FunctionCall(name="book", arguments='{"day": 1, "day')),
        ToolCall(id="c1", function=FunctionCall(name="find", arguments="")),
        ToolCall(id="", function=FunctionCall(name="find", arguments='{"a": NaN}')),
    )
    assert said.stop == "tool_calls"


def test_an_endpoint_that_does_not_count_a_stream_is_not_asked_to_again(complete: Complete) -> None:
    refused = fault(400, "unknown parameter: 'stream_options'")
    with ScriptedServer(refused, stream(chunks_of(a_completion()))) as server:
        assert complete("openai", server, stream=True).text == "Hi."
        assert "stream_options" not in server.heard[1].body


def test_a_body_in_place_of_a_stream_is_read(complete: Complete) -> None:
    answer = a_completion(None, reason="tool_calls", tool_calls=[a_call()])
    pretty = Act(json.dumps(answer, indent=1).encode(), headers={"Content-Type": "application/json"})
    for act in (reply(answer), pretty):
        with ScriptedServer(reply(answer), act) as server:
            assert complete("openai", server) == complete("openai", server, stream=True)


@pytest.mark.parametrize(
    ("start", "end"),
    [
        (b"\xef\xbb\xbf", b""),
        (b"data:\n\n", b"data: \n\n"),
        (b"event: x\ndata\n\n: hello\n\n", b"data:\n\n"),
    ],
)
def test_what_is_no_event_is_left_out(complete: Complete, start: bytes, end: bytes) -> None:
    *events, _ = chunks_of(a_completion())
    body = start + b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events) + end
    with ScriptedServer(Act(headers={"Content-Type": "text/event-stream"}, pieces=[body])) as server:
        assert complete("openai", server, stream=True).text == "Hi."


def test_a_piece_that_is_no_json_is_no_answer(complete: Complete) -> None:
    for event in ("{nonsense", "[1]", '"text"'):
        with ScriptedServer(stream([event, *chunks_of(a_completion())])) as server:
            with pytest.raises(ProviderError) as caught:
                complete("openai", server, stream=True)
            assert caught.value.transient


def test_calls_that_all_have_the_index_zero_are_told_apart_by_their_ids() -> None:
    calls = [{**a_call(id="a"), "index": 0}, {**a_call("find", "{}", "b"), "index": 0}]
    said = read_chunks([*(a_delta(tool_calls=[call]) for call in calls), a_delta("tool_calls")])
    assert [call.function.name for call in said.tool_calls] == ["book", "find"]


def test_a_new_id_with_every_piece_begins_no_call() -> None:
    pieces = [
        {"index": 0, "id": "a", "function": {"name": "book", "arguments": '{"da'}},
        {"index": 0, "id": "b", "function": {"arguments": 'y": 1}'}},
    ]
    said = read_chunks([*(a_delta(tool_calls=[piece]) for piece in pieces), a_delta("tool_calls")])
    assert said.tool_calls == (ToolCall(id="a", function=FunctionCall(name="book", arguments='{"day": 1}')),)


def test_calls_without_an_index_come_whole() -> None:
    chunk = a_delta("stop", tool_calls=[a_call(id="a"), a_call("find", "{}", "b")])
    assert [call.id for call in read_chunks([chunk]).tool_calls] == ["a", "b"]


def piece(name: str | None = None, arguments: str | None = None, **more: Json) -> dict[str, Json]:
    """A piece of a call; what is None is left out."""
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    return {**more, "function": {**function}}


WHOLE = [("book", '{"day": 1}'), ("find", '{"day": 2}')]
SAME = [("book", '{"day": 1}'), ("book", '{"day": 2}')]
STREAMS: dict[str, tuple[list[dict[str, Json]], list[tuple[str, str]]]] = {
    "no ids": (
        [
            piece("book", "", index=0),
            piece(None, '{"day": 1}', index=0),
            piece("find", "", index=1),
            piece(None, '{"day": 2}', index=1),
        ],
        WHOLE,
    ),
    "whole calls, no ids, no index": ([piece(*call) for call in WHOLE], WHOLE),
    "whole calls of one tool, no ids, no index": ([piece(*call) for call in SAME], SAME),
    "whole calls, no ids, one index": ([piece(*call, index=0) for call in SAME], SAME),
    "whole calls, ids, one index": (
        [piece(*call, index=0, id=id) for call, id in zip(SAME, "ab", strict=True)],
        SAME,
    ),
    "whole calls, one id, one index": ([piece(*call, index=0, id="a") for call in SAME], SAME),
    "one id and two names": ([piece(*call, id="a") for call in WHOLE], WHOLE),
    "one id and two names, in pieces": (
        [
            piece("book", '{"day"', id="a", index=0),
            piece(None, ": 1}", id="a", index=0),
            piece("find", '{"day"', id="a", index=1),
            piece(None, ": 2}", id="a", index=1),
        ],
        WHOLE,
    ),
    "one id and two names, no index": (
        [piece("book", '{"day": 1}', id="a"), piece("find", '{"day"', id="a"), piece(None, ": 2}", id="a")],
        WHOLE,
    ),
    "one index, ids, in pieces": (
        [
            piece("book", '{"day"', index=0, id="a"),
            piece(None, ": 1}", index=0),
            piece("find", "", index=0, id="b"),
            piece(None, '{"day": 2}', index=0),
        ],
        WHOLE,
    ),
    "one index, ids in every piece, in turn": (
        [
            piece("book", "", index=0, id="a"),
            piece("find", "", index=0, id="b"),
            piece(None, '{"day": 1}', index=0, id="a"),
            piece(None, '{"day": 2}', index=0, id="b"),
        ],
        WHOLE,
    ),
    "in turn": (
        [
            piece("book", "", index=0, id="a"),
            piece("find", "", index=1, id="b"),
            piece(None, '{"day"', index=0),
            piece(None, '{"day"', index=1),
            piece(None, ": 1}", index=0),
            piece(None, ": 2}", index=1),
        ],
        WHOLE,
    ),
    "in turn, names and ids in every piece": (
        [
            piece("book", "", index=0, id="a"),
            piece("find", "", index=1, id="b"),
            piece("book", '{"day": 1}', index=0, id="a"),
            piece("find", '{"day": 2}', index=1, id="b"),
        ],
        WHOLE,
    ),
    "the name in every piece": (
        [piece("book", "", index=0, id="a"), piece("book", '{"day"', index=0), piece("book", ": 1}", index=0)],
        WHOLE[:1],
    ),
    "the name in every piece, no ids, no index": (
        [piece("book", '{"day"'), piece("book", ": 1}"), piece("find", '{"day"'), piece("find", ": 2}")],
        WHOLE,
    ),
    "an empty name in every further piece": (
        [piece("book", "", index=0, id="a"), piece("", '{"day": 1}', index=0, id="")],
        WHOLE[:1],
    ),
    "name and id in every piece, nothing at the end": (
        [piece("book", '{"day": 1}', index=0, id="a"), piece("book", "", index=0, id="a")],
        WHOLE[:1],
    ),
    "the whole call again at the end": (
        [
            piece("book", '{"day"', index=0, id="a"),
            piece(None, ": 1}", index=0),
            piece("book", '{"day": 1}', index=0, id="a"),
        ],
        WHOLE[:1],
    ),
    "an index that counts the pieces": (
        [piece("book", "", index=0, id="a"), piece(None, '{"day"', index=1), piece(None, ": 1}", index=2)],
        WHOLE[:1],
    ),
    "an index that counts the pieces, with the id": (
        [
            piece("book", "", index=0, id="a"),
            piece(None, '{"day"', index=1, id="a"),
            piece(None, ": 1}", index=2, id="a"),
        ],
        WHOLE[:1],
    ),
    "no index behind the first piece": (
        [piece("book", "", index=0, id="a"), piece(None, '{"day"'), piece(None, ": 1}")],
        WHOLE[:1],
    ),
    "the id later": (
        [piece("book", "", index=0), piece(None, '{"day": 1}', index=0, id="a")],
        WHOLE[:1],
    ),
    "two calls without arguments": ([piece("book", ""), piece("book", "")], [("book", ""), ("book", "")]),
    "one tool twice, one index, no ids, in pieces": (
        [
            piece("book", "", index=0),
            piece(None, '{"day": 1}', index=0),
            piece("book", "", index=0),
            piece(None, '{"day"', index=0),
            piece(None, ": 2}", index=0),
        ],
        SAME,
    ),
    "the name in every piece, nothing at the end": (
        [piece("book", '{"day"', index=0), piece("book", ": 1}", index=0), piece("book", "", index=0)],
        WHOLE[:1],
    ),
    "null as function": (
        [
            {"index": 0, "id": "a", "function": None},
            piece("book", '{"day"', index=0),
            {"index": 0, "function": None},
            piece(None, ": 1}", index=0),
        ],
        WHOLE[:1],
    ),
    "an object inside": (
        [piece("book", '{"day": ', index=0, id="a"), piece("book", "{}", index=0, id="a"), piece("book", "}", index=0)],
        [("book", '{"day": {}}')],
    ),
    "more than an object": (
        [piece("book", "{}", index=0, id="a"), piece(None, '""', index=0)],
        [("book", '{}""')],
    ),
    "no name": (
        [piece("book", '{"day": 1}', index=0, id="a"), piece("", "{}", index=1, id="b")],
        [("book", '{"day": 1}'), ("", "{}")],
    ),
}


@pytest.mark.parametrize(("pieces", "calls"), STREAMS.values(), ids=STREAMS)
def test_calls_are_told_apart_however_they_are_cut(
    complete: Complete, pieces: list[dict[str, Json]], calls: list[tuple[str, str]]
) -> None:
    events = [*(a_delta(tool_calls=[part]) for part in pieces), a_delta("tool_calls"), "[DONE]"]
    with ScriptedServer(stream(events)) as server:
        said = complete("openai", server, stream=True)
    assert [(call.function.name, call.function.arguments) for call in said.tool_calls] == calls
    # However many of them come in one event.
    together = [a_delta(tool_calls=[*pieces]), a_delta("tool_calls"), "[DONE]"]
    with ScriptedServer(stream(together)) as server:
        assert complete("openai", server, stream=True).tool_calls == said.tool_calls
