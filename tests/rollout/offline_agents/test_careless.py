from pathlib import Path

import pytest

from rollout.offline.agents import offline_agent
from rollout.offline.agents.oracle.careless import MISTAKES, mistake_of
from skillweave.dataset import Dataset
from skillweave.schema.trajectory import TrajectoryRecord
from tests.rollout.offline_agents.clinic import a_dataset, a_user, called, held, passed, said_by, tasks

TRIALS = 30


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[TrajectoryRecord]]:
    """Trajectories by the mistake made in them."""
    dataset = a_dataset(tmp_path_factory.mktemp("clinic"))
    records = held(dataset, offline_agent("careless", dataset, 1), a_user(), trials=TRIALS)
    by_mistake: dict[str, list[TrajectoryRecord]] = {}
    for record in records:
        by_mistake.setdefault(mistake_of(1, record.id, "do") or "none", []).append(record)
    return by_mistake


def test_it_makes_each_kind_of_mistake_in_some_six_of_ten_conversations(
    found: dict[str, list[TrajectoryRecord]],
) -> None:
    assert set(found) == {*MISTAKES["do"], "none"}
    total = sum(map(len, found.values()))
    assert 0.5 < 1 - len(found["none"]) / total < 0.7


def test_without_a_mistake_it_is_the_oracle(found: dict[str, list[TrajectoryRecord]]) -> None:
    assert all(passed(record) for record in found["none"])


@pytest.mark.parametrize("mistake", ["wrong_argument", "skipped_call", "invented_tool", "gives_up"])
def test_a_mistake_fails(found: dict[str, list[TrajectoryRecord]], mistake: str) -> None:
    failed = [record for record in found[mistake] if not passed(record)]
    assert len(failed) >= 0.85 * len(found[mistake])


def test_an_extra_write_fails_where_it_is_carried_out(found: dict[str, list[TrajectoryRecord]]) -> None:
    assert sum(not passed(record) for record in found["extra_write"]) >= 0.4 * len(found["extra_write"])


def test_invented_tools_are_called_and_reported_as_if_they_had_worked(
    found: dict[str, list[TrajectoryRecord]],
) -> None:
    known = {call.tool for task in tasks() for call in task.golden} | {"transfer_to_human"}
    for record in found["invented_tool"]:
        assert set(called(record)) - known
    moves = [record for record in found["invented_tool"] if record.task_id == "SmallClinic-move"]
    assert moves
    assert all("moved" in said_by(record, "assistant")[-1] for record in moves)


def test_its_mistakes_depend_on_the_seed(tmp_path: Path) -> None:
    keys = [f"SmallClinic-{at}#0" for at in range(40)]
    assert [mistake_of(1, key, "do") for key in keys] == [mistake_of(1, key, "do") for key in keys]
    assert [mistake_of(1, key, "do") for key in keys] != [mistake_of(2, key, "do") for key in keys]


def test_the_same_seed_gives_the_same_conversations(tmp_path: Path) -> None:
    dataset: Dataset = a_dataset(tmp_path / "outputs")
    one, other = (
        [record.messages for record in held(dataset, offline_agent("careless", dataset, 3), a_user(), trials=4)]
        for _ in range(2)
    )
    assert one == other
