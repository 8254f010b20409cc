"""Calls of the clinic, as hypothesis draws them, and what has to be true of any sequence of them."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from hypothesis import strategies as st

from skillweave.schema.contract import RowChange
from skillweave.schema.record import Json, Row
from skillweave.world.session import ContractSession


class Move(NamedTuple):
    tool: str
    arguments: dict[str, Json]


SLOTS = st.sampled_from([f"SLO-000{number}" for number in range(1, 10)])
APPOINTMENTS = st.sampled_from(["APT-0001", "APT-0002", "APT-0009", "APT-0011"])
FEES = st.sampled_from(["FEE-0001", "FEE-0009", "FEE-0010", "FEE-0011"])
AMOUNTS = st.sampled_from([1250, 2250, 3000])
REASONS = st.sampled_from(["illness", "travel", None, "boredom"])
MOVES = st.one_of(
    st.builds(
        lambda slot, note: Move("book_appointment", {"slot_id": slot, "note": note}), SLOTS, st.none() | st.text()
    ),
    st.builds(
        lambda one, why: Move("cancel_appointment", {"appointment_id": one, "reason": why}), APPOINTMENTS, REASONS
    ),
    st.builds(
        lambda one, slot: Move("move_appointment", {"appointment_id": one, "slot_id": slot}), APPOINTMENTS, SLOTS
    ),
    st.builds(lambda fee, cents: Move("pay_fee", {"fee_id": fee, "amount_cents": cents}), FEES, AMOUNTS),
    st.builds(lambda one: Move("drop_reminder", {"appointment_id": one}), APPOINTMENTS),
    st.builds(lambda wanted: Move("set_reminders", {"wanted": wanted}), st.booleans()),
    st.just(Move("list_appointments", {})),
)

State = dict[str, dict[str, Row]]


def state_of(session: ContractSession) -> State:
    """All rows by table and key."""
    tables = session.world.blueprint.tables
    return {one.table: {str(row[one.key]): row for row in session.rows(one.table)} for one in tables}


def applied(start: Mapping[str, Mapping[str, Row]], changes: Sequence[RowChange]) -> State:
    """The state that row changes lead to."""
    state: State = {table: {key: dict(row) for key, row in rows.items()} for table, rows in start.items()}
    for change in changes:
        key = str(next(iter(change.key.values())))
        rows = state[change.table]
        if change.op == "delete":
            assert rows.pop(key) == change.before
        elif change.op == "insert":
            assert key not in rows
            rows[key] = dict(change.after or {})  # type: ignore[arg-type]
        else:
            assert {name: rows[key][name] for name in change.before or {}} == change.before
            rows[key].update(change.after or {})  # type: ignore[arg-type]
    return state
