"""What a task's words may not do, told from the task alone."""

from typing import Any

import pytest

from skillweave.schema.task import Task
from synth.verification.task import wording_faults
from tests.evaluator.tasks import a_task

WINDOW = {"id": "window.starts_at", "text": "It is the window on April 1 at 09:05.", "value": "2026-04-01 09:05:00"}
REFILLS = {"id": "renew.refills", "text": "Refills: 3.", "value": 3}
PRICE = {"id": "bill.amount_cents", "text": "Amount: 1,425.00.", "value": 142500}
FACTOR = {"id": "fare.factor", "text": "It has a factor of 1.", "value": 1.0}
PHONE = {"id": "me.phone", "text": "My phone is +44 7700 900123.", "value": "+44 7700 900123"}
KIND = {"id": "bag.kind", "text": "It is for my doctor.", "value": "general_practitioner"}


def told(opening: str, *facts: dict[str, Any], first: bool = False, ask: tuple[str, ...] = ()) -> Task:
    tell = "first" if first else "asked"
    return a_task(
        messages=[{"role": "user", "content": opening}],
        scenario={"goal": "You want it.", "reason": "", "facts": [{"tell": tell, **fact} for fact in facts]},
        criteria={"state": [], "must_ask": [{"facts": [name], "tool": "x"} for name in ask], "reward_basis": ["state"]},
    )


def test_facts_say_their_values_in_many_forms() -> None:
    assert list(wording_faults(told("I want it.", WINDOW, REFILLS, PRICE, FACTOR, PHONE, KIND))) == []


@pytest.mark.parametrize(
    "fact",
    [
        {**WINDOW, "value": "2026-04-02 09:05:00"},
        {**WINDOW, "value": "2026-04-01 09:35:00"},
        {**REFILLS, "value": 4},
        {**PRICE, "value": 142600},
        {**PHONE, "value": "+44 7700 900124"},
    ],
    ids=["day", "time", "count", "price", "phone"],
)
def test_a_fact_that_says_another_value_is_found(fact: dict[str, Any]) -> None:
    assert [fault.partition(": ")[0] for fault in wording_faults(told("I want it.", fact))] == [
        f"the fact {fact['id']!r} does not say its value {fact['value']!r}"
    ]


def test_what_is_told_at_once_stands_in_the_first_message() -> None:
    assert list(wording_faults(told("I want it on April 1 at 09:05.", WINDOW, first=True))) == []
    assert [fault[:49] for fault in wording_faults(told("I want it in April.", WINDOW, first=True))] == [
        "the first message does not say the fact 'window.s"
    ]


@pytest.mark.parametrize(("opening", "is_said"), [("I want 3 refills.", True), ("I want it on April 3.", False)])
def test_what_has_to_be_asked_for_is_unsaid(opening: str, is_said: bool) -> None:
    found = list(wording_faults(told(opening, REFILLS, ask=("renew.refills",))))
    assert found == (["the fact 'renew.refills' has to be asked for, and is said at once"] if is_said else [])


def test_the_same_time_on_another_day_says_nothing() -> None:
    window = {**WINDOW, "value": "2025-04-01 09:05:00"}
    asked = told("I want my visit on March 3 at 09:05 moved.", window, ask=("window.starts_at",))
    assert list(wording_faults(asked)) == []
    said = told("I want my visit moved to April 1 at 09:05.", window, ask=("window.starts_at",))
    assert list(wording_faults(said)) == ["the fact 'window.starts_at' has to be asked for, and is said at once"]


@pytest.mark.parametrize("messages", [[], [{"role": "user", "content": " "}], [{"role": "assistant", "content": "x"}]])
def test_a_task_begins_with_one_message_of_the_user(messages: list[dict[str, Any]]) -> None:
    assert list(wording_faults(a_task(messages=messages))) == ["its messages are not one, of the user"]


def later(says: str, *named: str) -> Task:
    task = told("I want it.", {**REFILLS, "tell": "later"})
    wish = {"when": "after_report", "says": says, "facts": [*named]}
    scenario = {**task.scenario.model_dump(), "later": wish}
    return a_task(messages=task.messages, scenario=scenario, criteria={"state": [], "reward_basis": ["state"]})


def test_a_later_wish_says_and_names_what_is_marked_so() -> None:
    assert list(wording_faults(later("And 3 refills, please.", "renew.refills"))) == []
    assert list(wording_faults(later("And some refills, please.", "renew.refills"))) == [
        "its later wish does not say the fact 'renew.refills': 'Refills: 3.'"
    ]
    assert list(wording_faults(later("And 3 refills, please."))) == [
        "its later wish names other facts than those that are marked `later`"
    ]
