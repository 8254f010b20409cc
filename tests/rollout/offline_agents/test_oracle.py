from pathlib import Path

import pytest

from rollout.offline.agents import offline_agent
from rollout.offline.agents.transcript import transcript_of
from rollout.offline.user import offline_user
from rollout.user.telling.telling import TELLINGS
from skillweave.dataset import Dataset
from skillweave.errors import ConfigError
from skillweave.llm.backends.offline import OfflineBackend
from skillweave.llm.request import Reply, Request
from skillweave.schema.message import Message
from skillweave.schema.task import Task
from tests.rollout.offline_agents.clinic import STOP, a_dataset, a_user, called, held, made, passed, said_by, tasks
from tests.rollout.talks import calling


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return a_dataset(tmp_path_factory.mktemp("clinic"))


def test_the_oracle_passes_every_task_without_a_failed_call(dataset: Dataset) -> None:
    found = held(dataset, offline_agent("oracle", dataset, 1), a_user())
    assert [(record.task_id, passed(record)) for record in found] == sorted((task.id, True) for task in tasks())
    assert all(record.metadata["tool_error_count"] == 0 for record in found)
    assert {record.stop_reason for record in found} == {"user_stop"}


def test_it_asks_for_what_was_not_said_and_for_nothing_else(dataset: Dataset) -> None:
    found = {record.task_id: record for record in held(dataset, offline_agent("oracle", dataset, 1), a_user())}
    first = said_by(found["SmallClinic-cancel"], "assistant")[0]
    assert "your email" in first
    assert "your date of birth" in first
    assert "dentist" not in first
    assert len(said_by(found["SmallClinic-price"], "assistant")) <= 2


def test_nothing_is_written_before_a_yes(dataset: Dataset) -> None:
    refused = a_user(lambda said: "No, please don't.")
    found = {record.task_id: record for record in held(dataset, offline_agent("oracle", dataset, 1), refused)}
    assert "cancel_appointment" not in called(found["SmallClinic-cancel"])
    assert "move_appointment" in called(found["SmallClinic-move"])
    assert any("did not cancel your appointment" in said for said in said_by(found["SmallClinic-cancel"], "assistant"))


def test_a_no_is_answered_by_putting_it_again(dataset: Dataset) -> None:
    answers = iter(["No, wait, I am not sure.", "Yes, go ahead."] * 9)
    found = {
        record.task_id: record
        for record in held(dataset, offline_agent("oracle", dataset, 1), a_user(lambda said: next(answers)))
    }
    assert passed(found["SmallClinic-cancel"])


def test_every_task_passes_in_all_five_tellings(dataset: Dataset) -> None:
    found = held(dataset, offline_agent("oracle", dataset, 1), offline_user(1), personas=5)
    assert [record.id for record in found if not passed(record)] == []
    assert {record.metadata["telling"] for record in found} == set(TELLINGS)


def test_what_was_left_is_put_again_where_the_user_still_wants_it(dataset: Dataset) -> None:
    answers = iter(["No.", "No!", "No, no.", "Yes, please."])
    base = a_user(lambda said: next(answers, "Yes."))
    brought: list[str] = []

    def user(request: Request) -> str:
        said = request.messages[-1].content or ""
        if "did not cancel" in said and not brought:
            brought.append(said)
            return "But I do want to cancel my appointment."
        return base._answer(request)  # type: ignore[attr-defined, no-any-return]

    found = {
        record.task_id: record
        for record in held(dataset, offline_agent("oracle", dataset, 1), OfflineBackend(user))
        if record.task_id == "SmallClinic-cancel"
    }
    assert called(found["SmallClinic-cancel"]).count("cancel_appointment") == 1
    assert passed(found["SmallClinic-cancel"])


def test_an_open_greeting_is_answered_by_asking_what_is_wanted(tmp_path: Path) -> None:
    cancel = tasks()[0]
    greeting = cancel.model_copy(update={"messages": [Message(role="user", content="Good morning!")]})
    dataset = a_dataset(tmp_path / "outputs", [greeting])
    wishes = iter(["Can you cancel my appointment with Dr Iyer? How much does it cost?"])

    def user(request: Request) -> str:
        said = request.messages[-1].content or ""
        if "yourself" not in said and "help" in said.lower() and len(request.messages) == 3:
            return next(wishes)
        return a_user()._answer(request)  # type: ignore[attr-defined, no-any-return]

    (found,) = held(dataset, offline_agent("oracle", dataset, 1), OfflineBackend(user))
    assert called(found)[0] == "identify_patient"
    assert next(wishes, None) is None
    assert passed(found)


