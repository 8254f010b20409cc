"""Every answer of the direct run arrives as it was given, letter by letter, over every API, whole and streamed."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from skillweave.config.models import AuthorConfig, LlmConfig
from skillweave.llm.connections import Connections
from skillweave.llm.ledger import Ledger
from skillweave.llm.request import Reply, Request
from synth.engine.pipeline import load_pipeline
from tests.authors.conftest import Direct
from tests.authors.served import ServedAuthor, total
from tests.authors.ways import WAYS, Way


def asked_again(direct: Direct, author: ServedAuthor) -> list[Request]:
    """The requests of the direct run."""
    questions = {each.name: each for step in load_pipeline("synth.steps").steps for each in step.questions}
    return [
        Request(tuple(take.messages), questions[take.question].schema, question=take.question, key=take.key)
        for take in author.takes
    ]


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_every_answer_arrives_as_it_was_given(direct: Direct, way: Way) -> None:
    ledger = Ledger()

    async def ask(author: ServedAuthor) -> list[Reply]:
        connections = Connections(LlmConfig(), ledger=ledger, caches=False)
        backend = connections.connect(AuthorConfig.model_validate(way.author(author.url)))
        try:
            return await asyncio.gather(*(backend.complete(request) for request in asked_again(direct, author)))
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
