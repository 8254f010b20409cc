"""What a user can know, and what a text of theirs tells."""

from typing import Any

import pytest

from evaluator.text.facts import UserKnowledge, tells_fact
from skillweave.schema.task import Fact, Persona, Scenario

FACTS: list[dict[str, Any]] = [
    {"id": "me.email", "text": "My email is ana@example.com.", "value": "ana@example.com", "tell": "asked"},
    {"id": "me.phone", "text": "My phone is +44 7700 943034.", "value": "+44 7700 943034", "tell": "asked"},
    {"id": "visit.starts_at", "text": "It is on 21 January at 12:30.", "value": "2025-01-21 12:30:00", "tell": "first"},
    {"id": "cancel.reason", "text": "Reason: I have fallen ill.", "value": "illness", "tell": "asked"},
    {"id": "pay.amount_cents", "text": "Amount: 40.00.", "value": 4000, "tell": "asked"},
    {"id": "therapy.name", "text": "It is growth pain therapy.", "value": "growth pain therapy", "tell": "asked"},
]
LEDGER = UserKnowledge(
    Scenario.model_validate({"goal": "You want to cancel your visit.", "reason": "I travel.", "facts": FACTS}),
    Persona(name="Ana Lopez", age=43, style="brief", patience=4),
    now="2025-01-17 09:00:00",
    texts=["Please cancel my visit of 21 January.", "Small Clinic, Room B-12"],
)


@pytest.mark.parametrize(
    "text",
    [
        "ana@example.com, and it is on 21/01/2025 at 12:30.",
        "Yes please, tomorrow or on Friday would be the first of two visits.",
        "I'm 43 and I live next to room B-12.",
        "40 is fine, 40.00 that is.",
        "Call me on 07700 943034 or +447700943034.",
        "the 2nd one, please",
    ],
)
def test_what_the_user_knows_and_what_anybody_may_say_is_no_fault(text: str) -> None:
    assert LEDGER.faults(text) == []


@pytest.mark.parametrize(
    ("text", "token"),
    [
        ("My email is ana.lopez@example.org.", "ana.lopez@example.org"),
        ("It was on 22 January.", "22 january"),
        ("Please charge 99.95.", "99.95"),
        ("My number is APT-0009.", "apt-0009"),
        ("At 14:45, please.", "14:45"),
        ("I paid 250 last week.", "250"),
    ],
)
def test_an_invented_token_is_named_until_the_agent_has_said_it(text: str, token: str) -> None:
    assert LEDGER.faults(text) == [token]
    assert LEDGER.faults(text, [f"Is it {token}?"]) == []


def test_what_the_user_comes_out_with_and_how_they_insist_is_known_to_them() -> None:
    later = {"when": "after_report", "says": "And my visit of 4 March at 17:15?", "facts": ["visit.room"]}
    facts = [{"id": "visit.room", "text": "It is room 77.", "value": "77", "tell": "later"}]
    scenario = {"goal": "", "reason": "", "facts": facts, "later": later, "insists": ["I have paid 333 a year!"]}
    persona = Persona(name="Ana Lopez", age=43, style="brief", patience=4)
    knowledge = UserKnowledge(Scenario.model_validate(scenario), persona, now="2025-01-17 09:00:00")
    assert knowledge.faults("The one of 4 March at 17:15 in room 77, after all the 333 that I have paid.") == []
    assert knowledge.faults("The one of 5 March.") == ["5 march"]


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("ana@example.com", ["me.email"]),
        ("It's the one on Tuesday at 12:30.", ["visit.starts_at"]),
        ("Because I have fallen ill.", ["cancel.reason"]),
        ("The reason is illness; I pay 40.", ["cancel.reason", "pay.amount_cents"]),
        ("the therapy for growth pains", ["therapy.name"]),
        ("Yes, please.", []),
    ],
)
def test_a_text_tells_the_facts_whose_values_stand_in_it(text: str, ids: list[str]) -> None:
    assert LEDGER.tells(text) == ids


def test_a_second_amount_of_a_name_is_money_too() -> None:
    fact = Fact(id="pay_balance.amount_cents_4", text="The amount is 23.00.", value=2300, tell="asked")
    now = "2025-03-17 09:00:00"
    assert tells_fact(fact, "I pay 23.00 of it.", now)
    assert not tells_fact(fact, "I pay 2300 of it.", now)


@pytest.mark.parametrize(
    ("text", "is_told"),
    [
        ("All my invoices from February onwards, please.", True),
        ("what came in february", True),
        ("The one due on 20 February.", False),
        ("From March on.", False),
    ],
)
def test_a_month_is_told_by_its_name(text: str, is_told: bool) -> None:
    month = Fact(id="every_invoice.month", text="I mean from February on.", value="2025-02-01", tell="later")
    assert tells_fact(month, text, "2025-03-17 09:00:00") is is_told
