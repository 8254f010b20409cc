"""Rows that fit: only keys of rows of the kind that is wanted, in an order that the seed alone decides."""

from random import Random

from skillweave.world.session import ContractSession
from synth.search.values import keys_of_matching_rows, row_choices
from tests.world.clinic import NOW, a_world

WORLD = a_world()


def a_session() -> ContractSession:
    return WORLD.session(caller="PAT-0001", now=NOW)


def test_rows_fit_that_have_in_every_column_a_value_allowed() -> None:
    with a_session() as session:
        every = keys_of_matching_rows(WORLD.blueprint, "Slot.slot_id", {}, session)
        dear = keys_of_matching_rows(WORLD.blueprint, "Slot.slot_id", {"price_cents": [6000]}, session)
        cheap = keys_of_matching_rows(WORLD.blueprint, "Slot.slot_id", {"price_cents": [4500]}, session)
        both = keys_of_matching_rows(WORLD.blueprint, "Slot.slot_id", {"price_cents": [4500, 6000]}, session)
        free = {row["slot_id"] for row in session.rows("slot") if row["is_free"]}
        dear_and_free = keys_of_matching_rows(
            WORLD.blueprint, "Slot.slot_id", {"price_cents": [6000], "is_free": [True]}, session
        )
    assert both == every == sorted(every)
    assert dear
    assert sorted([*dear, *cheap]) == every
    assert dear_and_free == [key for key in dear if key in free] != dear


def test_choices_are_the_keys_that_fit_and_nothing_where_none_is_asked_for() -> None:
    tool = WORLD.blueprint.tool("book_appointment")
    with a_session() as session:
        fit = keys_of_matching_rows(WORLD.blueprint, "Slot.slot_id", {"price_cents": [6000]}, session)
        rows = {"slot_id": {"price_cents": [6000]}}
        found = [*row_choices(WORLD.blueprint, tool, rows, session, Random(1))]
        again = [*row_choices(WORLD.blueprint, tool, rows, session, Random(1))]
        assert [*row_choices(WORLD.blueprint, tool, {}, session, Random(1))] == [{}]
        assert [*row_choices(WORLD.blueprint, tool, {"slot_id": {"price_cents": [1]}}, session, Random(1))] == []
    assert sorted(str(one["slot_id"]) for one in found) == fit
    assert found == again
