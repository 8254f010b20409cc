"""A quarter of the replies is broken, in twenty ways: the run ends, what is kept is right, and all is counted."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from skillweave.base.errors import AuthorError
from skillweave.config.llm import AuthorConfig, LlmConfig
from skillweave.llm.connections import Connections
from skillweave.llm.ledger import Ledger
from skillweave.llm.replay import CassetteEntry
from tests.authors.again import asked_again
from tests.authors.conftest import SEED, Direct, Faulty
from tests.authors.faults import FAULTS, Faults
from tests.authors.runs import WORLD, Ran, Runner, by
from tests.authors.served import Answered, Due, ServedAuthor, Spoilt, read_takes, total
from tests.authors.ways import WAYS, Way
from tests.pipeline.small import artifacts, differing

QUERIES = f"queries/{WORLD}.jsonl"
TABLE = {f"data/{split}.jsonl" for split in ("train", "validation", "test")}
REPORTS = {"report/duplicates.json", "report/diversity.json", "README.md"}
OF_TASKS = {QUERIES, f"rules/{WORLD}.json", *REPORTS, *TABLE}
"""The tasks, and what tells of them."""


def assert_sound(run: Runner, ran: Ran, log: Sequence[Answered]) -> None:
    """What has to hold however a run came out."""
    assert ran.code in (0, 1), ran.shown[-3000:]
    assert "Traceback" not in ran.shown
    counted, asked = total(log), ran.asked()
    entered = asked.model_dump()
    assert {name: entered[name] for name in counted} == counted
    assert asked.asked == asked.first_try + asked.repaired + asked.rejected
    for item in ran.manifest["items"]:
        assert item["state"] == "done" or any(reason.strip() for reason in item["reasons"]), item
        assert all(reason.strip() for reason in item.get("rejected", {})), item
    verified = run.told(["verify", str(ran.outputs)], ran.outputs)
    assert verified.code == 0, verified.shown[-3000:]


def assert_no_worse(direct: Direct, ran: Ran) -> None:
    """Nothing is in the dataset that is not in the direct one, and nothing is missing but tasks without words."""
    expected, made = direct.artifacts, artifacts(ran.outputs)
    assert set(differing(expected, made)) <= OF_TASKS
    kept, all_tasks = set(made[QUERIES].splitlines()), set(expected[QUERIES].splitlines())
    assert kept <= all_tasks
    assert len(all_tasks - kept) == sum(
        item.get("rejected", {}).get("no words for it", 0) for item in ran.manifest["items"]
    )


def test_a_run_through_faults_ends_with_what_is_right_and_counts_everything(
    run: Runner, direct: Direct, faulty: Faulty
) -> None:
    log = [one for author in faulty.authors for one in author.log]
    assert_sound(run, faulty.ran, log)
    assert_no_worse(direct, faulty.ran)
    assert {one.fault for one in log if one.fault} == set(FAULTS)
    assert all(not author.unknown for author in faulty.authors)


@pytest.mark.long
@pytest.mark.parametrize("way", WAYS, ids=str)
def test_every_way_to_a_model_stands_the_faults(run: Runner, direct: Direct, tmp_path: Path, way: Way) -> None:
    with ServedAuthor(direct.cassette, spoil=Faults(read_takes(direct.cassette), SEED)) as author:
        ran = run(tmp_path / "outputs", {"timeout": 5.0, **by(way.author(author.url))})
    assert_sound(run, ran, author.log)
    assert_no_worse(direct, ran)


async def put_all(asked: Mapping[str, CassetteEntry], author: ServedAuthor, way: Way) -> dict[str, object]:
    """The outcome for each fault; what is entered is what the server counted."""
    ledger = Ledger()
    connections = Connections(LlmConfig(timeout=10.0, outage_s=60.0), ledger=ledger, caches=False)
    backend = connections.connect(AuthorConfig.model_validate(way.author(author.url)))
    try:
        outcomes = await asyncio.gather(
            *(asked_again(take, backend, ledger) for take in asked.values()), return_exceptions=True
        )
    finally:
        await backend.close()
    counted, entered = total(author.log), ledger.total().model_dump()
    assert {name: entered[name] for name in counted} == counted
    return dict(zip(asked, outcomes, strict=True))


def test_each_fault_is_mended_or_told_on_every_way(direct: Direct) -> None:
    takes = read_takes(direct.cassette)
    faults = Faults(takes, SEED)
    chosen = {name: place for place, name in reversed(faults.dealt.items())}
    asked = {name: next(take for take in takes if (take.question, take.key) == chosen[name]) for name in FAULTS}

    def at_first(due: Due) -> Spoilt | None:
        return faults(due) if due.place.attempt == 0 else None

    async def all_ways(authors: Sequence[ServedAuthor]) -> list[dict[str, object]]:
        return await asyncio.gather(*(put_all(asked, author, way) for way, author in zip(WAYS, authors, strict=True)))

    with ExitStack() as stack:
        authors = [stack.enter_context(ServedAuthor(direct.cassette, spoil=at_first)) for _ in WAYS]
        ways = dict(zip(WAYS, asyncio.run(all_ways(authors)), strict=True))
        met = [{one.fault for one in author.log if one.fault} for author in authors]
    assert met == [set(FAULTS)] * len(WAYS)
    for way, outcomes in ways.items():
        refused = outcomes.pop("refused")
        assert isinstance(refused, AuthorError)
        assert "refused to answer: 'I cannot help with that.'" in str(refused)
        assert outcomes == dict.fromkeys(outcomes, True), way
