"""Where the first author cannot be reached or refuses, the second one answers, and the bytes are the same."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.authors.apis import Said
from tests.authors.conftest import Direct
from tests.authors.runs import Runner, by
from tests.authors.served import Due, ServedAuthor, Spoilt
from tests.authors.ways import CHAT, MESSAGES
from tests.pipeline.small import artifacts, differing


@pytest.fixture
def nowhere() -> Iterator[str]:
    """An address that nobody listens at."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}/v1"


def test_who_cannot_be_reached_is_followed_by_the_next(
    run: Runner, direct: Direct, tmp_path: Path, nowhere: str
) -> None:
    with ServedAuthor(direct.cassette) as second:
        line = CHAT.author(nowhere, model="down", fallback=[MESSAGES.author(second.url)])
        ran = run(tmp_path / "outputs", {"max_retries": 0, **by(line)}, "--until", "s05")
    assert ran.code == 0, ran.shown[-3000:]
    made = artifacts(ran.outputs)
    assert differing({path: direct.artifacts[path] for path in made}, made) == []
    askings = [asking for item in ran.manifest["items"] for asking in item.get("askings", ())]
    first = {asking["question"]: asking for asking in askings if asking["author"] == "openai/down"}
    then = {asking["question"]: asking for asking in askings if asking["author"] == "anthropic/served"}
    assert set(first) == set(then) >= {"domains.expand", "blueprint.contracts"}
    for question, asking in first.items():
        assert asking["complaints"] == {"unreached": asking["asked"]}
        assert asking["rejected"] == asking["asked"] == then[question]["first_try"]


def test_who_refuses_is_followed_by_the_next(run: Runner, direct: Direct, tmp_path: Path) -> None:
    def refuse(due: Due) -> Spoilt:
        return Spoilt("refused", Said("I would rather not.", stop="refusal"))

    with ServedAuthor(direct.cassette, spoil=refuse) as first, ServedAuthor(direct.cassette) as second:
        line = MESSAGES.author(first.url, model="coy", fallback=[CHAT.author(second.url)])
        ran = run(tmp_path / "outputs", by(line), "--until", "s05")
        assert len(first.log) == len(second.log) > 1
    assert ran.code == 0, ran.shown[-3000:]
    made = artifacts(ran.outputs)
    assert differing({path: direct.artifacts[path] for path in made}, made) == []
