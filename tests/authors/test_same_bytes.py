"""Through real protocols the same author makes the same bytes: a direct run and one over HTTP differ in no artifact."""

from pathlib import Path

import pytest

from tests.authors.conftest import Direct
from tests.authors.runs import Ran, Runner, by
from tests.authors.served import ServedAuthor, total
from tests.authors.ways import CHAT_PLAIN, MESSAGES, MESSAGES_STREAM, RESPONSES, WAYS, Way
from tests.pipeline.small import JOINED, SMALLEST, artifacts, differing
from tests.pipeline.small import WORLD as JOINED_WORLD


def run_through(
    run: Runner, direct: Direct, way: Way, outputs: Path, *more: str, settings: tuple[str, ...] = SMALLEST
) -> Ran:
    """A run whose every answer comes over HTTP; what it asked is what the server was asked."""
    with ServedAuthor(direct.cassette) as author:
        ran = run(outputs, by(way.author(author.url)), *more, settings=settings)
    assert ran.code == 0, ran.shown[-3000:]
    assert author.unknown == []
    assert set(author.times().values()) == {1}
    counted, asked = total(author.log), ran.asked().model_dump()
    assert {name: asked[name] for name in counted} == counted
    return ran


def assert_same(direct: Direct, ran: Ran) -> None:
    made, expected = artifacts(ran.outputs), direct.artifacts
    if not (ran.outputs / "queries").exists():
        expected = {path: expected[path] for path in made}
    assert "blueprints.json" in made
    assert differing(expected, made) == []


@pytest.mark.parametrize("way", [CHAT_PLAIN, RESPONSES, MESSAGES_STREAM], ids=str)
def test_every_api_makes_the_same_contracts(run: Runner, direct: Direct, tmp_path: Path, way: Way) -> None:
    assert_same(direct, run_through(run, direct, way, tmp_path / "outputs", "--until", "s05"))


@pytest.mark.long
@pytest.mark.parametrize("way", WAYS, ids=str)
def test_every_way_makes_the_same_dataset(run: Runner, direct: Direct, tmp_path: Path, way: Way) -> None:
    ran = run_through(run, direct, way, tmp_path / "outputs")
    assert (ran.outputs / "queries").exists()
    assert_same(direct, ran)


@pytest.mark.long
def test_domains_that_are_joined_are_the_same_over_http(run: Runner, tmp_path: Path) -> None:
    direct = Direct(tmp_path / "direct", tmp_path / "cassette.jsonl")
    assert run(direct.outputs, {"record": str(direct.cassette)}, settings=JOINED).code == 0
    ran = run_through(run, direct, MESSAGES, tmp_path / "outputs", settings=JOINED)
    assert (ran.outputs / "queries" / f"{JOINED_WORLD}.jsonl").exists()
    assert_same(direct, ran)
