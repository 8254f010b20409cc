"""Tasks of the small clinic whose requests have forms: a second wish, a sum, another mind, insistence, courses."""

from functools import cache
from typing import Any

from skillweave.schema.task import Task
from tests.rollout.offline_agents.clinic import (
    APPOINTMENTS,
    BEN,
    LATE,
    SLOTS,
    declined,
    fact,
    made,
    with_id,
    with_slot,
)

TOTAL: dict[str, Any] = {
    "fact": "told_1",
    "noun": "total price",
    "values": [10500],
    "type": "integer",
    "unit": "cents",
    "rivals": [15000, 6000],
    "parts": [4500, 6000],
}
PRICE_OF_ONE: dict[str, Any] = {
    "fact": "told_1",
    "noun": "price",
    "values": [6000],
    "type": "integer",
    "unit": "cents",
    "rivals": [4500],
}
ILL = fact("cancel_appointment.reason", "Reason: illness.", "illness")


@cache
def tasks_with_forms() -> tuple[Task, ...]:
    """A task for each of them."""
    beside = _fallback(), _fallback_of_the_tool()
    return *beside, _total(), _thought_better(), _two_errands(), _insisting(), _false_price()


def course(name: str, *calls: tuple[str, dict[str, Any]], told: bool = True) -> dict[str, Any]:
    """A course of these calls."""
    return {"name": name, "calls": [{"tool": tool, "arguments": given} for tool, given in calls], "told": told}


def _fallback() -> Task:
    """Too late to cancel, which only the policy says; so it is moved."""
    ask = with_id("cancel_appointment", "call 0 [0].appointment_id", reason=("illness", "user"))
    move = with_id("move_appointment", "call 0 [0].appointment_id", slot_id=("SLO-0004", "call 1 [2].slot_id"))
    late = {"appointment_id": "APT-0001", "slot_id": "SLO-0004"}
    return made(
        "fallback",
        "You want to cancel your appointment, or else to move it to 22 January at 14:30.",
        [APPOINTMENTS, SLOTS, move, declined("R10")],
        [ILL, fact("slot.starts_at", "The other slot is on 22 January at 14:30.", "2025-01-22 14:30:00")],
        "I am ill. Please cancel my appointment; if you cannot, move it to 22 January at 14:30.",
        now=LATE,
        forms=[
            {
                "name": "fallback",
                "wrong": [
                    course("second_only", ("list_appointments", {}), ("move_appointment", late)),
                    course("first_only", ("cancel_appointment", {"appointment_id": "APT-0001", "reason": "illness"})),
                ],
                "right": [
                    course("unseen", ("decline_request", {"rule": "R10"}), ("move_appointment", late)),
                    course(
                        "handed_over",
                        ("move_appointment", late),
                        ("transfer_to_human", {"reason": "policy", "rule": "R10", "summary": "Too late to cancel."}),
                    ),
                ],
            }
        ],
        criteria={
            "must_not": [{"rule": "R10", "table": "appointment", "why": "too late"}],
            "declined": {"rule": "R10", "also": ["R3"]},
            "asked": ask,
        },
    )


def _fallback_of_the_tool() -> Task:
    """There is no reminder to drop, as the tool says; so a slot is booked."""
    asked = {
        "tool": "drop_reminder",
        "arguments": {"appointment_id": "APT-0002"},
        "grounding": {"appointment_id": "call 0 [0].appointment_id"},
    }
    return made(
        "no_reminder_booked",
        "You want to drop the reminder of your appointment; if that cannot be done, to book 22 January at 14:30.",
        [APPOINTMENTS, SLOTS, with_slot("call 1 [2].slot_id"), declined("R16")],
        [fact("slot.starts_at", "The slot is on 22 January at 14:30.", "2025-01-22 14:30:00")],
        "Please drop my reminder. If you cannot, book me the slot on 22 January at 14:30.",
        env_variables=BEN,
        criteria={"declined": {"rule": "R16"}, "asked": asked},
    )