def test_a_second_request_is_left_until_it_is_made(tmp_path: Path) -> None:
    both = tasks()[2]
    opening = Message(role="user", content="Good morning. I want to drop the reminder of my appointment.")
    dataset = a_dataset(tmp_path / "outputs", [both.model_copy(update={"messages": [opening]})])
    brought: list[str] = []

    def user(request: Request) -> str:
        said = request.messages[-1].content or ""
        if "anything else" in said.lower() and not brought:
            brought.append(said)
            return "Then I'd like to book the slot on 22 January at 14:30 with Dr Iyer."
        return a_user()._answer(request)  # type: ignore[attr-defined, no-any-return]

    (found,) = held(dataset, offline_agent("oracle", dataset, 1), OfflineBackend(user))
    roles = [message.role for message in found.messages]
    second = [at for at, role in enumerate(roles) if role == "user"][1]
    assert "find_slots" not in [
        call.function.name for message in found.messages[:second] for call in message.tool_calls or []
    ]
    assert passed(found)


def test_an_unplanned_failure_is_said_and_handed_over(tmp_path: Path) -> None:
    cancel = tasks()[0]
    broken = Task.model_validate_json(cancel.model_dump_json().replace("ana@example.com", "no@example.com"))
    dataset = a_dataset(tmp_path / "outputs", [broken])
    waits = OfflineBackend(lambda request: "I am still here. My email is no@example.com, born 1 March 1981.")
    (found,) = held(dataset, offline_agent("oracle", dataset, 1), waits)
    assert any("Email and date of birth must be those of one patient." in said for said in said_by(found, "assistant"))
    assert found.stop_reason == "transfer"
    assert not passed(found)


def test_a_reply_follows_from_the_request_alone(dataset: Dataset) -> None:
    sent: list[tuple[Request, Reply]] = []
    agent = offline_agent("oracle", dataset, 1)

    def listened(request: Request) -> Reply:
        reply: Reply = agent._answer(request)  # type: ignore[attr-defined]
        sent.append((request, reply))
        return reply

    held(dataset, OfflineBackend(listened), a_user())
    fresh = offline_agent("oracle", dataset, 1)
    assert len(sent) > 10
    assert all(fresh._answer(request) == reply for request, reply in reversed(sent))  # type: ignore[attr-defined]


def test_reports_are_not_the_same_words_every_time(dataset: Dataset) -> None:
    found = held(dataset, offline_agent("oracle", dataset, 1), a_user(), trials=20)
    last = [said_by(record, "assistant")[-1] for record in found if record.task_id == "SmallClinic-move"]
    assert len(set(last)) > 8


def test_a_right_write_and_then_a_wrong_one_before_the_report_fails(dataset: Dataset) -> None:
    """The user leaves at the report, not at the goal."""
    agent = offline_agent("oracle", dataset, 1)
    spoilt: list[str] = []

    def meddling(request: Request) -> Reply:
        reply: Reply = agent._answer(request)  # type: ignore[attr-defined]
        made = [call.tool for call in transcript_of(request).made]
        if made[-1:] == ["move_appointment"]:
            spoilt.append(request.key)
            return calling(("drop_reminder", '{"appointment_id": "APT-0001"}'), ids=["wrong"])
        return reply

    found = {record.task_id: record for record in held(dataset, OfflineBackend(meddling), a_user())}
    record = found["SmallClinic-move"]
    assert spoilt == ["SmallClinic-move#0"]
    assert STOP in said_by(record, "user")[-1]
    assert not passed(record)


def test_an_unknown_agent_is_refused_by_name(dataset: Dataset) -> None:
    with pytest.raises(ConfigError, match=r"'orakel'.*policy_blind.*Did you mean 'oracle'"):
        offline_agent("orakel", dataset, 1)


def test_a_refusal_names_the_rule_and_the_blind_do_it_all_the_same(tmp_path: Path) -> None:
    late = made(
        "late",
        "You want to cancel your appointment with Dr Iyer because of illness.",
        [{"tool": "list_appointments", "arguments": {}}],
        [],
        "I'd like to cancel my appointment with Dr Iyer because of illness.",
        kind="refuse",
        criteria={"must_not": [{"rule": "R10", "table": "appointment", "why": "too late"}]},
    )
    dataset = a_dataset(tmp_path / "outputs", [late])
    (declined,) = held(dataset, offline_agent("oracle", dataset, 1), a_user())
    assert passed(declined)
    assert called(declined) == ["list_appointments"]
    (blind,) = held(dataset, offline_agent("policy_blind", dataset, 1), a_user())
    assert "cancel_appointment" in called(blind)
    assert not passed(blind)
    assert not any("R10" in said for said in said_by(blind, "assistant"))
