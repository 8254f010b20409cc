from typing import Any

import pytest

from evaluator.replay.execution import execute_golden
from evaluator.replay.golden import needless_calls
from skillweave.schema.criteria import GoldenCall
from tests.evaluator.tasks import BASE
from tests.evaluator.trials import a_golden, a_task_of
from tests.world.clinic import a_world

WORLD = a_world()
BOOK = a_golden("book_appointment", {"slot_id": "user"}, slot_id="SLO-0004")
FEES = a_golden("list_fees")
APPOINTMENTS = a_golden("list_appointments")
TO = {slot: a_golden("move_appointment", appointment_id="APT-0001", slot_id=slot) for slot in ("SLO-0002", "SLO-0006")}
FEE = {"fact": "told_1", "noun": "fee", "values": [1250, "12.50"], "type": "integer", "unit": "cents"}
DROP = a_golden("drop_reminder", appointment_id="APT-0001")
GROUNDED = a_golden("drop_reminder", {"appointment_id": "call 0 [0].appointment_id"}, appointment_id="APT-0001")
COMPUTED = a_golden("drop_reminder", {"appointment_id": "computed call 0 [0].x"}, appointment_id="APT-0001")


def pruned(*golden: GoldenCall, **changes: Any) -> list[int]:
    task = a_task_of(WORLD, *golden, **changes)
    with WORLD.session(task) as session:
        execution = execute_golden(session, task.golden)
    assert not execution.defects
    assert all(step.ok for step in execution.calls)
    return sorted(needless_calls(WORLD, task, execution))


def test_writes_that_matter_are_needed() -> None:
    assert pruned(BOOK, DROP, criteria={}) == []


def test_a_read_of_which_nothing_is_used_is_needless() -> None:
    assert pruned(FEES, BOOK) == [0]


def test_a_read_that_shows_what_is_told_is_needed_once() -> None:
    assert pruned(FEES, BOOK, criteria={"communicate": [FEE]}) == []
    assert pruned(FEES, BOOK, FEES, criteria={"communicate": [FEE]}) == [2]


def test_reads_that_show_the_parts_of_a_sum_are_needed() -> None:
    days = [a_golden("find_slots", date=f"2025-01-{day}") for day in (20, 22, 24)]
    total = {**FEE, "values": [10500], "parts": [4500, 6000]}
    assert pruned(*days[:2], criteria={"communicate": [total]}) == []
    assert pruned(FEES, *days[:2], criteria={"communicate": [total]}) == [0]


@pytest.mark.parametrize("drop", [GROUNDED, COMPUTED, DROP])
def test_a_read_that_an_argument_comes_from_is_needed(drop: GoldenCall) -> None:
    assert pruned(APPOINTMENTS, drop) == []


def test_what_the_user_says_needs_no_read() -> None:
    said = [{"role": "user", "content": "Drop the reminder of APT-0001, please."}]
    assert pruned(APPOINTMENTS, DROP, messages=said) == [0]
    fact = {"id": "a", "text": "It is the one.", "value": "APT-0001", "tell": "asked"}
    assert pruned(APPOINTMENTS, DROP, scenario={**BASE["scenario"], "facts": [fact]}) == [0]
    longer = [{"role": "user", "content": "Not APT-00012 or XAPT-0001."}]
    assert pruned(APPOINTMENTS, DROP, messages=longer) == []


def test_a_write_that_is_undone_is_needless_with_its_undoing() -> None:
    assert pruned(TO["SLO-0006"], TO["SLO-0002"], BOOK) == [0, 1]


def test_a_read_for_a_needless_write_is_needless_too() -> None:
    there = a_golden("move_appointment", {"appointment_id": "call 0 [0].appointment_id"}, **TO["SLO-0006"].arguments)
    back = there.model_copy(update={"arguments": TO["SLO-0002"].arguments})
    assert pruned(APPOINTMENTS, there, back, BOOK) == [0, 1, 2]


def test_a_write_on_the_way_to_another_is_needless_if_the_other_does_without() -> None:
    off, on = (a_golden("set_reminders", wanted=wanted) for wanted in (False, True))
    assert pruned(on, off, BOOK) == [0]


def test_a_write_that_leaves_a_trace_is_needed_though_it_is_undone() -> None:
    cancel = a_golden("cancel_appointment", {"appointment_id": "call 0 appointment_id"}, appointment_id="APT-0009")
    assert pruned(BOOK, cancel) == []


def test_signing_in_and_handing_over_are_needed() -> None:
    sign_in = a_golden("identify_patient", email="ana@example.com", date_of_birth="1981-03-01")
    nobody = {"CURRENT_DATE": "2025-01-20", "LOGGED_IN_USER": None, "LOGGED_IN_NAME": None}
    transfer = a_golden("transfer_to_human", reason="no_tool", summary="")
    assert pruned(sign_in, sign_in, transfer, login="conversation", env_variables=nobody) == [1]
