"""The scripted agents with the offline user, in tasks of all kinds, with and without signing in."""

from pathlib import Path
from random import Random

import pytest

from evaluator.kinds import KINDS
from rollout.offline.agents import OFFLINE_AGENTS, offline_agent
from rollout.offline.careless import mistake_of
from rollout.offline.script import transcript_of
from rollout.offline.user import offline_user
from skillweave.base.errors import ConfigError
from skillweave.llm.backends.backend import OfflineBackend, Reply, Request
from skillweave.schema.contract import DECLINE, TRANSFER
from skillweave.schema.task import Kind, Task
from skillweave.schema.trajectory import TrajectoryRecord
from skillweave.world.dataset import Dataset
from synth.tasks.noise import with_planted_faults
from tests.rollout.offline_agents.clinic import (
    WORLD,
    a_dataset,
    a_user,
    called,
    held,
    kinds,
    passed,
    said_by,
    tasks,
)
from tests.rollout.talks import calling

KIND: dict[str, Kind] = {task.id: task.kind for task in [*tasks(), *kinds()]}
Found = dict[str, list[TrajectoryRecord]]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return a_dataset(tmp_path_factory.mktemp("clinic"), [*tasks(), *kinds()])


@pytest.fixture(scope="module")
def found(dataset: Dataset) -> Found:
    """Trajectories by agent, of users that begin with their request and with a greeting."""
    return {
        name: held(dataset, offline_agent(name, dataset, 1), offline_user(1), personas=3) for name in OFFLINE_AGENTS
    }


def of(found: Found, agent: str, task: str) -> list[TrajectoryRecord]:
    return [record for record in found[agent] if record.task_id == f"SmallClinic-{task}"]


def share(records: list[TrajectoryRecord]) -> float:
    return sum(bool(passed(record)) for record in records) / len(records)


def test_the_oracle_passes_every_kind_without_a_failed_call(found: Found) -> None:
    assert [record.id for record in found["oracle"] if not passed(record)] == []
    assert all(record.metadata["tool_error_count"] == 0 for record in found["oracle"])
    assert {record.metadata["telling"] for record in found["oracle"]} == {"written", "greeting"}


def test_the_ladder_holds(found: Found) -> None:
    rates = {name: share(records) for name, records in found.items()}
    assert rates["nothing"] == 0
    assert rates["nothing"] <= rates["random"] <= rates["careless"] < rates["oracle"]
    assert rates["policy_blind"] < rates["oracle"]


def test_the_oracle_passes_noisy_tasks(tmp_path: Path) -> None:
    given = [with_planted_faults(WORLD, task, Random(seed)) for task in tasks() for seed in range(4)]
    once = list({task.id: task for task in given}.values())
    dataset = a_dataset(tmp_path / "outputs", once)
    records = held(dataset, offline_agent("oracle", dataset, 1), offline_user(1))
    assert [record.id for record in records if not passed(record)] == []
    assert any(record.metadata["tool_error_count"] for record in records)


def test_it_asks_for_what_was_not_said_and_waits_for_a_yes(found: Found) -> None:
    for record in of(found, "oracle", "cancel"):
        words = said_by(record, "assistant")
        assert any("your email; your date of birth" in text for text in words)
        cancelled = called(record).index("cancel_appointment")
        assert called(record)[:cancelled] == ["identify_patient", "list_appointments"]
        agreed = [turn.message for turn in record.user_turns or () if turn.agrees]
        write = next(
            at
            for at, message in enumerate(record.messages)
            for call in message.tool_calls or []
            if call.function.name == "cancel_appointment"
        )
        assert agreed == [write - 1]


def test_without_a_yes_nothing_is_written(dataset: Dataset) -> None:
    records = held(dataset, offline_agent("oracle", dataset, 1), a_user(agrees=False))
    assert not any("cancel_appointment" in called(record) for record in records)
    assert not any(passed(record) for record in records if record.task_id == "SmallClinic-cancel")


def test_it_records_what_it_declines_and_says_so(found: Found) -> None:
    for record in of(found, "oracle", "late"):
        assert called(record) == ["identify_patient", "list_appointments", DECLINE]
        assert "R10" in said_by(record, "assistant")[-1]
        assert record.stop_reason == "user_stop"


def test_it_asks_before_it_acts_and_hands_over_what_no_tool_does(found: Found) -> None:
    for record in found["oracle"]:
        if KIND[record.task_id] == "unavailable":
            assert (record.stop_reason, called(record)[-1]) == ("transfer", TRANSFER)
        if KIND[record.task_id] == "clarify":
            assert any(turn.tells for turn in (record.user_turns or ())[1:])


def test_who_heeds_no_policy_does_what_the_agent_alone_may_stop(found: Found) -> None:
    late, tried = of(found, "policy_blind", "late"), of(found, "policy_blind", "no_reminder")
    assert all("cancel_appointment" in called(record) for record in late)
    assert all("drop_reminder" in called(record) for record in tried)
    assert not any(passed(record) or DECLINE in called(record) for record in [*late, *tried])


