"""What the user asks for later is done and declined once they have asked, not before."""

from typing import Any

import pytest

from evaluator.checks.policy import check_policy
from evaluator.kinds.conduct import _is_same
from evaluator.replay.execution import ExecutedCall
from skillweave.schema.contract import Call, CallResult
from skillweave.schema.criteria import GoldenCall
from skillweave.schema.task import Task
from skillweave.schema.trajectory import Message, UserTurn
from tests.evaluator.conversations import a_conversation, agent, user
from tests.evaluator.tasks import a_task
from tests.world.clinic import a_world

WORLD = a_world()
REQUEST, WISH = user("Please cancel my appointment."), user("And book me the slot with Dr. Silva, please.")
DENTIST = {"id": "slot.dentist_name", "text": "It is with Dr. Silva.", "value": "Dr. Silva", "tell": "later"}
ASKED = {"id": "me.phone", "text": "It is 555 0199.", "value": "555 0199", "tell": "asked"}
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
    later = {
        "when": "after_report",
        "says": WISH.content,
        "facts": [fact["id"] for fact in facts if fact["tell"] == "later"],
    }
    return a_task(
        messages=[REQUEST.model_dump()],
        scenario={"goal": "", "reason": "", "facts": [*facts], "later": later},
        criteria=criteria,
        golden=golden,
    )


def faults(task: Task, *messages: Message, said: int | None = None, recorded: bool = True) -> list[str]:
    """Faults of conduct; `said` is the message that the user recorded as the later wish. A yes agrees."""
    turns = [
        UserTurn(message=at, later=at == said, agrees=True if (one.content or "").startswith("Yes") else None)
        for at, one in enumerate(messages)
        if one.role == "user"
    ]
    found = check_policy(a_conversation(WORLD, task, *messages, turns=turns if recorded else None))
    assert found is not None
    return found.violations


def test_a_deed_comes_after_the_wish_for_it() -> None:
    task = a_later_task(DENTIST)
    assert faults(task, REQUEST, agent("Done."), WISH, BOOKS) == []
    assert faults(task, REQUEST, BOOKS, agent("Done."), WISH) == UNASKED
    assert faults(task, BOOKS, REQUEST, agent("Done."), WISH) == UNASKED


@pytest.mark.parametrize("facts", [(), (DENTIST,), (DENTIST | {"value": "appointment"},)])
def test_who_never_says_their_wish_has_not_asked_for_it(facts: tuple[dict[str, Any], ...]) -> None:
    task = a_later_task(*facts, ASKED)
    assert faults(task, REQUEST, agent("Shall I?"), user("Yes, please."), BOOKS) == UNASKED
    assert faults(task, REQUEST, agent("Your phone?"), user("It is 555 0199."), BOOKS, agent("Done.")) == UNASKED
    assert faults(task, REQUEST, BOOKS, agent("Done.")) == UNASKED


def test_other_words_of_the_user_may_be_the_wish() -> None:
    task, other = a_later_task(DENTIST), user("And book the other one as well.")
    for recorded in (True, False):
        assert faults(task, REQUEST, agent("Done."), other, BOOKS, recorded=recorded) == []
        assert faults(task, REQUEST, BOOKS, agent("Done."), other, recorded=recorded) == UNASKED
        assert faults(task, REQUEST, agent("Done."), WISH, BOOKS, recorded=recorded) == []
    assert faults(task, REQUEST, agent("Done."), other, BOOKS, said=2) == []
    everything = user("Cancel what I have, and then the other one, please.")
    assert faults(task, everything, BOOKS, recorded=False) == []
    assert faults(task, everything, BOOKS) == UNASKED


def test_who_says_yes_to_an_offer_has_asked_for_what_it_holds() -> None:
    task, yes = a_later_task(DENTIST), user("Yes, that would help.")
    assert faults(task, REQUEST, agent("There is a slot with Dr. Silva. Shall I book it?"), yes, BOOKS) == []
    assert faults(task, REQUEST, agent("Shall I go ahead?"), yes, BOOKS) == UNASKED


def test_a_common_word_is_no_wish_where_the_user_recorded_it() -> None:
    task = a_later_task(DENTIST | {"value": "work"})
    talk = [REQUEST, agent("Shall I?"), user("I hope that will work."), BOOKS, agent("Done."), WISH]
    assert faults(task, *talk, said=5) == UNASKED
    assert faults(task, *talk) == []


def test_a_moment_is_the_same_in_any_form() -> None:
    golden = GoldenCall(tool="move", arguments={"to": "2025-04-07 12:00:00", "on": "2025-04-07", "by": "a Van"})
    for given in ("2025-04-07 12:00", "2025-04-07T12:00:00Z", "2025-04-07 12:00:00+00:00"):
        assert _is_same(_call(to=given, on="2025-04-07", by="A van"), golden)
    assert not _is_same(_call(to="2025-04-07 12:30:00", on="2025-04-07", by="a Van"), golden)
    assert not _is_same(_call(to="2025-04-07 12:00:00", on="2025-04-08", by="a Van"), golden)


def _call(**arguments: str) -> ExecutedCall:
    made = CallResult(call=Call(tool="move", arguments={**arguments}), ok=True)
    return ExecutedCall(0, 0, 0, "move", {**arguments}, made, False, [])


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


def test_the_wish_word_for_word_is_the_wish_whatever_was_recorded() -> None:
    # It holds what else they tell when asked, so nothing but its words shows that it is no answer.
    told = {"id": "slot.dentist_name", "text": "It is with Dr. Silva.", "value": "Dr. Silva", "tell": "asked"}
    assert faults(a_later_task(told), REQUEST, agent("Done."), WISH, BOOKS) == []
    assert faults(a_later_task(told), REQUEST, agent("Done."), user("With Dr. Silva."), BOOKS) != []


def test_what_is_not_wanted_is_an_answer_and_no_wish() -> None:
    nothing = {"id": "book.reminder", "text": "I want no reminder.", "value": None, "tell": "asked"}
    task = a_later_task(DENTIST, nothing)
    assert faults(task, REQUEST, agent("Anything else for that?"), user("I want no reminder."), BOOKS) != []
    assert faults(task, REQUEST, agent("Anything else?"), user("A booking would be nice."), BOOKS) == []


def test_what_a_later_deed_demands_may_be_done_as_soon_as_they_agree() -> None:
    task = a_later_task(DENTIST)
    demanded = task.model_copy(update={"golden": [task.golden[0].model_copy(update={"demanded_by": "B1"})]})
    offered = (REQUEST, agent("Shall I book that now?"), user("Yes, please."), BOOKS)
    assert faults(task, *offered) != []
    assert faults(demanded, *offered) == []
