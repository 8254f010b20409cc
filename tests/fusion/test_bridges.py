from dataclasses import dataclass

import pytest

from skillweave.schema.blueprint import BridgeRule
from synth.fusion.bridge_rules import bridge_faults
from tests.fusion.companies import FINES_FIRST, ILL, PLANS_ONLY, a_rule, joint

TOOL = "airline__cancel_booking"
FINE = "EXISTS (SELECT 1 FROM Library__Fine f WHERE f.status = 'open')"
SAYS = "It takes a fine that is open."


def test_rules_that_stand_between_two_companies_are_sound() -> None:
    assert bridge_faults([FINES_FIRST, PLANS_ONLY, ILL], joint()) == {}


@dataclass(frozen=True)
class Wrong:
    rule: BridgeRule
    fault: str


WRONG = {
    "unknown tool": Wrong(a_rule("x", "airline__fly", FINE, SAYS), "no tool that changes something"),
    "read": Wrong(a_rule("x", "airline__list_bookings", FINE, SAYS), "no tool that changes something"),
    "own tables": Wrong(
        a_rule(
            "x", TOOL, "EXISTS (SELECT 1 FROM Airline__Booking b WHERE b.status = 'booked')", "It takes a booked one."
        ),
        "that is no bridge",
    ),
    "own person": Wrong(
        a_rule(
            "x",
            TOOL,
            "EXISTS (SELECT 1 FROM Airline__Passenger__person p WHERE p.passenger_id = :caller AND p.phone <> '')",
            "It takes a phone.",
        ),
        "that is no bridge",
    ),
    "own account": Wrong(
        a_rule("x", TOOL, "(SELECT Airline FROM Person WHERE person_id = :person) IS NOT NULL", "It takes an account."),
        "that is no bridge",
    ),
    "clock": Wrong(a_rule("x", TOOL, f"{FINE} AND date('now') > '2025-01-01'", SAYS), "gives 'now' to a date function"),
    "binding": Wrong(a_rule("x", TOOL, f"{FINE} AND :colour = 'red'", SAYS), "unknown binding :colour"),
    "column": Wrong(
        a_rule("x", TOOL, "EXISTS (SELECT 1 FROM Library__Fine f WHERE f.colour = 1)", SAYS), "no such column"
    ),
    "unsaid": Wrong(
        a_rule("x", TOOL, "(SELECT COUNT(*) FROM Library__Fine f WHERE f.status = 'open') < 3", SAYS),
        "the sentence does not",
    ),
    "invented": Wrong(
        a_rule("x", TOOL, FINE, "It takes a fine that is open for 14 days."),
        "the sentence says 14 days, the SQL does not",
    ),
    "other value": Wrong(
        a_rule("x", TOOL, FINE, "It takes a fine that is open or waived."),
        "the sentence says 'waived', the SQL does not",
    ),
    "engine's error": Wrong(a_rule("x", TOOL, FINE, SAYS, error="no_account_here"), "the engine's own"),
    "known error": Wrong(a_rule("x", TOOL, FINE, SAYS, error="not_your_booking"), "another rule with the error code"),
    "company's number": Wrong(
        a_rule("R1", TOOL, FINE, SAYS), "R1 is the number of a company's own rule; give it another name"
    ),
    "two lines": Wrong(a_rule("x", TOOL, FINE, f"{SAYS}\n## More"), "is to be one line of plain words"),
    "marks": Wrong(a_rule("x", TOOL, FINE, f"{SAYS} <!-- tool: y -->"), "is to be one line of plain words"),
    "endless": Wrong(a_rule("x", TOOL, " AND ".join([FINE] * 400), SAYS), "is longer than 20000 characters"),
    "attach": Wrong(a_rule("x", TOOL, f"{FINE}; ATTACH 'other.sqlite' AS other", SAYS), "2 SQL statements"),
    "structural": Wrong(a_rule("x", TOOL, FINE, SAYS, concern="ownership"), "is about no ownership"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_with_a_rule_is_told(name: str) -> None:
    wrong = WRONG[name]
    found = bridge_faults([wrong.rule], joint())[wrong.rule.rule]
    assert any(wrong.fault in fault for fault in found), found


def test_an_account_with_the_other_company_is_something_of_theirs() -> None:
    account = "(SELECT Library FROM Person WHERE person_id = :person) IS NOT NULL"
    assert bridge_faults([a_rule("x", TOOL, account, "It takes an account with the library.")], joint()) == {}


def test_two_rules_of_one_tool_need_codes_of_their_own() -> None:
    other = PLANS_ONLY.model_copy(update={"error": FINES_FIRST.error})
    assert list(bridge_faults([FINES_FIRST, other], joint())) == [PLANS_ONLY.rule]


def test_a_name_is_given_once() -> None:
    assert "another bridge rule of that name" in bridge_faults([ILL, ILL], joint())[ILL.rule][0]