def test_each_mistake_fails_its_task(dataset: Dataset) -> None:
    by_mistake: dict[str, list[bool]] = {}
    records = held(dataset, offline_agent("careless", dataset, 1), offline_user(1), trials=16)
    for record in records:
        mistake = mistake_of(1, record.id, KIND[record.task_id]) or "none"
        by_mistake.setdefault(mistake, []).append(bool(passed(record)))
    assert set(by_mistake) == {"none", *(mistake for kind in KINDS.values() for mistake in kind.mistakes)}
    assert all(by_mistake.pop("none"))
    extra = by_mistake.pop("extra_write")
    assert sum(extra) <= 0.7 * len(extra)
    wrong = by_mistake.pop("wrong_argument")
    assert sum(wrong) <= 0.2 * len(wrong)
    assert {mistake: sum(passes) for mistake, passes in by_mistake.items() if any(passes)} == {}


def test_mistakes_depend_on_the_seed_alone() -> None:
    keys = [f"SmallClinic-{at}#0" for at in range(60)]
    one, again, other = ([mistake_of(seed, key, "do") for key in keys] for seed in (1, 1, 2))
    assert one == again != other
    assert 0.4 < 1 - one.count(None) / len(one) < 0.8


def test_nothing_says_no_figure_and_calls_nothing(found: Found) -> None:
    assert not any(called(record) for record in found["nothing"])
    assert not any(
        sign.isdigit() for record in found["nothing"] for text in said_by(record, "assistant") for sign in text
    )


def test_random_calls_many_tools(found: Found) -> None:
    assert len({name for record in found["random"] for name in called(record)}) > 6


@pytest.mark.parametrize("name", ["random", "nothing"])
def test_agents_without_a_script_do_the_same_under_nonsense(name: str, dataset: Dataset, tmp_path: Path) -> None:
    def nonsense(task: Task) -> Task:
        return task.model_copy(update={"golden": [], "criteria": task.criteria.model_copy(update={"state": []})})

    odd = a_dataset(tmp_path / "outputs", [nonsense(task) for task in [*tasks(), *kinds()]])
    one, two = (held(given, offline_agent(name, given, 1), a_user()) for given in (dataset, odd))
    assert [record.messages for record in one] == [record.messages for record in two]


@pytest.mark.parametrize("name", OFFLINE_AGENTS)
@pytest.mark.parametrize("words", ["Yes.", "No.", "Please do something!"])
def test_none_calls_for_ever(name: str, words: str, dataset: Dataset) -> None:
    for record in held(dataset, offline_agent(name, dataset, 1), OfflineBackend(lambda request: words)):
        assert record.stop_reason in ("max_turns", "transfer")
        assert not any(message.tool_calls for message in record.messages[-16:]) or record.stop_reason == "transfer"


def test_an_unplanned_failure_is_said(tmp_path: Path) -> None:
    text = tasks()[0].model_dump_json().replace("ana@example.com", "no@example.com")
    dataset = a_dataset(tmp_path / "outputs", [Task.model_validate_json(text)])
    (record,) = held(dataset, offline_agent("oracle", dataset, 1), offline_user(1))
    assert "Email and date of birth must be those of one patient." in said_by(record, "assistant")[-1]
    assert record.stop_reason == "user_stop"
    assert not passed(record)


def test_a_reply_follows_from_the_request_alone(dataset: Dataset) -> None:
    sent: list[tuple[Request, Reply]] = []
    agent = offline_agent("oracle", dataset, 1)

    def listened(request: Request) -> Reply:
        answer: Reply = agent._answer(request)  # type: ignore[attr-defined]
        sent.append((request, answer))
        return answer

    held(dataset, OfflineBackend(listened), offline_user(1))
    fresh = offline_agent("oracle", dataset, 1)
    assert len(sent) > 20
    assert all(fresh._answer(request) == answer for request, answer in reversed(sent))  # type: ignore[attr-defined]


def test_a_right_write_and_then_a_wrong_one_fails(dataset: Dataset) -> None:
    agent = offline_agent("oracle", dataset, 1)

    def meddling(request: Request) -> Reply:
        answer: Reply = agent._answer(request)  # type: ignore[attr-defined]
        if [call.tool for call in transcript_of(request).made][-1:] == ["move_appointment"]:
            return calling(("drop_reminder", '{"appointment_id": "APT-0001"}'), ids=["wrong"])
        return answer

    (record,) = of({"meddling": held(dataset, OfflineBackend(meddling), offline_user(1))}, "meddling", "move")
    assert called(record)[-1] == "drop_reminder"
    assert not passed(record)


def test_an_unknown_agent_is_refused_by_name(dataset: Dataset) -> None:
    with pytest.raises(ConfigError, match=r"'orakel'.*policy_blind.*Did you mean 'oracle'"):
        offline_agent("orakel", dataset, 1)


def test_what_was_left_out_is_asked_for_even_where_the_tool_needs_no_yes(tmp_path: Path) -> None:
    why = next(task for task in kinds() if task.id == "SmallClinic-why")
    dataset = a_dataset(tmp_path / "outputs", [why])
    (blind,) = held(dataset, offline_agent("policy_blind", dataset, 1), offline_user(1))
    assert passed(blind)
    assert not any(turn.agrees for turn in blind.user_turns or ())
