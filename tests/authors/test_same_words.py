"""Every answer of the direct run arrives as it was given, letter by letter, over every API, whole and streamed."""

import asyncio
from random import Random

import pytest

from skillweave.config.llm import AuthorConfig, LlmConfig
from skillweave.llm.backends.backend import Reply, Request
from skillweave.llm.connections import Connections
from skillweave.llm.ledger import Ledger
from tests.authors.again import asked_again, questions
from tests.authors.apis import Said
from tests.authors.conftest import Direct
from tests.authors.served import Due, ServedAuthor, Spoilt, total
from tests.authors.ways import WAYS, Way


def repeated(author: ServedAuthor) -> list[Request]:
    """The requests of the direct run."""
    known = questions()
    return [
        Request(tuple(take.messages), known[take.question].schema, question=take.question, key=take.key)
        for take in author.takes
    ]


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_every_answer_arrives_as_it_was_given(direct: Direct, way: Way) -> None:
    ledger = Ledger()

    async def ask(author: ServedAuthor) -> list[Reply]:
        connections = Connections(LlmConfig(outage_s=20.0), ledger=ledger, caches=False)
        backend = connections.connect(AuthorConfig.model_validate(way.author(author.url)))
        try:
            return await asyncio.gather(*map(backend.complete, repeated(author)))
        finally:
            await backend.close()

    with ServedAuthor(direct.cassette) as author:
        replies = asyncio.run(ask(author))
    assert [reply.text for reply in replies] == [take.reply.text for take in author.takes]
    assert author.unknown == []
    counted, entered = total(author.log), ledger.total().model_dump()
    assert {name: entered[name] for name in counted} == counted
    assert {one.heard.path for one in author.log} == {f"/v1{way.path}"}
    assert any(one.heard.body.get("stream") for one in author.log) is way.streams


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_every_answer_that_is_cut_off_is_put_together_again(direct: Direct, way: Way) -> None:
    ledger = Ledger()

    def cut(due: Due) -> Spoilt | None:
        if due.is_rest:
            return None
        random = Random(f"{due.place.question}/{due.place.key}")
        half = due.said.text[: random.randrange(1, len(due.said.text))]
        return Spoilt("truncated", Said(half, stop="length", model=due.said.model))

    async def ask(author: ServedAuthor) -> list[object]:
        connections = Connections(LlmConfig(outage_s=20.0), ledger=ledger, caches=False)
        backend = connections.connect(AuthorConfig.model_validate(way.author(author.url)))
        try:
            asked = (asked_again(take, backend, ledger, repairs=0) for take in first)
            return await asyncio.gather(*asked, return_exceptions=True)
        finally:
            await backend.close()

    with ServedAuthor(direct.cassette, spoil=cut) as author:
        first = [take for take in author.takes if take.attempt == 0]
        answers = asyncio.run(ask(author))
    told = zip(first, answers, strict=True)
    assert [(take.question, answer) for take, answer in told if answer is not True] == []
    assert ledger.total().replies == 2 * len(first)
