"""What real models' messages come to: labelled items, choices, openers, and what was confirmed before."""

from collections.abc import Sequence

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


def played(wish: str, facts: Sequence[tuple[str, str, object, str]]) -> Role:
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
    words = f"I'll **pay balance** with these details:\n\n{item}\n- **Method**: direct debit\n\nShould I go ahead?"
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


def test_another_deed_than_asked_for_is_refused() -> None:
    who = played(PAY, BALANCE)
    other = played("make a payment of 42.50 by bank transfer", BALANCE)
    assert kinds(other, "I would now change the bank account (account number: 917047). Shall I go ahead?") == ["no"]
    for words in (
        "I would now change the bank account (account number: 917047). Shall I go ahead?",
        "I would now request the renewal (refills requested: 5). Shall I go ahead?",
    ):
        assert kinds(who, words) == ["no"], words


def test_of_several_the_one_that_fits_is_chosen() -> None:
    which = "I found several invoices on file. Which one would you like me to use?\n\n"
    rows = ["**visit** — implant placement, April 2", "**visit** — brace fitting, May 3"]
    mine = "**visit** — tooth extraction, April 5"
    who = played(PUT_OFF, EXTEND)
    [move] = listen(who, [which + "\n".join(f"{n}. {row}" for n, row in enumerate([*rows, mine], start=1))])[1]
    assert (move.kind, move.number) == ("pick", 3)
    assert "tooth extraction" in answer(who, which + "\n".join(f"- {row}" for row in [mine, *rows]))
    assert kinds(who, which + "\n".join(f"{n}. {row}" for n, row in enumerate(rows, start=1))) == ["none_fits"]


def test_what_was_confirmed_is_not_asked_for_anew() -> None:
    who = role(
        a_story(
            "You want to cancel your session on 17 March. After that you want to pay that invoice by card.",
            "I want to cancel my session on 17 March. Then I want to pay that invoice by card.",
        )
    )
    agreed = ["I will cancel your session on 17 March. Shall I?", "I will pay the invoice by card. May I proceed?"]
    done = "Done! - **Paid now:** 15.00\n- **Status:** paid\n\nPlease reach out if you have any further questions."
    assert kinds(who, *agreed, done) == ["check"]
    assert kinds(who, *agreed, done, "Yes, it did.") == ["thanks"]


@pytest.mark.parametrize(
    ("words", "does"),
    [
        ("Could you describe in a bit more detail what you'd like me to do?", "want"),
        ("Would you prefer email or SMS notifications?", "no_preference"),
        ("Could you please provide any additional details so that I can assist you better?", "that_is_all"),
        ("Please tell me your email. Also, would you prefer email or SMS notifications?", "tell"),
    ],
)
def test_openers_and_offers(words: str, does: str) -> None:
    _, moves = listen(played(PAY, BALANCE), [words])
    assert moves[0].kind == does
    assert does == "tell" or not moves[0].facts


def test_several_asked_at_once_are_all_told() -> None:
    details = "I'll need a few details:\n1. **Email** on file\n2. **Date of birth** on file\n"
    words = f"{details}3. Could you describe what you'd like me to do?"
    told = {fact.id for move in listen(played(PAY, BALANCE), [words])[1] for fact in move.facts}
    assert told == {"me.email", "me.date_of_birth"}


def test_a_day_of_birth_is_no_closing_time() -> None:
    who = role(a_story("You want to know the closing time of the clinic.", "What is your closing time?", BALANCE))
    assert kinds(who, "Your date of birth is 4 June 1990.") != ["thanks"]
    assert kinds(who, "We close at 18:00 on 4 June.") == ["thanks"]


def test_words_after_a_decline_are_sober() -> None:
    who = role(
        a_story(
            "You want to cancel your session on 17 March. After that you want to pay your fee by card.",
            "I want to cancel my session on 17 March. Then I want to pay my fee by card.",
        )
    )
    declined = "Unfortunately I cannot cancel the session, because it is less than a day away. Anything else?"
    assert kinds(who, declined) == ["accept", "left"]


def test_not_stands_before_to() -> None:
    who = played("not go ahead with my test", [])
    assert "to not" not in answer(who, "What would you like me to do?")