def _total() -> Task:
    """A sum that no result shows, of values that two calls show."""
    looked = [{"tool": "find_slots", "arguments": {"date": day}} for day in ("2025-01-20", "2025-01-22")]
    return made(
        "total",
        "You want to know what the free slots of 20 and 22 January cost together.",
        looked,
        [],
        "What do the free slots on 20 and 22 January cost in all?",
        kind="inform",
        communicate=[TOTAL],
    )


def _thought_better() -> Task:
    """Who wanted 23 January wants 22 January in the second message."""
    later = fact("slot.starts_at", "It is the slot on 22 January at 14:30.", "2025-01-22 14:30:00", "later")
    task = made(
        "other_mind",
        "You want to move your appointment to 23 January, and think better of it: to 22 January at 14:30.",
        [
            APPOINTMENTS,
            SLOTS,
            with_id("move_appointment", "call 0 [0].appointment_id", slot_id=("SLO-0004", "call 1 [2].slot_id")),
        ],
        [later],
        "Please move my appointment to 23 January.",
        forms=[
            {
                "name": "change_of_mind",
                "wrong": [
                    course("first_wish", ("move_appointment", {"appointment_id": "APT-0001", "slot_id": "SLO-0006"}))
                ],
            }
        ],
    )
    return _with_scenario(task, later={"when": "second_message", "says": SECOND, "facts": ["slot.starts_at"]})


LATER = "Please book me 22 January at 14:30, too."
SECOND = "On second thoughts: it shall be 22 January at 14:30."


def _two_errands() -> Task:
    """Who has a reminder dropped wants a slot as well."""
    task = made(
        "errands",
        "You want to drop the reminder of your appointment. Once that is done, you want to book 22 January at 14:30.",
        [APPOINTMENTS, with_id("drop_reminder", "call 0 [0].appointment_id"), SLOTS, with_slot("call 2 [2].slot_id")],
        [fact("slot.starts_at", "It is the slot on 22 January at 14:30.", "2025-01-22 14:30:00", "later")],
        "Please drop the reminder of my appointment.",
    )
    return _with_scenario(task, later={"when": "after_report", "says": LATER})


def _insisting() -> Task:
    """Too late to cancel, and the user argues twice."""
    task = made(
        "insisting",
        "You want to cancel your appointment because of illness.",
        [APPOINTMENTS, declined("R10")],
        [ILL],
        "I am ill, please cancel my appointment.",
        kind="refuse",
        now=LATE,
        criteria={
            "declined": {"rule": "R10"},
            "asked": with_id("cancel_appointment", "call 0 [0].appointment_id", reason=("illness", "user")),
        },
    )
    return _with_scenario(task, insists=["But I am really ill!", "Your colleague did it for me last year."])


def _false_price() -> Task:
    """Too late to cancel, and the user wants to know a price that they have wrong."""
    return made(
        "false_price",
        "You want to cancel your appointment. You take the slot on 22 January at 14:30 to cost 45.00, and ask.",
        [APPOINTMENTS, SLOTS, declined("R10")],
        [ILL, fact("slot.starts_at", "It is the slot on 22 January at 14:30.", "2025-01-22 14:30:00")],
        "I am ill, please cancel my appointment. And the slot on 22 January at 14:30 is 45.00, is it not?",
        kind="refuse",
        now=LATE,
        communicate=[PRICE_OF_ONE],
        criteria={
            "declined": {"rule": "R10"},
            "asked": with_id("cancel_appointment", "call 0 [0].appointment_id", reason=("illness", "user")),
            "communicate": [PRICE_OF_ONE],
        },
    )


def _with_scenario(task: Task, **changes: Any) -> Task:
    """The task with these fields of the scenario."""
    scenario = {**task.scenario.model_dump(mode="json"), **changes}
    return Task.model_validate({**task.model_dump(mode="json"), "scenario": scenario})
