"""Requests in forms: later wishes, arguments after a refusal, a decline beside deeds, and what has to be computed."""

from random import Random

import pytest

from rollout.offline.agents import offline_agent
from rollout.offline.careless import mistake_of
from rollout.offline.user import WAIT, offline_user, reply, said
from rollout.user import UserAnswer, role_of
from skillweave.llm.backends.backend import OfflineBackend
from skillweave.schema.contract import DECLINE
from skillweave.schema.task import Task
from skillweave.schema.trajectory import TrajectoryRecord
from skillweave.user_prompt import STEADY, user_prompt
from skillweave.world.dataset import Dataset
from tests.rollout.offline_agents.clinic import a_dataset, called, held, passed, said_by, tasks
from tests.rollout.offline_agents.forms import ARGUMENTS, forms

FORMS = forms()
REPORT = said("report", Random(1), deeds="drop the reminder")
REFUSAL = said("decline", Random(1), rule="R10", says="It is too late.")
PROPOSAL = said("propose", Random(1), deed="cancel the appointment", pairs="")


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return a_dataset(tmp_path_factory.mktemp("forms"), [*FORMS.values()])


@pytest.fixture(scope="module")
def by_oracle(dataset: Dataset) -> list[TrajectoryRecord]:
    """Conversations with users who begin with their request, and with a greeting."""
    return held(dataset, offline_agent("oracle", dataset, 1), offline_user(1), personas=2)


def of(records: list[TrajectoryRecord], name: str) -> list[TrajectoryRecord]:
    return [record for record in records if record.task_id == FORMS[name].id]


def says(task: Task) -> str:
    assert task.scenario.later is not None
    return task.scenario.later.says


def answer(name: str, *heard: str, trial: int = 0) -> UserAnswer:
    return reply(role_of(FORMS[name], "Small Clinic", trial, Random(1)), heard, Random(1))


def test_the_oracle_passes_every_form(by_oracle: list[TrajectoryRecord]) -> None:
    assert [record.id for record in by_oracle if not passed(record)] == []
    assert {record.stop_reason for record in by_oracle} == {"user_stop"}
    assert {record.metadata["telling"] for record in by_oracle} == {"written", "greeting"}


def test_a_later_wish_is_said_once_and_answered(by_oracle: list[TrajectoryRecord]) -> None:
    for name, task in FORMS.items():
        for record in of(by_oracle, name) if task.scenario.later else []:
            heard = [says(task) in text for text in said_by(record, "user")]
            assert sum(heard) == 1
            assert not heard[-1]


def test_what_was_asked_first_is_settled_before_the_rest(by_oracle: list[TrajectoryRecord]) -> None:
    for record in of(by_oracle, "errands"):
        told = next(at for at, one in enumerate(record.messages) if says(FORMS["errands"]) in (one.content or ""))
        before = record.messages[:told]
        assert [call.function.name for one in before for call in one.tool_calls or []][-1] == "drop_reminder"
        assert "drop the reminder" in (before[-1].content or "")
        assert "book the appointment" in said_by(record, "assistant")[-1]


def test_a_change_of_mind_after_the_report_waits_for_all_that_was_asked_first(
    by_oracle: list[TrajectoryRecord],
) -> None:
    for record in of(by_oracle, "again"):
        told = next(at for at, one in enumerate(record.messages) if says(FORMS["again"]) in (one.content or ""))
        before = [call.function.name for one in record.messages[:told] for call in one.tool_calls or []]
        assert (before.count("move_appointment"), called(record).count("move_appointment")) == (1, 2)


def test_a_change_of_mind_comes_with_the_second_message(by_oracle: list[TrajectoryRecord]) -> None:
    for record in [*of(by_oracle, "mind"), *of(by_oracle, "at_once")]:
        own = said_by(record, "user")[record.metadata["telling"] == "greeting" :]
        assert says(FORMS[record.task_id.partition("-")[2]]) in own[1]
        assert "cancel_appointment" not in called(record)


def test_a_decline_beside_a_deed_is_recorded_once_and_said_after_each_argument(
    by_oracle: list[TrajectoryRecord],
) -> None:
    for name, tools in (("fallback", ["drop_reminder", DECLINE]), ("pressure", [DECLINE])):
        for record in of(by_oracle, name):
            assert called(record) == ["list_appointments", *tools]
            assert [text for text in said_by(record, "user") if text in ARGUMENTS] == ARGUMENTS
            refusals = [text for text in said_by(record, "assistant") if "R10" in text]
            assert len(refusals) == 1 + len(ARGUMENTS)
            assert all(("drop the reminder" in text) == (name == "fallback") for text in refusals)


