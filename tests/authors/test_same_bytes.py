"""Through real protocols the same author makes the same bytes: a direct run and one over HTTP differ in no artifact."""

from pathlib import Path

import pytest

from tests.authors.conftest import Direct
from tests.authors.runs import Ran, Runner, by
from tests.authors.served import ServedAuthor, total
from tests.authors.ways import CHAT, WAYS, Way
from tests.pipeline.small import artifacts, differing


def run_through(run: Runner, direct: Direct, way: Way, outputs: Path, *more: str) -> Ran:
    """A run whose every answer comes over HTTP; what it asked is what the server was asked."""
    with ServedAuthor(direct.cassette) as author:
        ran = run(outputs, *more, **by(way.author(author.url)))
    assert ran.code == 0, ran.shown[-3000:]
    assert author.unknown == []
    assert max(author.times().values()) == 1
    counted, asked = total(author.log), ran.asked().model_dump()
    assert {name: asked[name] for name in counted} == counted
    return ran


def assert_same(direct: Direct, ran: Ran) -> None:
    made = artifacts(ran.outputs)
    expected = {path: content for path, content in direct.artifacts.items() if path in made or ran_whole(ran)}
    assert differing(expected, made) == []


def ran_whole(ran: Ran) -> bool:
    """Whether the run has come to its last step."""
    return (ran.outputs / "queries").exists()


def test_a_run_over_http_makes_the_bytes_of_a_direct_one(run: Runner, direct: Direct, tmp_path: Path) -> None:
    ran = run_through(run, direct, CHAT, tmp_path / "outputs")
    assert ran_whole(ran)
    assert_same(direct, ran)


@pytest.mark.parametrize("way", [way for way in WAYS if way != CHAT], ids=str)
def test_every_way_makes_the_same_contracts(run: Runner, direct: Direct, tmp_path: Path, way: Way) -> None:
    ran = run_through(run, direct, way, tmp_path / "outputs", "--until", "s05")
    assert (ran.outputs / "blueprints.json").exists()
    assert_same(direct, ran)


@pytest.mark.long
@pytest.mark.parametrize("way", [way for way in WAYS if way != CHAT], ids=str)
def test_every_way_makes_the_same_dataset(run: Runner, direct: Direct, tmp_path: Path, way: Way) -> None:
    ran = run_through(run, direct, way, tmp_path / "outputs")
    assert ran_whole(ran)
    assert_same(direct, ran)
