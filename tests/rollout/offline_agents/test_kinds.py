"""Agents in tasks that are to be declined, asked about or handed over."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from rollout.offline.agents import OFFLINE_AGENTS, offline_agent
from rollout.offline.agents.oracle.careless import MISTAKES, mistake_of
from rollout.offline.user import offline_user
from skillweave.dataset import Dataset
from skillweave.schema.message import ToolCall
from skillweave.schema.task import Kind
from skillweave.schema.trajectory import TrajectoryRecord
from tests.rollout.offline_agents.clinic import a_dataset, a_user, called, held, kinds, passed, said_by

PERSONAS = 5
KIND: dict[str, Kind] = {task.id: task.kind for task in kinds()}
Found = dict[str, list[TrajectoryRecord]]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return a_dataset(tmp_path_factory.mktemp("clinic"), kinds())


@pytest.fixture(scope="module")
def found(dataset: Dataset) -> Found:
    """Trajectories by agent, with a user who speaks in five ways."""
    agents = {name: offline_agent(name, dataset, 1) for name in OFFLINE_AGENTS}
    return {
        name: held(dataset, agent, offline_user(1), personas=PERSONAS if name == "oracle" else 2)
        for name, agent in agents.items()
    }


def share(records: list[TrajectoryRecord]) -> float:
    return sum(bool(passed(record)) for record in records) / len(records)


def test_the_oracle_passes_every_kind_in_every_telling(dataset: Dataset, found: Found) -> None:
    assert [record.id for record in found["oracle"] if not passed(record)] == []
    simple = held(dataset, offline_agent("oracle", dataset, 2), a_user())
    assert [record.id for record in simple if not passed(record)] == []


def test_the_ladder_holds(found: Found) -> None:
    rates = {name: share(records) for name, records in found.items()}
    assert rates["nothing"] == 0
    assert rates["nothing"] <= rates["random"] <= rates["greedy"] < rates["oracle"]
    assert max(rates["careless"], rates["policy_blind"]) < rates["oracle"]


def test_the_oracle_declines_by_its_rule_and_hands_nothing_over(found: Found) -> None:
    late = [record for record in found["oracle"] if record.task_id == "SmallClinic-late"]
    assert all(called(record) == ["identify_patient", "list_appointments"] for record in late)
    assert all("R10" in " ".join(said_by(record, "assistant")) for record in late)


def test_the_oracle_asks_before_it_acts_and_hands_over_what_no_tool_does(found: Found) -> None:
    for record in found["oracle"]:
        if KIND[record.task_id] == "unavailable":
            assert record.stop_reason == "transfer"
            assert called(record)[-1] == "transfer_to_human"
        if KIND[record.task_id] == "clarify":
            first = next(at for at, one in enumerate(record.messages) if one.role == "assistant" and one.content)
            write = next(at for at, one in enumerate(record.messages) if one.tool_calls and _writes(one.tool_calls))
            assert first < write


def test_who_heeds_no_policy_does_what_the_agent_alone_may_stop(found: Found) -> None:
    late = [record for record in found["policy_blind"] if record.task_id == "SmallClinic-late"]
    assert all("cancel_appointment" in called(record) and not passed(record) for record in late)
    tried = [record for record in found["policy_blind"] if record.task_id == "SmallClinic-no_reminder"]
    assert all("drop_reminder" in called(record) for record in tried)


def test_each_mistake_fails_its_task(dataset: Dataset) -> None:
    by_mistake: dict[str, list[bool]] = {}
    for record in held(dataset, offline_agent("careless", dataset, 1), a_user(), trials=12):
        mistake = mistake_of(1, record.id, KIND[record.task_id]) or "none"
        by_mistake.setdefault(mistake, []).append(bool(passed(record)))
    assert all(by_mistake["none"])
    expected = {*MISTAKES["refuse"], *MISTAKES["unavailable"], *MISTAKES["clarify"], "none"}
    assert set(by_mistake) == expected
    for mistake in ("no_rule", "wrong_rule", "wrong_reason", "guesses", "gives_up"):
        assert not any(by_mistake[mistake]), mistake


def test_a_request_without_its_call_in_the_record_is_done_by_words(tmp_path: Path) -> None:
    late = kinds()[0]
    unknown = late.model_copy(update={"criteria": late.criteria.model_copy(update={"asked": None})})
    dataset = a_dataset(tmp_path / "outputs", [unknown])
    (blind,) = held(dataset, offline_agent("policy_blind", dataset, 1), a_user())
    assert not passed(blind)


def _writes(calls: Sequence[ToolCall]) -> bool:
    return any(call.function.name in ("cancel_appointment", "book_appointment") for call in calls)