def test_who_heeds_no_policy_gives_in_and_fails(dataset: Dataset) -> None:
    records = held(dataset, offline_agent("policy_blind", dataset, 1), offline_user(1))
    for name in ("fallback", "first_no", "pressure"):
        (record,) = of(records, name)
        assert "cancel_appointment" in called(record)
        assert not passed(record)


def test_mistakes_fail_here_too(dataset: Dataset) -> None:
    passes: dict[str, list[str]] = {}
    for record in held(dataset, offline_agent("careless", dataset, 1), offline_user(1), trials=16):
        task = dataset.tasks[record.task_id]
        mistake = mistake_of(1, record.id, task.kind, declines=task.criteria.declined is not None) or "none"
        passes.setdefault(mistake, [])
        # Of `again` the first move does not matter in the end.
        if bool(passed(record)) != (mistake == "none") and task.id != FORMS["again"].id:
            passes[mistake].append(record.id)
    assert {"nothing_recorded", "wrong_rule", "skipped_call", "gives_up", "invented_tool"} <= passes.keys()
    # A further write may fail, and a patient with one appointment has none that could be mistaken for it.
    assert {name for name, ids in passes.items() if ids} <= {"extra_write", "wrong_argument"}


@pytest.mark.parametrize("words", ["Yes.", "No."])
def test_an_agent_waits_for_a_later_wish_only_so_long(words: str, dataset: Dataset) -> None:
    for record in held(dataset, offline_agent("oracle", dataset, 1), OfflineBackend(lambda request: words)):
        assert record.stop_reason == "max_turns"
        assert not any(message.tool_calls for message in record.messages[-16:])


@pytest.mark.parametrize(
    ("heard", "agrees"),
    [("Hm?", None), (said("greet", Random(1)), None), (REPORT, None), (REFUSAL, None), (PROPOSAL, False)],
)
def test_the_second_message_says_the_other_mind_whatever_was_heard(heard: str, agrees: bool | None) -> None:
    given = answer("at_once", heard)
    assert says(FORMS["at_once"]) in given.text
    assert (given.agrees, given.done) == (agrees, False)
    assert given.text.startswith(WAIT) == (agrees is False)
    assert says(FORMS["at_once"]) not in answer("at_once", heard, PROPOSAL).text


def test_whoever_greets_says_it_after_the_request() -> None:
    greeting = said("greet", Random(1))
    assert answer("at_once", greeting, trial=1).text == FORMS["at_once"].messages[0].content
    assert says(FORMS["at_once"]) in answer("at_once", greeting, "Hm?", trial=1).text


def test_after_a_report_it_is_said_instead_of_thanks_and_then_no_more() -> None:
    wish = says(FORMS["errands"])
    assert wish not in answer("errands", PROPOSAL).text
    first, second = answer("errands", PROPOSAL, REPORT), answer("errands", PROPOSAL, REPORT, REPORT)
    assert (first.text, first.done) == (wish, False)
    assert (wish in second.text, second.done) == (False, True)


def test_a_refusal_is_accepted_when_the_arguments_are_used_up() -> None:
    answers = [answer("pressure", *[REFUSAL] * count) for count in (1, 2, 3)]
    assert [given.text for given in answers[:2]] == ARGUMENTS
    assert [given.done for given in answers] == [False, False, True]


def test_a_models_prompt_tells_of_later_wishes_and_arguments() -> None:
    prompts = {}
    for name in ("errands", "mind", "pressure"):
        task = FORMS[name]
        prompts[name] = user_prompt("Small Clinic", task.persona, task.scenario, task.now)
        assert (STEADY in prompts[name]) == (task.scenario.later is None)
    assert f'"{says(FORMS["errands"])}"' in prompts["errands"]
    assert "(with your later wish) It is the slot with Dr Iyer." in prompts["errands"]
    assert "reported or answered" in prompts["errands"]
    assert "your next message after your request" in prompts["mind"]
    assert all(f'"{text}"' in prompts["pressure"] for text in ARGUMENTS)


def test_a_plain_tasks_prompt_tells_of_neither() -> None:
    prompt = user_prompt("Small Clinic", tasks()[0].persona, tasks()[0].scenario, tasks()[0].now)
    assert STEADY in prompt
    assert not [word for word in ("later wish", "something else.", "refusal") if word in prompt]
