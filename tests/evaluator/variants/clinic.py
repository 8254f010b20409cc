"""Tasks of the small clinic in which every sort of variant applies somewhere."""

from functools import cache
from pathlib import Path

from skillweave.schema.criteria import Declined
from skillweave.schema.task import Task
from skillweave.world.dataset import Dataset
from tests.evaluator.variants.forms import tasks_with_forms
from tests.rollout.offline_agents.clinic import APPOINTMENTS, SLOTS, WHEN, a_dataset, fact, kinds, made, tasks
from tests.world.clinic import NOW

FEE = {
    "fact": "told_2",
    "noun": "open fee",
    "values": [1250],
    "type": "integer",
    "unit": "cents",
}
CLEO = {"CURRENT_DATE": NOW[:10], "LOGGED_IN_USER": "PAT-0003", "LOGGED_IN_NAME": "Cleo Marsh"}


@cache
def every_task() -> tuple[Task, ...]:
    """Those that agents are tested with, of all kinds; a batch, two questions, a fee paid at once, one appointment for
    another; and those whose requests have forms."""
    plain = *tasks(), _batch(), _two_questions(), _cancel_and_pay(), _swap(), _which_start(), *kinds(), _two_rules()
    return *plain, *tasks_with_forms()


def dataset_of(folder: Path) -> Dataset:
    """All of them, as a run would leave them."""
    return a_dataset(folder, every_task())


def _batch() -> Task:
    booked = [
        {"tool": "book_appointment", "arguments": {"slot_id": id}, "grounding": {"slot_id": f"call 0 [{at}].slot_id"}}
        for at, id in ((0, "SLO-0001"), (2, "SLO-0004"))
    ]
    return made(
        "batch",
        "You want to book the first slot of today and the one on 22 January at 14:30.",
        [SLOTS, *booked],
        [fact("slot.starts_at", "One is the slot on 22 January at 14:30.", "2025-01-22 14:30:00")],
        "Please book me the first slot of today, and the one on 22 January at 14:30.",
        env_variables=CLEO,
    )


def _two_questions() -> Task:
    return made(
        "two",
        "You want to know when your appointment starts, and what fee is open.",
        [APPOINTMENTS, {"tool": "list_fees", "arguments": {}}],
        [],
        "When does my appointment start, and what do I owe?",
        kind="inform",
        communicate=[WHEN, FEE],
    )


def _which_start() -> Task:
    """A question with more neighbouring values than an answer may list."""
    start = {
        "fact": "told_1",
        "noun": "start",
        "values": ["2025-01-22 14:30:00"],
        "type": "datetime",
        "rivals": ["2025-01-20 11:30:00", "2025-01-21 13:30:00", "2025-01-23 16:30:00"],
    }
    return made(
        "start",
        "You want to know when the free slot with Dr Iyer on 22 January starts.",
        [SLOTS],
        [fact("slot.dentist_name", "It is a slot with Dr Iyer.", "Dr Iyer")],
        "When does the slot with Dr Iyer on 22 January start?",
        kind="inform",
        communicate=[start],
    )


def _two_rules() -> Task:
    """A request that two rules forbid, of which the second may be recorded as well."""
    late = next(task for task in kinds() if task.id == "SmallClinic-late")
    accepted = Declined(rule="R10", also=["R2"])
    criteria = late.criteria.model_copy(update={"declined": accepted})
    return late.model_copy(update={"id": "SmallClinic-two_rules", "criteria": criteria})


def _cancel_and_pay() -> Task:
    """The payment takes what the cancellation minted."""
    calls = [
        APPOINTMENTS,
        {
            "tool": "cancel_appointment",
            "arguments": {"appointment_id": "APT-0001", "reason": "travel"},
            "grounding": {"appointment_id": "call 0 [0].appointment_id", "reason": "user"},
        },
        {"tool": "list_fees", "arguments": {}},
        {
            "tool": "pay_fee",
            "arguments": {"fee_id": "FEE-0002", "amount_cents": 3000},
            "grounding": {"fee_id": "call 2 [1].fee_id", "amount_cents": "call 2 [1].amount_cents"},
        },
    ]
    return made(
        "paid",
        "You want to cancel your appointment because you travel, and to pay the fee at once.",
        calls,
        [fact("cancel_appointment.reason", "Reason: travel.", "travel")],
        "I travel, so please cancel my appointment, and let me pay the fee at once.",
    )


def _swap() -> Task:
    """The appointment that is booked could be cancelled as well."""
    booked = {
        "tool": "book_appointment",
        "arguments": {"slot_id": "SLO-0006"},
        "grounding": {"slot_id": "call 1 [3].slot_id"},
    }
    cancelled = {
        "tool": "cancel_appointment",
        "arguments": {"appointment_id": "APT-0001", "reason": "other"},
        "grounding": {"appointment_id": "call 0 [0].appointment_id", "reason": "user"},
    }
    return made(
        "swap",
        "You want to book the slot on 23 January at 16:30 and to cancel the appointment that you have.",
        [APPOINTMENTS, SLOTS, booked, cancelled],
        [fact("cancel_appointment.reason", "Reason: other.", "other")],
        "Please book me the slot on 23 January at 16:30, and cancel the appointment that I have.",
    )
