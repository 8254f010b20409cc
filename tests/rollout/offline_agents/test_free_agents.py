"""Agents without a script: what they do follows from the conversation and the tools, whatever is golden."""

from pathlib import Path

import pytest

from rollout.offline.agents import offline_agent
from rollout.trajectory import Limits
from skillweave.dataset import Dataset
from skillweave.llm.backends.offline import OfflineBackend
from skillweave.schema.task import Task
from tests.rollout.offline_agents.clinic import a_dataset, a_user, called, held, passed, said_by, tasks

FREE = ("greedy", "random", "nothing")


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return a_dataset(tmp_path_factory.mktemp("clinic"))


def nonsense(task: Task) -> Task:
    """The task with another golden trajectory and other criteria."""
    golden = [call.model_copy(update={"tool": "set_reminders", "arguments": {"wanted": True}}) for call in task.golden]
    criteria = task.criteria.model_copy(update={"state": [], "communicate": [], "reward_basis": ["state"]})
    return task.model_copy(update={"golden": golden, "criteria": criteria})


@pytest.mark.parametrize("name", FREE)
def test_turns_are_the_same_bytes_under_nonsense(name: str, dataset: Dataset, tmp_path: Path) -> None:
    other = a_dataset(tmp_path / "outputs", [nonsense(task) for task in tasks()])
    one = held(dataset, offline_agent(name, dataset, 1), a_user(), trials=6)
    two = held(other, offline_agent(name, other, 1), a_user(), trials=6)
    assert [record.messages for record in one] == [record.messages for record in two]
    assert any(record.score != again.score for record, again in zip(one, two, strict=True)) or name != "greedy"


def test_nothing_passes_nothing_and_tells_nothing(dataset: Dataset) -> None:
    found = held(dataset, offline_agent("nothing", dataset, 1), a_user(), trials=4)
    assert not any(passed(record) for record in found)
    assert not any(called(record) for record in found)
    assert not any(figure.isdigit() for record in found for said in said_by(record, "assistant") for figure in said)


def test_greedy_finds_its_way_through_easy_tasks(dataset: Dataset) -> None:
    found = {record.task_id: record for record in held(dataset, offline_agent("greedy", dataset, 1), a_user())}
    assert passed(found["SmallClinic-move"])
    assert passed(found["SmallClinic-when"])
    assert passed(found["SmallClinic-price"])


def test_greedy_waits_for_a_yes_where_the_policy_asks_for_one(dataset: Dataset) -> None:
    refused = a_user(lambda said: "No, please don't.")
    found = {record.task_id: record for record in held(dataset, offline_agent("greedy", dataset, 1), refused)}
    assert "cancel_appointment" not in called(found["SmallClinic-cancel"])


@pytest.mark.parametrize("name", FREE)
@pytest.mark.parametrize(
    "words",
    ["Yes.", "No.", "I do not know.", "Please do something!", "Can you tell me when?", "?", "Can you cancel it?"],
)
def test_none_goes_on_for_ever(name: str, words: str, dataset: Dataset) -> None:
    """Whatever the user says, it stops calling; a deaf user is left by the limit of turns."""
    limits = Limits()
    for record in held(dataset, offline_agent(name, dataset, 1), OfflineBackend(lambda request: words)):
        assert record.stop_reason in ("max_turns", "transfer")
        assert int(str(record.metadata["tool_call_count"])) < limits.max_calls
        late = [message for message in record.messages[-16:] if message.tool_calls]
        assert not late or record.stop_reason == "transfer"


def test_random_calls_tools_and_ends(dataset: Dataset) -> None:
    found = held(dataset, offline_agent("random", dataset, 1), a_user(), trials=8)
    assert len({name for record in found for name in called(record)}) > 6
    assert sum(bool(passed(record)) for record in found) <= 2
