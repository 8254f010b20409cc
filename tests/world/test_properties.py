"""What is true of any sequence of calls."""

from hypothesis import given
from hypothesis import strategies as st

from skillweave.schema.contract import RowChange
from skillweave.world.canonical import canonical
from skillweave.world.compare import compare
from tests.world.clinic import a_world
from tests.world.moves import MOVES, Move, applied, state_of

WORLD = a_world()
ABSENT = {f"{prefix}-00{number:02}": f"{prefix}-none" for prefix in ("APT", "FEE") for number in range(9, 20)}
"""Ids that only a call could have made; in the other run they may name another row."""
SEQUENCES = st.lists(MOVES, max_size=8)
FAILING = st.sampled_from(
    [
        Move("book_appointment", {"slot_id": "SLO-0099"}),
        Move("pay_fee", {"fee_id": "FEE-0001", "amount_cents": -1}),
        Move("cancel_appointment", {"appointment_id": "APT-0002"}),
        Move("drop_reminder", {}),
        Move("nothing", {}),
    ]
)


@given(SEQUENCES)
def test_the_difference_applied_to_the_start_gives_the_end(moves: list[Move]) -> None:
    with WORLD.session(caller="PAT-0001") as session:
        start = state_of(session)
        for move in moves:
            session.call(*move)
        assert applied(start, session.diff()) == state_of(session)
        assert session.defects == []
        for invariant in WORLD.blueprint.invariants:
            assert session.query(invariant.never) == []


@given(SEQUENCES, SEQUENCES)
def test_after_undo_everything_is_as_before(first: list[Move], then: list[Move]) -> None:
    with WORLD.session(caller="PAT-0001") as session:
        for move in first:
            session.call(*move)
        before = (session.diff(), list(session.results), list(session.minted), state_of(session))
        mark = session.mark()
        answers = [session.call(*move) for move in then]
        session.undo(mark)
        assert (session.diff(), session.results, session.minted, state_of(session)) == before
        assert [session.call(*move) for move in then] == answers


@given(SEQUENCES, FAILING)
def test_a_failed_call_leaves_no_trace(moves: list[Move], failing: Move) -> None:
    with WORLD.session(caller="PAT-0001") as plain, WORLD.session(caller="PAT-0001") as restless:
        for move in moves:
            assert not restless.call(*failing).ok
            assert restless.call(*move) == plain.call(*move)
        assert restless.diff() == plain.diff()
        assert restless.minted == plain.minted


@given(SEQUENCES, st.integers(1, 3))
def test_the_canonical_form_does_not_depend_on_the_numbers_that_ids_got(moves: list[Move], skipped: int) -> None:
    with WORLD.session(caller="PAT-0001") as plain, WORLD.session(caller="PAT-0001") as shifted:
        renamed: dict[str, str] = {}
        for count in range(skipped):  # Ids are used up by rows that do not stay.
            shifted.call("book_appointment", {"slot_id": "SLO-0008"})
            made = shifted.minted[-2]
            shifted.execute("DELETE FROM reminder WHERE appointment_id = :a", {"a": made})
            shifted.execute("DELETE FROM appointment WHERE appointment_id = :a", {"a": made})
            shifted.execute("UPDATE slot SET is_free = 1 WHERE slot_id = 'SLO-0008'")
            assert count + 1 == len(shifted.minted) // 2
        for move in moves:
            result = plain.call(*move)
            arguments = {
                name: renamed.get(str(value), ABSENT.get(str(value), value)) for name, value in move.arguments.items()
            }
            again = shifted.call(move.tool, arguments)
            assert again.ok == result.ok
            renamed.update(zip(result.minted, again.minted, strict=True))
        one, other = canonical(plain.diff(), plain.minted), canonical(shifted.diff(), shifted.minted)
        assert one == other
        assert compare(one, other, WORLD.comparison).is_empty


@given(SEQUENCES, st.data())
def test_every_other_change_of_one_cell_is_seen(moves: list[Move], data: st.DataObject) -> None:
    with WORLD.session(caller="PAT-0001") as session:
        for move in moves:
            session.call(*move)
        found = canonical(session.diff(), session.minted)
    cells = [
        (place, side, name)
        for place, change in enumerate(found)
        for side in ("before", "after")
        for name in getattr(change, side) or {}
        if WORLD.comparison(change.table, name) == "exact"
    ]
    if not cells:
        return
    place, side, name = data.draw(st.sampled_from(cells))
    row = found[place]
    value = data.draw(st.sampled_from(["other", 77, None, {"$new": 9}, True]))
    changed: RowChange = row.model_copy(update={side: {**getattr(row, side), name: value}})
    if changed == row or changed.model_dump() == row.model_dump():
        return
    assert not compare(found, [*found[:place], changed, *found[place + 1 :]], WORLD.comparison).is_empty
