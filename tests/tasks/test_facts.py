"""What a user asks to be told: nothing of a row that came to nothing, but what is left of it to ask."""

from contextlib import suppress
from random import Random
from typing import Any

import pytest

from skillweave.schema.call import Call, CallResult
from synth.tasks.facts import NothingToTell, facts_to_tell
from synth.tasks.kinds import Instance
from tests.gates.clinic_tasks import a_template, call
from tests.world.clinic import NOW

ROW = {"booking": "B-100", "status": "confirmed", "starts_at": "2025-02-03 09:00:00", "refund_cents": 4500}
OTHER = {"booking": "B-200", "status": "confirmed", "starts_at": "2025-02-04 09:00:00", "refund_cents": 6200}


def asked(column: str, *rows: dict[str, Any], **told: Any) -> list[str]:
    """What a user asks of one of these rows, whatever the seed: the answers; empty where nothing is asked."""
    found: set[str] = set()
    for seed in range(8):
        listing = call("list_bookings")
        result = CallResult(call=Call(tool="list_bookings", arguments={}), ok=True, value=[*rows])
        made = Instance(golden=[listing], results=[result], steps=[0])
        goal = {"call": 1, "column": column, "noun": "it", "ask": ["it"], **told}
        template = a_template(kind="inform", tell=[goal], referred_by={"list_bookings": ["booking"]})
        with suppress(NothingToTell):
            found |= {str(fact.values[0]) for fact in facts_to_tell(template, made, NOW, Random(seed), {})[0]}
    return sorted(found)


def why_not(column: str, *rows: dict[str, Any], **told: Any) -> tuple[str, str]:
    """Why nothing of these rows is told, with a value."""
    result = CallResult(call=Call(tool="list_bookings", arguments={}), ok=True, value=[*rows])
    made = Instance(golden=[call("list_bookings")], results=[result], steps=[0])
    goal = {"call": 1, "column": column, "noun": "it", "ask": ["it"], **told}
    template = a_template(kind="inform", tell=[goal], referred_by={"list_bookings": ["booking"]})
    with pytest.raises(NothingToTell) as why:
        facts_to_tell(template, made, NOW, Random(1), {})
    return str(why.value), why.value.example


@pytest.mark.parametrize(
    ("column", "rows", "why", "example"),
    [
        ("refund_cents", [{**ROW, "refund_cents": 900}], "refund_cents is below 10.00, which could be guessed", "900"),
        ("refund_cents", [ROW, {**OTHER, "refund_cents": 4500}], "refund_cents is the same in several rows", "4500"),
        ("note", [{**ROW, "note": None}], "note is empty", ""),
        ("paid", [{**ROW, "paid": True}], "paid is a yes or no", "True"),
        ("due_on", [{**ROW, "due_on": "2025-02-03", "status": "paid"}], "due_on is of a record", "'2025-02-03'"),
        ("refund_cents", [{**ROW, "booking": None}], "the row asked about cannot be told apart by booking", ""),
        ("refund_cents", [], "list_bookings lists nothing", ""),
    ],
)
def test_why_nothing_is_told_is_named_with_a_value(
    column: str, rows: list[dict[str, Any]], why: str, example: str
) -> None:
    found = why_not(column, *rows)
    assert found[0].startswith(why)
    assert found[1] == example


def test_the_commonest_cause_is_named() -> None:
    small = [{**ROW, "booking": f"B-{number}", "refund_cents": number} for number in range(3)]
    gone = {**ROW, "refund_cents": None}
    assert why_not("refund_cents", gone, *small)[0] == "refund_cents is below 10.00, which could be guessed"


@pytest.mark.parametrize("coming", [True, False])
@pytest.mark.parametrize("status", ["cancelled", "void", "expired", "no_show"])
def test_nobody_asks_when_what_was_cancelled_starts(status: str, coming: bool) -> None:
    undone = {**ROW, "status": status}
    assert asked("starts_at", undone, OTHER, coming=coming) == [OTHER["starts_at"]]
    assert asked("starts_at", undone, coming=coming) == []


@pytest.mark.parametrize("column", ["refund_cents", "cancellation_fee_cents", "cancelled_at", "reject_reason"])
def test_what_there_is_of_cancelled_rows_alone_is_asked_of_them(column: str) -> None:
    undone = {**ROW, "status": "cancelled", column: "2025-01-11 10:00:00" if column.endswith("at") else 4500}
    assert asked(column, undone) == [str(undone[column])]


def test_any_status_of_a_row_says_that_it_came_to_nothing() -> None:
    assert asked("starts_at", {**ROW, "claim_status": "rejected"}) == []
    assert asked("starts_at", {**ROW, "claim_status": "open"}) == [ROW["starts_at"]]
    assert asked("starts_at", {**ROW, "remark": "cancelled"}) == [ROW["starts_at"]]


@pytest.mark.parametrize("column", ["due_on", "due_at", "payment_due_on"])
def test_what_is_paid_is_no_longer_due(column: str) -> None:
    bill = {"booking": "B-100", "status": "paid", column: "2025-02-03", "amount_cents": 4500}
    assert asked(column, bill) == []
    assert asked("amount_cents", bill) == ["4500"]
    assert asked(column, {**bill, "status": "open"}) == ["2025-02-03"]


def test_of_what_is_over_only_is_asked_what_need_not_be_to_come() -> None:
    over = {**ROW, "starts_at": "2025-01-11 09:00:00"}
    assert asked("starts_at", over, coming=True) == []
    assert asked("starts_at", over) == [over["starts_at"]]


def test_rivals_are_what_the_same_column_holds_in_all_reads() -> None:
    listed, earlier, others = [ROW, OTHER], [{**OTHER, "starts_at": "2025-02-05 09:00:00"}], [{"starts_at": "now"}]
    reads = {"list_bookings": listed, "list_past": earlier, "list_slots": others}
    results = [CallResult(call=Call(tool=name, arguments={}), ok=True, value=rows) for name, rows in reads.items()]
    made = Instance(golden=[call(name) for name in reads], results=results, steps=[0])
    goal = {"call": 1, "column": "starts_at", "noun": "start", "ask": ["when it starts"]}
    template = a_template(kind="inform", tell=[goal], referred_by={"list_bookings": ["booking"]})
    own = {"starts_at": ("booking", "starts_at")}
    shown = {"list_bookings": own, "list_past": own, "list_slots": {"starts_at": ("slot", "starts_at")}}
    for seed in range(4):
        facts = facts_to_tell(template, made, NOW, Random(seed), shown)
        (fact,) = facts[0]
        every = {ROW["starts_at"], OTHER["starts_at"], "2025-02-05 09:00:00"}
        assert {*fact.rivals} == every - {*fact.values}
