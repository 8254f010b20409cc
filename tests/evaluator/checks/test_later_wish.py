"""What the user asks for later is done and declined once they have asked, not before."""

from typing import Any

import pytest

from evaluator.checks.policy import check_policy
from skillweave.schema.task import Task
from skillweave.schema.trajectory import Message, UserTurn
from tests.evaluator.conversations import a_conversation, agent, user
from tests.evaluator.tasks import a_task
from tests.world.clinic import a_world

WORLD = a_world()
REQUEST, WISH = user("Please cancel my appointment."), user("And book me the slot with Dr. Silva, please.")
DENTIST = {"id": "slot.dentist_name", "text": "It is with Dr. Silva.", "value": "Dr. Silva", "tell": "later"}
BOOK = ("book_appointment", {"slot_id": "SLO-0004"})
BOOKS, NO = agent(None, BOOK), agent("I am sorry, no.", ("decline_request", {"rule": "R10"}))
UNASKED = ["call 0 (book_appointment) before the user asked for it"]


def a_later_task(*facts: dict[str, Any], declined: bool = False) -> Task:
    with WORLD.session(a_task()) as session:
        session.call(*BOOK)
        state = [change.model_dump() for change in session.canonical()]
    criteria: dict[str, Any] = {"state": state, "reward_basis": ["state", "policy"]}
    golden: list[dict[str, Any]] = [{"tool": BOOK[0], "arguments": BOOK[1], "asked_later": True}]
    if declined:
        criteria |= {"state": [], "declined": {"rule": "R10"}, "asked": golden[0]}
        golden = []
    later = {"when": "after_report", "says": WISH.content, "facts": [fact["id"] for fact in facts]}
    return a_task(
        messages=[REQUEST.model_dump()],
        scenario={"goal": "", "reason": "", "facts": [*facts], "later": later},
        criteria=criteria,
        golden=golden,
    )


def faults(task: Task, *messages: Message, said: int | None = None, recorded: bool = True) -> list[str]:
    """Faults of conduct; `said` is the message that the user recorded as the later wish."""
    turns = [UserTurn(message=at, later=at == said) for at, one in enumerate(messages) if one.role == "user"]
    found = check_policy(a_conversation(WORLD, task, *messages, turns=turns if recorded else None))
    assert found is not None
    return found.violations


def test_a_deed_comes_after_the_wish_for_it() -> None:
    task = a_later_task(DENTIST)
    assert faults(task, REQUEST, agent("Done."), WISH, BOOKS) == []
    assert faults(task, REQUEST, BOOKS, agent("Done."), WISH) == UNASKED
    assert faults(task, BOOKS, REQUEST, agent("Done."), WISH) == UNASKED


def test_who_never_says_their_wish_has_not_asked_for_it() -> None:
    talk = [REQUEST, agent("Shall I?"), user("Yes, please."), BOOKS]
    assert faults(a_later_task(DENTIST), *talk) == UNASKED
    assert faults(a_later_task(DENTIST), REQUEST, BOOKS, agent("Done.")) == UNASKED


def test_the_users_record_and_their_words_both_show_the_wish() -> None:
    vague = user("And book the other one as well.")
    assert faults(a_later_task(DENTIST), REQUEST, agent("Done."), vague, BOOKS, said=2) == []
    assert faults(a_later_task(DENTIST), REQUEST, agent("Done."), vague, BOOKS) == UNASKED
    assert faults(a_later_task(DENTIST), REQUEST, agent("Done."), WISH, BOOKS, recorded=False) == []


@pytest.mark.parametrize("facts", [(), (DENTIST | {"value": "appointment"},)])
def test_a_wish_that_could_be_missed_counts_as_said_in_the_second_message(facts: tuple[dict[str, Any], ...]) -> None:
    task = a_later_task(*facts)
    assert faults(task, REQUEST, agent("Done."), user("Then the other."), BOOKS) == []
    assert faults(task, REQUEST, BOOKS, agent("Done."), user("Then the other.")) == UNASKED


def test_of_words_without_a_record_the_second_message_may_be_the_wish() -> None:
    talk = [REQUEST, agent("Done."), user("The other one, too."), BOOKS]
    assert faults(a_later_task(DENTIST), *talk, recorded=False) == []
    assert faults(a_later_task(DENTIST), REQUEST, BOOKS, agent("Done."), recorded=False) == UNASKED


def test_another_call_of_the_same_tool_is_none_that_was_asked_for_later() -> None:
    other = agent(None, ("book_appointment", {"slot_id": "SLO-0003"}))
    assert faults(a_later_task(DENTIST), REQUEST, other, agent("Done."), WISH) == []


def test_a_request_is_declined_once_it_is_made() -> None:
    task = a_later_task(DENTIST, declined=True)
    assert faults(task, REQUEST, agent("Done."), WISH, NO) == []
    early = ["recorded R10 in call 0 (decline_request), before the request was heard"]
    assert faults(task, REQUEST, NO, WISH, agent("No.")) == early
    at_once = task.criteria.model_copy(update={"asked": None})
    assert faults(task.model_copy(update={"criteria": at_once}), REQUEST, NO, WISH, agent("No.")) == []
