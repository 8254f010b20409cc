"""Tasks of the small clinic whose request has a form: later wishes, fallbacks, arguments, sums."""

from functools import cache
from typing import Any

from skillweave.schema.contract import DECLINE
from skillweave.schema.task import Task
from tests.rollout.offline_agents.clinic import (
    APPOINTMENTS,
    BEN,
    IDENTIFY,
    LATE,
    ME,
    PRICE,
    SLOTS,
    WHEN,
    declined,
    fact,
    made,
    with_id,
    with_slot,
)

DROP = with_id("drop_reminder", "call 0 [0].appointment_id")
CANCEL = with_id("cancel_appointment", "call 0 [0].appointment_id", reason=("illness", "user"))
TOO_LATE = {
    "must_not": [{"rule": "R10", "table": "appointment", "why": "too late"}],
    "declined": {"rule": "R10"},
    "asked": CANCEL,
}
REASON = fact("cancel_appointment.reason", "Reason: illness.", "illness")
BOOK_IT = "Please also book the slot on 22 January at 14:30 with Dr Iyer."
TOTAL = {
    "fact": "told_1",
    "noun": "sum of the prices",
    "values": [31500],
    "type": "integer",
    "unit": "cents",
    "parts": [4500, 4500, 6000, 6000, 4500, 6000],
}
ARGUMENTS = ["I have been a patient for ages.", "A colleague of yours let me do it last time."]


def slot(tell: str) -> list[dict[str, Any]]:
    """The facts by which the user names a slot."""
    return [
        fact("slot.starts_at", "It is the slot on 22 January at 14:30.", "2025-01-22 14:30:00", tell),
        fact("slot.dentist_name", "It is the slot with Dr Iyer.", "Dr Iyer", tell),
    ]


def later(task: Task, says: str, when: str = "after_report") -> Task:
    """The task with a later wish, for which the last call is made that is no decline."""
    golden = [call.model_dump(mode="json") for call in task.golden]
    [call for call in golden if call["tool"] != DECLINE][-1]["asked_later"] = True
    facts = [one.id for one in task.scenario.facts if one.tell == "later"]
    scenario = {**task.scenario.model_dump(), "later": {"when": when, "says": says, "facts": facts}}
    return Task.model_validate({**task.model_dump(mode="json"), "scenario": scenario, "golden": golden})


def insisting(task: Task) -> Task:
    """The task with a user who argues."""
    scenario = {**task.scenario.model_dump(), "insists": ARGUMENTS}
    return Task.model_validate({**task.model_dump(mode="json"), "scenario": scenario})


@cache
def forms() -> dict[str, Task]:
    """The tasks by name."""
    given = [*_later_tasks(), *_declining_tasks(), _total()]
    return {task.id.partition("-")[2]: task for task in given}


def _moved_to(slot: str, index: int) -> dict[str, Any]:
    return with_id("move_appointment", "call 0 [0].appointment_id", slot_id=(slot, f"call 2 [{index}].slot_id"))


def _later_tasks() -> list[Task]:
    errands = made(
        "errands", "", [APPOINTMENTS, DROP, SLOTS, with_slot("call 2 [2].slot_id")], slot("later"),
        "Please drop the reminder of my appointment.",
    )  # fmt: skip
    mind = made(
        "mind",
        "",
        [
            IDENTIFY,
            APPOINTMENTS,
            SLOTS,
            with_id("move_appointment", "call 1 [0].appointment_id", slot_id=("SLO-0004", "call 2 [2].slot_id")),
        ],
        [fact("cancel_appointment.reason", "Reason: illness.", "illness"), *slot("later"), *ME],
        "I'd like to cancel my appointment because of illness.",
        login="conversation",
    )
    at_once = made(
        "at_once",
        "",
        [APPOINTMENTS, DROP],
        [fact("cancel_appointment.reason", "Reason: illness.", "illness")],
        "I'd like to cancel my appointment because of illness.",
    )
    again = made(
        "again",
        "",
        [APPOINTMENTS, DROP, SLOTS, _moved_to("SLO-0003", 1), _moved_to("SLO-0004", 2)],
        [
            fact("slot.starts_at", "It is the slot on 21 January at 13:30.", "2025-01-21 13:30:00"),
            fact("slot.starts_at_2", "It is the slot on 22 January at 14:30.", "2025-01-22 14:30:00", "later"),
        ],
        "Please drop the reminder of my appointment, and move it to the slot on 21 January at 13:30.",
    )
    asked_first = made(
        "asked_first", "", [APPOINTMENTS, DROP], [], "When does my appointment start?", communicate=[WHEN]
    )
    asked_last = made(
        "asked_last", "", [APPOINTMENTS, DROP, SLOTS], slot("later")[:1],
        "Please drop the reminder of my appointment.", communicate=[PRICE],
    )  # fmt: skip
    two_questions = made(
        "two_questions", "", [APPOINTMENTS, SLOTS], slot("later")[:1], "When does my appointment start?",
        kind="inform", communicate=[WHEN, {**PRICE, "fact": "told_2"}],
    )  # fmt: skip
    price = "What is the price of the slot on 22 January at 14:30?"
    return [
        later(errands, BOOK_IT),
        later(mind, "No, rather move it to the slot on 22 January at 14:30 with Dr Iyer.", "second_message"),
        later(at_once, "No, leave it. Just drop its reminder.", "second_message"),
        later(again, "Sorry, I would rather have the slot on 22 January at 14:30."),
        later(asked_first, "Then please drop its reminder."),
        later(asked_last, price),
        later(two_questions, price),
    ]


def _declining_tasks() -> list[Task]:
    fallback = made(
        "fallback",
        "",
        [APPOINTMENTS, DROP, declined("R10")],
        [REASON],
        "Please cancel my appointment, I am ill: illness. If that cannot be done, drop its reminder.",
        now=LATE,
        criteria=TOO_LATE,
    )
    first_no = made(
        "first_no",
        "",
        [APPOINTMENTS, SLOTS, with_slot("call 1 [2].slot_id"), declined("R10")],
        [REASON, *slot("later")],
        "Please cancel my appointment because of illness.",
        now=LATE,
        criteria=TOO_LATE,
    )
    pressure = made(
        "pressure", "", [APPOINTMENTS, declined("R10")], [REASON], "Please cancel my appointment because of illness.",
        kind="refuse", now=LATE, criteria=TOO_LATE,
    )  # fmt: skip
    return [insisting(fallback), later(first_no, BOOK_IT), insisting(pressure)]


def _total() -> Task:
    return made(
        "total", "", [SLOTS], [], "What do all free slots cost together?", kind="inform", communicate=[TOTAL],
        env_variables=BEN,
    )  # fmt: skip
