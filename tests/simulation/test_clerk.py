"""Databases as a clerk would read them: what is past its time is closed within a day or two."""

import pytest

from skillweave.world.world import World
from synth.simulation.build import simulate_history
from synth.simulation.generation import state_of
from synth.simulation.history import HistoryPlan
from tests.simulation.worlds import NOW, a_blueprint, reference_rows

STALE = {
    "PhysioPractice": [
        "SELECT waiting_entry_id FROM waiting_entry "
        "WHERE status = 'offered' AND offer_expires_at < datetime(:now, '-1 days')",
        "SELECT v.session_id FROM session v JOIN slot s USING (slot_id) "
        "WHERE v.status = 'scheduled' AND s.starts_at < datetime(:now, '-3 days')",
    ],
    "DentalClinic": [
        "SELECT appointment_id FROM appointment "
        "WHERE status = 'scheduled' AND deposit_paid_at IS NULL AND deposit_due_at < datetime(:now, '-2 days')"
    ],
    "RegionalAir": [
        "SELECT booking_id FROM booking WHERE status = 'held' AND hold_expires_at < datetime(:now, '-2 days')",
        "SELECT flight_id FROM flight WHERE status = 'scheduled' AND departs_at < datetime(:now, '-1 days')",
        "SELECT voucher_id FROM voucher WHERE status = 'active' AND expires_on < date(:now, '-2 days')",
    ],
    "CityHotel": [
        "SELECT reservation_id FROM reservation WHERE status = 'checked_in' AND check_out < date(:now, '-1 days')",
        "SELECT reservation_id FROM reservation WHERE status = 'confirmed' AND check_in < date(:now, '-3 days')",
        "SELECT p.payment_id FROM payment p JOIN reservation r USING (reservation_id) "
        "WHERE p.kind = 'deposit' AND p.paid_at > r.cancelled_at",
    ],
    "CornerPharmacy": [
        "SELECT reminder_id FROM reminder WHERE status = 'active' AND remind_on < date(:now, '-1 days')",
        "SELECT o.order_id FROM refill_order o JOIN pickup_window w USING (window_id) "
        "WHERE o.status = 'placed' AND w.ends_at < datetime(:now, '-3 days')",
    ],
    "TripCover": ["SELECT policy_id FROM policy WHERE status = 'active' AND ends_on < date(:now, '-3 days')"],
}
"""World -> queries that must find no row."""


@pytest.mark.parametrize(
    "domain", ["CityHotel", *(pytest.param(name, marks=pytest.mark.long) for name in STALE if name != "CityHotel")]
)
def test_the_back_office_closes_what_is_past_its_time(domain: str) -> None:
    blueprint = a_blueprint(domain)
    built = simulate_history(blueprint, reference_rows(domain), NOW, HistoryPlan(visits=150, days=20), "7/a")
    assert built.fault == ""
    with World(blueprint, state_of(built.rows, blueprint), now=NOW).session() as session:
        for query in STALE[domain]:
            found = session.query(query, {"now": NOW})
            assert not found, query
