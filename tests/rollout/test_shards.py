"""Shards: what workers write is taken over once, and what they may spend is never more than there is."""

import asyncio
import json
from pathlib import Path

import pytest
import yaml

from rollout import shards
from rollout.folder import SHARDS, RolloutFolder, RunFigures
from rollout.shards import Servers, ShardEnd, Sink, hold_in_shards
from skillweave.base.errors import StopError
from skillweave.config.sections import Config, ExecutionConfig
from skillweave.llm.budget import SharedBudget, spending
from tests.rollout.test_resume import CONFIG, ids, lines

COUNT = 24
PAIRS = [(f"{'east' if number % 2 else 'west'}-{number}", 0) for number in range(COUNT)]
IDS = sorted(f"{id}#0" for id, _ in PAIRS)


@pytest.fixture
def folder(tmp_path: Path) -> RolloutFolder:
    made = RolloutFolder(tmp_path / "rollouts")
    made.store.prepare()
    return made


def config(**llm: object) -> Config:
    given = yaml.safe_load(CONFIG.replace("count: 300", f"count: {COUNT}"))
    return Config.model_validate({"rollout": {**given["rollout"], "processes": 2}, "llm": llm})


def hold(folder: RolloutFolder) -> RunFigures:
    tally = RunFigures()
    asyncio.run(hold_in_shards(config(), folder, PAIRS, Servers(), Sink(folder.append, tally)))
    return tally


def test_all_are_held_once_and_nothing_is_left_of_the_shards(folder: RolloutFolder) -> None:
    tally = hold(folder)
    assert (tally.done, tally.passed) == (COUNT, COUNT)
    assert ids(lines(folder.store.root.parent)) == IDS
    assert not list((folder.store.root / SHARDS).glob("*"))


def test_a_worker_that_dies_each_time_costs_what_it_had_not_written(
    folder: RolloutFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    dead = folder.store.root.parent / "west-22"
    monkeypatch.setenv("DEAD", str(dead))
    with pytest.raises(StopError, match="conversations were lost with their worker"):
        hold(folder)
    kept = ids(lines(folder.store.root.parent))
    assert set(kept) < set(IDS)
    assert len(kept) == len(set(kept))


def test_what_a_killed_command_left_is_taken_over_whole_lines_only_and_once(folder: RolloutFolder) -> None:
    hold(folder)
    place = folder.store.root.parent
    first, second, *_ = lines(place)
    for number, line in enumerate((first, first, second[:50])):
        folder.store.append(f"{SHARDS}/left-{number % 2}.jsonl", line)
    before = lines(place)
    folder.take_over_left()
    assert lines(place) == before
    for path in folder.store.root.glob("*.jsonl"):
        path.unlink()
    folder.store.append(f"{SHARDS}/left.jsonl", first)
    folder.take_over_left()
    assert lines(place) == [first]


def test_a_shard_that_is_begun_again_goes_on_behind_its_last_record(folder: RolloutFolder) -> None:
    hold(folder)
    line = lines(folder.store.root.parent)[0]
    assert folder.begin_shard("one") is None
    assert folder.begin_shard("one") == frozenset()
    folder.store.append(f"{SHARDS}/one.jsonl", line)
    assert folder.begin_shard("one") == frozenset([json.loads(line)["id"]])


@pytest.mark.parametrize(("ended", "spent", "lost"), [(True, 0.05, 0.01), (False, 0.0, 8.0)])
def test_machines_that_share_no_account_have_parts_of_the_budget(
    folder: RolloutFolder, ended: bool, spent: float, lost: float
) -> None:
    root = folder.store.root

    async def parts() -> float:
        account = SharedBudget(root, 10.0)
        account.book(None, cost_usd=2.0)
        await account.close()
        elsewhere = config(budget_usd=10.0).model_copy(
            update={"execution": ExecutionConfig(runner="dask", workers=2, address="tcp://elsewhere:8786")}
        )
        async with shards._all_shards(elsewhere, folder, PAIRS, Servers()) as (made, ends):
            assert spending(root) == pytest.approx((2.0, 0.0, 8.0, 0))
            most = sum(shard.part_usd or 0.0 for shard in made) * shards.TRIES
            assert all(shard.config.llm.budget_usd == shard.part_usd for shard in made)
            if ended:
                ends += [ShardEnd(cost_usd=spent / len(made), lost_usd=lost / len(made)) for _ in made]
        return most

    assert asyncio.run(parts()) == pytest.approx(8.0)
    assert spending(root) == pytest.approx((2.0 + spent, lost, 0.0, 0))
