"""What real models' messages come to: labelled items, choices, openers, and what was confirmed before."""

import pytest

from rollout.offline.user.user import listen
from rollout.user.role import Role
from tests.rollout.offline_user.chats import a_story, answer, role

BALANCE = [
    ("pay_balance.amount_cents", "Amount: 42.50.", 4250, "first"),
    ("pay_balance.method", "Method: direct debit.", "direct_debit", "first"),
    ("me.email", "My email is ana@example.com.", "ana@example.com", "asked"),
    ("me.date_of_birth", "My date of birth is 3 May 1981.", "1981-05-03", "asked"),
]
EXTEND = [
    ("extend_invoice.new_due_on", "New due on: 16 April.", "2025-04-16", "first"),
    ("invoice.treatment_name", "It is my invoice for the tooth extraction.", "tooth extraction", "first"),
]
PAY = "pay 42.50 towards my balance by direct debit"
PUT_OFF = "have until 16 April to pay my tooth extraction invoice"


def played(wish: str, facts: list[tuple[str, str, object, str]]) -> Role:
    goal = wish.replace("my ", "your ").replace(" I ", " you ")
    return role(a_story(f"You want to {goal}.", f"Hi, I'd like to {wish}.", facts))


def kinds(who: Role, *agent: str) -> list[str]:
    return [move.kind for move in listen(who, agent)[1]]


@pytest.mark.parametrize(
    ("item", "does"),
    [
        ("- **Amount:** $85.00", "no"),
        ("- **Amount**: $42.50", "yes"),
        ("- Payment amount: 42.50", "yes"),
        ("- Surcharge: 1.50", "yes"),
    ],
)
def test_a_labelled_amount_is_compared(item: str, does: str) -> None:
    words = f"I'll **pay balance** with the following details:\n\n{item}\n- **Method**: direct debit\n\nShould I go ahead?"
    assert kinds(played(PAY, BALANCE), words) == [does]


@pytest.mark.parametrize(
    ("items", "does"),
    [
        ("- **Invoice**: visit, implant placement, Wednesday, April 2\n- **New Due On**: April 16", "no"),
        ("- **Invoice**: visit, tooth extraction, Wednesday, April 2\n- **New Due On**: 2025-04-11", "no"),
        ("- **Invoice**: visit, tooth extraction, Wednesday, April 2\n- **New Due On**: 2025-04-16", "yes"),
        ("- **Invoice**: visit, Wednesday, April 2\n- **New Due On**: 2025-04-16", "yes"),
    ],
)
def test_a_labelled_name_or_day_is_compared(items: str, does: str) -> None:
    words = f"Here's a summary:\n\n### Extend Invoice\n{items}\n\nWould you like me to proceed? (yes/no)"
    assert kinds(played(PUT_OFF, EXTEND), words) == [does]
