"""Conversations of a scripted agent with the offline user."""

from collections.abc import Sequence
from random import Random
from typing import Any

from rollout.offline.user.user import reply
from rollout.user.role import Role
from rollout.user.telling.telling import role_of
from skillweave.schema.message import Message
from skillweave.schema.task import Task
from tests.evaluator.tasks import a_task

STOP = "###STOP###"
MOVE_FACTS = [
    ("appointment.starts_at", "It is my appointment on 21 January at 12:30.", "2025-01-21 12:30:00", "first"),
    ("slot.starts_at", "It is the slot on 22 January at 14:30.", "2025-01-22 14:30:00", "first"),
    ("invoice.treatment_name", "It is my cleaning invoice.", "cleaning", "first"),
    ("pay_invoice.method", "Method: by card.", "card", "first"),
    ("me.email", "My email is ana@example.com.", "ana@example.com", "asked"),
    ("me.date_of_birth", "My date of birth is 3 May 1981.", "1981-05-03", "asked"),
]


def a_story(goal: str, opening: str, facts: Sequence[tuple[str, str, Any, str]] = (), **changes: Any) -> Task:
    """A task with this scenario; the persona is changed by keywords."""
    persona = {"name": "Ana Lopez", "age": 43, "style": "friendly", "patience": 4, "traits": [], **changes}
    told = [dict(zip(("id", "text", "value", "tell"), fact, strict=True)) for fact in facts]
    return a_task(
        login="conversation",
        persona=persona,
        messages=[{"role": "user", "content": opening}],
        scenario={"goal": goal, "reason": "My plans have changed.", "facts": told},
    )


def a_move(**persona: Any) -> Task:
    """Move an appointment, pay an invoice, and hear what was taken."""
    return a_story(
        "You want to move your appointment on 21 January at 12:30 to the slot on 22 January at 14:30. "
        "After that you want to pay your cleaning invoice by card. You want to know how much was taken.",
        "Hi, I'd like to move my appointment on 21 January at 12:30 to the slot on 22 January at 14:30. "
        "Then I want to pay my cleaning invoice by card. And please tell me how much was taken.",
        MOVE_FACTS,
        **persona,
    )


def a_question(question: str = "how much I owe you", **persona: Any) -> Task:
    """Find something out."""
    goal = question.replace("my ", "your ").replace("I ", "you ")
    return a_story(f"You want to know {goal}.", f"Hello. I'd like to know {question}.", MOVE_FACTS[-2:], **persona)


def role(task: Task, trial: int = 0, seed: str = "") -> Role:
    """The role of a trial."""
    return role_of(task, "the clinic", trial, Random(f"{seed}/{trial}"))


def talk(task: Task | Role, agent: Sequence[str], trial: int = 0, key: str = "key") -> list[str]:
    """What the user says to each of the agent's messages, until it leaves."""
    played = role(task, trial) if isinstance(task, Task) else task
    messages = [
        Message(role="system", content=played.prompt),
        Message(role="assistant", content=played.opening),
    ]
    said: list[str] = []
    for words in agent:
        messages.append(Message(role="user", content=words))
        said.append(reply(played, messages, key))
        messages.append(Message(role="assistant", content=said[-1]))
        if STOP in said[-1]:
            break
    return said


def answer(task: Task | Role, words: str, trial: int = 0) -> str:
    """What the user says to the agent's first message."""
    return talk(task, [words], trial)[0]
