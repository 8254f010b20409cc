"""The offline user: what it answers to the phrases of the scripted agents, and to anything else."""

from pathlib import Path
from random import Random

import pytest

from rollout.offline.agents import offline_agent
from rollout.offline.user import heard_by, offline_user, reply, said
from rollout.user import AGAIN, UserAnswer, UserRole, role_of
from skillweave.base.errors import AuthorError
from skillweave.llm.backends.backend import Request
from skillweave.schema.task import Task
from skillweave.schema.trajectory import Message
from tests.rollout.offline_agents.clinic import a_dataset, held, kinds, tasks

TASK = tasks()[0]
ROLE = role_of(TASK, "Small Clinic", 0, Random(1))


def answer(*heard: str, role: UserRole = ROLE) -> UserAnswer:
    return reply(role, heard, Random(1))


def proposal(**pairs: str) -> str:
    listed = "; ".join(f"{label.replace('_', ' ')} (appointment): {value}" for label, value in pairs.items())
    return said("propose", Random(1), deed="cancel the appointment", pairs=listed)


def test_it_tells_what_it_is_asked_for_by_name_and_nothing_else() -> None:
    told = answer(said("ask", Random(1), labels="your email; reason (cancel appointment)"))
    assert told.text == "Reason: illness. My email is ana@example.com."
    unknown = answer(said("ask", Random(1), labels="your shoe size"))
    assert (unknown.agrees, unknown.done) == (None, False)
    assert "ana@example.com" not in unknown.text


@pytest.mark.parametrize(
    ("pairs", "agrees"),
    [
        ({}, True),
        ({"dentist_name": "Dr Iyer"}, True),
        ({"dentist_name": "dr iyer"}, True),
        ({"room": "12"}, True),
        ({"dentist_name": "Dr Novak"}, False),
        ({"room": "12", "dentist_name": "Dr Novak"}, False),
    ],
)
def test_it_agrees_unless_a_pair_contradicts_a_fact(pairs: dict[str, str], agrees: bool) -> None:
    answered = answer(proposal(**pairs))
    assert answered.agrees is agrees
    assert ("Dr Iyer" in answered.text) is not agrees


@pytest.mark.parametrize(
    "text",
    [
        said("report", Random(1), deeds="cancel the appointment"),
        said("fact", Random(1), noun="fee", form="30.00"),
        said("decline", Random(1), rule="R1", says="No."),
        said("give_up", Random(1), complaint=""),
        said("part", Random(1)),
    ],
)
def test_it_leaves_after_a_report_or_a_refusal(text: str) -> None:
    assert answer(text).done


def test_it_puts_its_request_where_it_is_asked_what_it_wants() -> None:
    greeting = role_of(TASK, "Small Clinic", 1, Random(1))
    assert answer(said("greet", Random(1)), role=greeting).text == TASK.messages[0].content


def test_it_leaves_when_its_patience_is_out() -> None:
    heard = ["Would you be so kind as to confirm?"] * ROLE.persona.patience
    assert [answer(*heard[: at + 1]).done for at in range(len(heard))] == [False] * (len(heard) - 1) + [True]


def test_answers_that_were_sent_back_are_not_heard() -> None:
    again = Message(role="user", content=AGAIN.format(faults="its text is missing or empty"))
    assert heard_by([Message(role="user", content="Hello."), again]) == ["Hello."]


def test_its_turns_are_the_same_bytes_under_nonsense(tmp_path: Path) -> None:
    given = [*tasks(), *kinds()]

    def nonsense(task: Task) -> Task:
        golden = [call.model_copy(update={"tool": "set_reminders", "arguments": {}}) for call in task.golden]
        criteria = task.criteria.model_copy(update={"state": [], "communicate": [], "declined": None})
        return task.model_copy(update={"golden": golden, "criteria": criteria})

    sound, odd = a_dataset(tmp_path / "a", given), a_dataset(tmp_path / "b", [nonsense(task) for task in given])
    # The same agents, which know the sound tasks, speak with both.
    one, two = (
        held(dataset, offline_agent("careless", sound, 1), offline_user(1), trials=3) for dataset in (sound, odd)
    )
    assert [(record.messages, record.user_turns) for record in one] == [
        (record.messages, record.user_turns) for record in two
    ]


def test_it_plays_nothing_but_roles() -> None:
    with pytest.raises(AuthorError, match="plays roles"):
        offline_user()._answer(Request(messages=()))  # type: ignore[attr-defined]
