"""Histories: lawful, repeatable, and never against an invariant."""

import sqlite3
from dataclasses import replace

import pytest

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import Event
from skillweave.world.world import World
from synth.simulation.build import HistoryResult, close_gaps, simulate_history
from synth.simulation.events import TOO_LONG, first_broken_invariant
from synth.simulation.generation import state_of
from synth.simulation.history import HistoryPlan
from tests.simulation.worlds import NOW, a_blueprint, reference_rows

DOMAIN = "CityHotel"
SHORT = HistoryPlan(visits=150, days=20)


@pytest.fixture(scope="module")
def lived() -> HistoryResult:
    return simulate_history(a_blueprint(DOMAIN), reference_rows(DOMAIN), NOW, SHORT, "7/a")


def test_a_history_makes_rows_by_calls_and_keeps_every_invariant(lived: HistoryResult) -> None:
    blueprint = a_blueprint(DOMAIN)
    assert lived.summary is not None
    assert sum(lived.summary.calls.values()) > 80
    assert len(lived.rows["reservation"]) == lived.summary.calls["book_room"]
    world = World(blueprint, state_of(lived.rows, blueprint), now=NOW)
    with world.session() as session:
        assert first_broken_invariant(session, blueprint) is None


def test_nothing_in_a_history_was_done_in_the_future(lived: HistoryResult) -> None:
    assert max(str(row["booked_at"]) for row in lived.rows["reservation"]) < NOW
    assert max(str(row["paid_at"]) for row in lived.rows["payment"]) < NOW


def test_what_is_due_happens_within_days(lived: HistoryResult) -> None:
    stale = [
        row for row in lived.rows["reservation"] if row["status"] == "confirmed" and str(row["check_in"]) < "2025-03-10"
    ]
    past = [row for row in lived.rows["reservation"] if str(row["check_in"]) < "2025-03-10"]
    assert past
    assert len(stale) <= len(past) / 10


def test_completing_a_history_loses_nothing_and_stays_lawful(lived: HistoryResult) -> None:
    blueprint = a_blueprint(DOMAIN)
    more = close_gaps(blueprint, lived, NOW, "7")
    assert more.worth >= lived.worth
    with World(blueprint, state_of(more.rows, blueprint), now=NOW).session() as session:
        assert first_broken_invariant(session, blueprint) is None


def test_a_broken_invariant_is_told_with_the_change_that_broke_it() -> None:
    blueprint = a_blueprint(DOMAIN)
    event = Event(
        name="vandal",
        pick="SELECT guest_id FROM guest ORDER BY guest_id",
        effects=["UPDATE guest SET balance_cents = balance_cents + 1 WHERE guest_id = :guest_id"],
        weight=50,
    )
    spoiled = blueprint.model_copy(update={"events": [event]})
    built = simulate_history(spoiled, reference_rows(DOMAIN), NOW, SHORT, "7/a")
    assert built.summary is None
    assert built.worth < (0, 0, 0)
    assert "after the event vandal" in built.fault


def test_another_seed_is_another_history(lived: HistoryResult) -> None:
    other = simulate_history(a_blueprint(DOMAIN), reference_rows(DOMAIN), NOW, SHORT, "7/b")
    assert other.rows != lived.rows


def test_events_of_weight_nothing_never_happen() -> None:
    blueprint: Blueprint = a_blueprint(DOMAIN)
    quiet = blueprint.model_copy(
        update={"events": [event.model_copy(update={"weight": 0.0}) for event in blueprint.events]}
    )
    built = simulate_history(quiet, reference_rows(DOMAIN), NOW, HistoryPlan(visits=40, days=20), "7/a")
    assert built.summary is not None
    assert set(built.summary.events.values()) == {0}


def test_what_is_quick_enough_in_a_short_history_is_so_in_a_long_one(monkeypatch: pytest.MonkeyPatch) -> None:
    blueprint, rows = a_blueprint(DOMAIN), reference_rows(DOMAIN)
    monkeypatch.setattr("synth.simulation.history.USUAL_VISITS", SHORT.visits)
    monkeypatch.setattr("synth.simulation.history.STEPS_A_VISIT", steps := 500)
    while fault := simulate_history(blueprint, rows, NOW, SHORT, "7/a").fault:
        assert fault.endswith(TOO_LONG)
        monkeypatch.setattr("synth.simulation.history.STEPS_A_VISIT", steps := 2 * steps)
    assert steps > 500
    assert not simulate_history(blueprint, rows, NOW, replace(SHORT, visits=4 * SHORT.visits), "7/a").fault


def test_sql_that_fails_while_it_looks_for_arguments_is_told_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object) -> None:
        raise sqlite3.OperationalError("integer overflow")

    monkeypatch.setattr("synth.simulation.history.Simulation._called", failing)
    built = simulate_history(a_blueprint(DOMAIN), reference_rows(DOMAIN), NOW, SHORT, "7/a")
    assert built.part == "tool"
    assert built.fault == f"tool {built.broken}: its SQL fails: integer overflow"
