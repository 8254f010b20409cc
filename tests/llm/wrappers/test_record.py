import asyncio
from pathlib import Path

import pytest

from skillweave.base.errors import ArtifactError, ConfigError, ProviderError
from skillweave.config.llm import AuthorConfig, LlmConfig
from skillweave.llm.ask import ask
from skillweave.llm.backends.backend import Reply, Request, Tokens
from skillweave.llm.connections import Connections
from skillweave.llm.ledger import Ledger
from skillweave.llm.models import AuthorSpec, connect
from skillweave.schema.trajectory import FunctionCall, Message, ToolCall

from ..conftest import Maker

CALL = ToolCall(id="c1", function=FunctionCall(name="book", arguments={"day": 1}))


def a_request(key: str = "k", attempt: int = 0) -> Request:
    return Request(messages=(Message(role="user", content="é?"),), question="q", key=key, attempt=attempt)


def record(path: Path, *requests: Request, reply: str | Reply = "yes") -> None:
    backend = connect(AuthorSpec(), offline=lambda request: reply, record=path)
    for request in requests:
        asyncio.run(backend.complete(request))


def replay(path: Path, request: Request) -> Reply:
    return asyncio.run(connect(AuthorSpec("replay", str(path))).complete(request))


def test_a_recorded_reply_is_replayed_whole(tmp_path: Path) -> None:
    reply = Reply(
        "é \ud800",
        input_tokens=3,
        output_tokens=4,
        model="m",
        stop="tool_calls",
        tool_calls=(CALL,),
        reasoning="because",
        cost_usd=0.25,
    )
    record(tmp_path / "c.jsonl", a_request(), reply=reply)
    assert replay(tmp_path / "c.jsonl", a_request()) == reply


def test_tokens_and_signed_reasoning_are_replayed_too(tmp_path: Path) -> None:
    tokens = Tokens((1, 2), (3,), (-0.5, -1.0))
    reply = Reply("", stop="content_filter", refusal="No.", tokens=tokens, blocks=({"type": "thinking", "n": [1]},))
    record(tmp_path / "c.jsonl", a_request(), reply=reply)
    assert replay(tmp_path / "c.jsonl", a_request()) == reply


def test_thoughts_are_told_from_the_words_of_an_earlier_cassette_too(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    record(path, a_request(), reply="yes")
    path.write_text(path.read_text().replace('"text": "yes"', '"text": "<think>Hm.</think>yes"'))
    for _ in range(2):
        found = replay(path, a_request())
        assert (found.text, found.reasoning, found.written) == ("yes", "Hm.", "<think>Hm.</think>yes")
        path.unlink()
        record(path, a_request(), reply=found)


def test_a_repaired_conversation_is_replayed_to_the_same_answer(tmp_path: Path, a_question: Maker) -> None:
    question, path = a_question(list[int]), tmp_path / "c.jsonl"
    answers = ["no", "[7]"]
    live = connect(AuthorSpec(), offline=lambda request: answers[request.attempt], record=path)
    taped = asyncio.run(ask(live, question, key="k", variables={"thing": 1}))
    again = connect(AuthorSpec("replay", str(path)))
    assert asyncio.run(ask(again, question, key="k", variables={"thing": 1})) == taped == [7]


def test_another_item_or_attempt_has_no_answer(tmp_path: Path) -> None:
    record(tmp_path / "c.jsonl", a_request())
    with pytest.raises(ProviderError, match=r"no answer to question 'q' for 'other', attempt 0: .* record it again"):
        replay(tmp_path / "c.jsonl", a_request("other"))
    with pytest.raises(ProviderError, match="attempt 1"):
        replay(tmp_path / "c.jsonl", a_request(attempt=1))


def test_a_torn_last_line_is_one_reply_owed(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    record(path, a_request("a"), a_request("b"))
    path.write_bytes(path.read_bytes()[:-30])
    assert replay(path, a_request("a")).text == "yes"
    with pytest.raises(ProviderError, match="'b'"):
        replay(path, a_request("b"))
    record(path, a_request("b"), reply="later")
    assert [replay(path, a_request(key)).text for key in "ab"] == ["yes", "later"]


def test_a_damaged_cassette_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    record(path, a_request("a"), a_request("b"))
    path.write_text("{}\n" + path.read_text())
    with pytest.raises(ArtifactError, match="line 1 of cassette"):
        replay(path, a_request("a"))
    with pytest.raises(ArtifactError, match="cannot be read"):
        connect(AuthorSpec("replay", str(tmp_path / "none.jsonl")))


def test_a_cassette_that_cannot_be_written_is_told_before_anybody_is_asked(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path, why in ((tmp_path, "is no file"), (Path("/dev/full"), "is no file"), (tmp_path / "file" / "c", "cannot")):
        with pytest.raises(ConfigError, match=rf"{why}.* llm.record"):
            record(path)


def test_what_is_replayed_from_the_cassette_is_not_added_to_it(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    record(path, a_request())
    before = path.read_bytes()
    found = Connections(LlmConfig(record=str(path)), ledger=Ledger())
    backend = found.connect(AuthorConfig(model=f"replay/{path}"))
    assert asyncio.run(backend.complete(a_request())).text == "yes"
    assert path.read_bytes() == before


def test_variables_are_not_recorded(tmp_path: Path) -> None:
    request = Request(messages=(), key="k", variables={"golden": "hidden-value"})
    record(tmp_path / "c.jsonl", request)
    assert "hidden-value" not in (tmp_path / "c.jsonl").read_text()
