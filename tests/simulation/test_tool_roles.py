"""Courses of rows: the part of each tool, and lives that are no churn."""

import pytest

from synth.simulation.build import simulate_history
from synth.simulation.history import HistoryPlan
from synth.simulation.tool_roles import tool_roles
from tests.simulation.worlds import NOW, a_blueprint, reference_rows

PARTS = {
    "CityHotel": {
        "book_room": "continues",
        "pay_reservation": "continues",
        "change_dates": "changes",
        "cancel_reservation": "cancels",
    },
    "PhysioPractice": {"join_waiting_list": "continues", "leave_waiting_list": "ends", "cancel_session": "ends"},
    "RegionalAir": {"check_in_booking": "continues", "cancel_booking": "cancels", "change_booking": "changes"},
    "DentalPlan": {"change_bank_account": "updates_caller", "withdraw_claim": "ends", "pay_balance": "continues"},
    "CarRental": {"report_damage": "adds", "cancel_rental": "cancels"},
}


@pytest.mark.parametrize("domain", sorted(PARTS))
def test_what_a_tool_does_to_rows_is_read_off_the_contract(domain: str) -> None:
    found = tool_roles(a_blueprint(domain))
    assert {tool: found[tool].kind for tool in PARTS[domain]} == PARTS[domain]


def test_the_tools_that_make_a_row_are_known_to_those_that_end_it() -> None:
    assert tool_roles(a_blueprint("CityHotel"))["cancel_reservation"].makers == ("book_room",)


@pytest.mark.parametrize(
    ("domain", "table", "ended"),
    [("DentalClinic", "appointment", "cancelled"), ("PhysioPractice", "waiting_entry", "withdrawn")],
)
def test_few_rows_are_ended_by_those_who_made_them(domain: str, table: str, ended: str) -> None:
    built = simulate_history(a_blueprint(domain), reference_rows(domain), NOW, HistoryPlan(visits=500, days=40), "7/a")
    assert built.summary is not None
    states = built.summary.values[f"{table}.status"]
    assert ended in states
    assert states[ended] <= sum(states.values()) * 0.35


def test_details_of_a_person_are_seldom_changed_twice() -> None:
    built = simulate_history(
        a_blueprint("DentalClinic"), reference_rows("DentalClinic"), NOW, HistoryPlan(visits=500, days=40), "7/a"
    )
    assert built.summary is not None
    assert 0 < built.summary.calls["change_care_plan"] <= len(built.rows["patient"]) * 0.6
