import pytest

from skillweave.schema.contract import RowChange
from skillweave.schema.criteria import GoldenCall
from skillweave.schema.record import Json
from skillweave.world.replay import ResultReference, replay_in, result_reference, value_at
from tests.world.clinic import a_world

BOOK = GoldenCall(tool="book_appointment", arguments={"slot_id": "SLO-0004"}, grounding={"slot_id": "user"})
MOVE = GoldenCall(
    tool="move_appointment",
    arguments={"appointment_id": "APT-0009", "slot_id": "SLO-0006"},
    grounding={"appointment_id": "call 0 appointment_id", "slot_id": "user"},
)


def test_an_argument_that_came_from_a_result_is_bound_again() -> None:
    row = {
        "fee_id": "FEE-0044",
        "patient_id": "PAT-0002",
        "appointment_id": "APT-0002",
        "amount_cents": 1,
        "is_paid": False,
    }
    patch = [RowChange(table="fee", op="insert", key={"fee_id": "FEE-0044"}, after=row)]
    world = a_world()
    with world.session(caller="PAT-0001") as plain, world.session(caller="PAT-0001", patch=patch) as shifted:
        one, other = replay_in(plain, [BOOK, MOVE]), replay_in(shifted, [BOOK, MOVE])
        assert shifted.minted[0] == "APT-0045"
    assert [result.ok for result in other.results] == [True, True]
    assert one.changes == other.changes
    assert other.defects == []


def test_an_argument_that_cannot_be_bound_again_stops_the_replay_and_is_told() -> None:
    with a_world().session(caller="PAT-0001") as session:
        found = replay_in(session, [BOOK.model_copy(update={"arguments": {"slot_id": "SLO-0002"}}), MOVE])
    assert len(found.results) == 1
    assert found.defects == ["call 1 (move_appointment): the result has no 'appointment_id'"]


def test_a_replay_tells_rules_that_were_broken_and_carried_out() -> None:
    again = BOOK.model_copy(update={"arguments": {"slot_id": "SLO-0006"}})
    with a_world().session(caller="PAT-0001") as session:
        assert replay_in(session, [BOOK, again]).violations == ["R6 in call 1 (book_appointment)"]


def test_paths_name_parts_of_results() -> None:
    value: Json = {"rows": [{"id": "a"}, {"id": "b", "in": [1, 2]}]}
    assert value_at(value, "rows[1].id") == "b"
    assert value_at([{"id": "a"}], "[0].id") == "a"
    assert value_at(value, "rows[1].in[0]") == 1
    for path in ("rows[2].id", "other", "rows.id", "rows[-1]", "rows[1]id!", "[0]"):
        with pytest.raises(LookupError):
            value_at(value, path)


def test_a_grounding_tells_the_result_that_an_argument_comes_from() -> None:
    assert result_reference("call 3 [0].fee_id") == ResultReference(3, "[0].fee_id", as_date=False)
    assert result_reference("computed date(call 12 starts_at)") == ResultReference(12, "starts_at", as_date=True)
    others = ["user", "env", "policy R7", "call 3", "call x a", "date(call 1 a)", "computed date(call 1 a", "call 1 a)"]
    assert [result_reference(text) for text in others] == [None] * len(others)


def test_a_day_is_bound_again_from_the_moment_that_an_earlier_result_shows() -> None:
    slots = GoldenCall(
        tool="find_slots",
        arguments={"date": "1999-01-01"},
        grounding={"date": "computed date(call 0 starts_at)"},
    )
    with a_world().session(caller="PAT-0001") as session:
        found = replay_in(session, [BOOK, slots])
    assert found.results[1].call.arguments == {"date": "2025-01-22"}
    no_moment = slots.model_copy(update={"grounding": {"date": "computed date(call 0)"}})
    flag = slots.model_copy(update={"grounding": {"date": "computed date(call 0 [0].is_free)"}})
    with a_world().session(caller="PAT-0001") as session:
        assert replay_in(session, [BOOK, no_moment]).results[1].call.arguments == {"date": "1999-01-01"}
    with a_world().session(caller="PAT-0001") as session:
        listing = GoldenCall(tool="find_slots", arguments={})
        assert replay_in(session, [listing, flag]).defects == [
            "call 1 (find_slots): the result has no moment at '[0].is_free', to take the day of"
        ]
