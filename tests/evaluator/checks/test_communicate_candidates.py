"""Several values, several roles, several messages: which of them the agent says the fact is."""

from typing import Any

import pytest

from evaluator.checks.communicate import check_communicate, statements
from evaluator.words.markup import LONGEST
from skillweave.schema.message import Message
from skillweave.schema.record import Json
from skillweave.schema.task import FactToTell

PAID: dict[str, Any] = {"noun": "amount paid", "names": ["paid", "sum", "taken"], "values": [8300], "type": "integer"}
PAID |= {"unit": "cents"}
PRICE = PAID | {"noun": "price of the new scan", "names": ["cost", "new"], "values": [40600]}
LEFT = PAID | {"noun": "limit left", "names": ["annua", "left", "limit"], "values": [1600000]}
DUE = {"noun": "due date", "names": ["due"], "values": ["2025-03-27"], "type": "date", "rivals": ["2025-03-08"]}
RETURN = {"noun": "return", "names": ["back", "end"], "values": ["2025-04-12 14:00:00"], "type": "datetime"}
RETURN |= {"rivals": ["2025-03-21 17:00:00"]}
GATE: dict[str, Any] = {"noun": "gate", "names": ["leave"], "values": ["Gate C5"], "type": "string"}
ROOM: dict[str, Any] = {"noun": "room", "names": ["go"], "values": ["CT Suite Elm"], "type": "string"}
DOCTOR: dict[str, Any] = {"noun": "doctor", "names": ["issue"], "values": ["Dr Celia Thornbury"], "type": "string"}
REFERENCE: dict[str, Any] = {"noun": "payment reference", "values": ["DPPAY-0319"], "type": "string"}
KIN = {
    "CT Suite Elm": frozenset({"MRI Suite Iris", "X-ray Room Birch"}),
    "Dr Celia Thornbury": frozenset({"Dr Hugo Marchetti", "Dr Alma Reyes"}),
}


def kin(value: Json) -> frozenset[str]:
    return KIN.get(str(value), frozenset())


def a_fact(record: dict[str, Any]) -> FactToTell:
    return FactToTell.model_validate({"fact": "told_1", **record})


def told(record: dict[str, Any], *said: str, user: str = "Hello.") -> bool:
    messages = [Message(role="user", content=user), *(Message(role="assistant", content=text) for text in said)]
    return check_communicate([a_fact(record)], messages, "2025-03-17 09:00:00", kin).score == 1


GLUE = (" ", " | ", " + ", " -> ", " then ", " with ", ", ", "; ", " / ", " or ", " and ", ") (", "\n- ")


@pytest.mark.parametrize("glue", GLUE)
@pytest.mark.parametrize(
    ("fact", "values"),
    [
        (PAID, ["$54.00", "$83.00", "$90.00"]),
        (DUE, ["March 26", "March 27", "March 28"]),
        (ROOM, ["MRI Suite Iris", "CT Suite Elm", "X-ray Room Birch"]),
        (GATE, ["Gate C4", "Gate C5", "Gate C6"]),
        (REFERENCE, ["DPPAY-0318", "DPPAY-0319"]),
    ],
)
def test_values_with_nothing_but_glue_between_them_are_one_choice(
    fact: dict[str, Any], values: list[str], glue: str
) -> None:
    assert not told(fact, f"The {fact['noun']} is: {glue.join(values)}")
    assert told(fact, f"The {fact['noun']} is: {fact_in(values, fact)}")


def fact_in(values: list[str], fact: dict[str, Any]) -> str:
    right = {"$83.00", "March 27", *map(str, fact["values"])}
    return next(value for value in values if value in right)


@pytest.mark.parametrize(
    "text",
    [
        "For plan A the amount paid is $54.00. For plan B the amount paid is $83.00.",
        "The amount paid:\n- option A is $54.00\n- option B is $83.00",
        "| Case | Amount paid |\n|---|---|\n| A | $54.00 |\n| B | $83.00 |",
        "The amount paid is $54.00 zu $83.00 zu $90.00.",
        "The amount paid is in the range $80.00 - $83.00.",
        "The amount paid is 12 x $83.00.",
        "The sum is $83.00 and $82.00 was taken from you.",
    ],
)
def test_one_noun_for_several_values_tells_none(text: str) -> None:
    assert not told(PAID, text)


@pytest.mark.parametrize(
    ("fact", "text"),
    [
        (PAID, "The amount paid was $83.00, and your balance is now $213.00."),
        (PAID, "I took $83.00 ($59.00 for the scan + $24.00 express fee) from your card."),
        (PRICE, "13 scans × $124.00 = $1,612.00, but the price of the new scan is $406.00."),
        (PRICE, "Price: $382.00 for the scan plus $24.00 for express handling, $406.00 in total."),
        (PRICE, "Price:\n- Knee MRI: $382.00\n- Express handling: $24.00\n- Total for the new scan: $406.00"),
        (PRICE, "$382.00 + $24.00 = $406.00"),
        (LEFT, "You have $16,000.00 left. Keep in mind that you have $100.00 of deductible left."),
        (RETURN, "Your rental starts on March 21 at 17:00 and ends on April 12 at 14:00."),
        (RETURN, "Your rental from 21 March 2025, 17:00 ends on 12 April 2025, 14:00."),
        (RETURN, "Your rental runs from March 21 at 17:00 to April 12 at 14:00."),
        (RETURN, "- Pick-up: Friday, March 21 at 5:00 PM\n- Return: Saturday, April 12 at 2:00 PM"),
    ],
)
def test_what_belongs_to_another_role_takes_nothing_away(fact: dict[str, Any], text: str) -> None:
    assert told(fact, text)


@pytest.mark.parametrize(
    ("fact", "text"),
    [
        (RETURN, "Your rental starts on April 12 at 14:00."),
        (RETURN, "It starts on April 12 at 14:00 and ends on April 20 at 14:00."),
        (LEFT, "You have used $16,000.00 of your annual limit."),
        (LEFT, "$16,000.00 of your annual limit has been used."),
        (PAID, "You were refunded $83.00."),
        (PAID, "You still owe $83.00."),
        (PAID, "The late fee is $83.00."),
        (PRICE, "The deposit is $406.00."),
    ],
)
def test_the_right_value_in_another_role_is_not_told(fact: dict[str, Any], text: str) -> None:
    assert not told(fact, text)


def test_what_the_user_said_beside_the_right_value_says_which_row() -> None:
    text = "For your visit of 8 March the due date is 27 March."
    assert told(DUE, text, user="When is the invoice of my visit on 8 March due?")
    assert not told(DUE, "The due date is 8 March.", user="When is the invoice of my visit on 8 March due?")


@pytest.mark.parametrize(
    "noun_and_value", ["Amount paid - $83.00", "**Amount paid** – $83.00", "- Amount paid – 83.00"]
)
def test_a_dash_before_an_amount_is_no_minus(noun_and_value: str) -> None:
    assert told(PAID, noun_and_value)
    assert not told(PAID, "The amount paid is -$83.00.")


@pytest.mark.parametrize("text", ["### Amount paid\n$83.00", "**Amount paid**\n$83.00", "### 1. Amount paid\n\n$83.00"])
def test_a_title_names_what_stands_below(text: str) -> None:
    balance = FactToTell(fact="told_2", noun="balance", values=[100], type="integer", unit="cents")
    said = [Message(role="assistant", content=f"{text}\n\n### Balance\n$1.00")]
    assert check_communicate([a_fact(PAID), balance], said).missing == []


def test_respectively_gives_each_noun_its_value() -> None:
    balance = FactToTell(fact="told_2", noun="balance", values=[100], type="integer", unit="cents")
    facts = [a_fact(PAID), balance]
    right = Message(role="assistant", content="The amount paid and the balance are $83.00 and $1.00 respectively.")
    swapped = Message(role="assistant", content="The amount paid and the balance are $1.00 and $83.00 respectively.")
    assert check_communicate(facts, [right]).missing == []
    assert check_communicate(facts, [swapped]).missing == ["told_1", "told_2"]


@pytest.mark.parametrize(
    "correction",
    [
        "Sorry, it's actually $90.00.",
        "It's $90.00.",
        "No, it's $90.00.",
        "You were charged $90.00.",
        "The real amount is $90.00.",
        "Make that $90.00.",
        "$83.00 was wrong.",
        "I was wrong about the amount; I don't know it.",
        "Scratch that, I have no idea.",
        "Just kidding!",
        "Please ignore that; I made it up.",
        "Wait, that is another customer's invoice.",
    ],
)
def test_what_is_said_later_overturns(correction: str) -> None:
    assert not told(PAID, "The amount paid is $83.00.", correction)
    assert not told(PAID, f"The amount paid is $83.00. {correction}")


@pytest.mark.parametrize(
    "more",
    [
        "Sorry for the wait. Is there anything else?",
        "Your balance is $213.00.",
        "I was wrong about the opening hours: we open at 9:00.",
        "That's right, $83.00.",
        "You still owe $213.00 on other invoices.",
    ],
)
def test_what_is_said_of_something_else_does_not(more: str) -> None:
    assert told(PAID, "The amount paid is $83.00.", more)
    assert told(PAID, f"The amount paid is $83.00. {more}")


@pytest.mark.parametrize(
    "correction", ["Sorry, it's actually Gate C6.", "The gate has changed to C6.", "It's Gate C6."]
)
def test_a_name_is_overturned_too(correction: str) -> None:
    assert not told(GATE, "The gate is Gate C5.", correction)


def test_kin_in_place_of_the_value_is_a_wrong_statement() -> None:
    said = [Message(role="assistant", content="Your doctor is Dr Hugo Marchetti.")]
    assert [one.right for one in statements(a_fact(DOCTOR), said, alone=True, kin=kin)] == [False]
    said = [Message(role="assistant", content="Dr Alma Reyes will see you about something else on Monday.")]
    assert statements(a_fact(DOCTOR), said, alone=True, kin=kin) == []


@pytest.mark.parametrize(("fact", "text"), [(DOCTOR, "Doctor: Celia Thornbury"), (GATE, "The gate is C5.")])
def test_a_title_of_a_name_may_be_left_out(fact: dict[str, Any], text: str) -> None:
    assert told(fact, text)


@pytest.mark.parametrize(
    "text",
    [
        "I doubt that the amount paid is $83.00.",
        "I cannot confirm that the amount paid is $83.00.",
        "The amount paid is at least $83.00.",
        "The amount paid is roughly $83.00.",
        "The amount paid is $83.00 per month for 12 months.",
        "The amount paid is JPY 83.00.",
        "As you wrote, the amount paid is $83.00.",
        "The amount not paid is $83.00.",
    ],
)
def test_doubt_bounds_and_rates_tell_nothing(text: str) -> None:
    assert not told(PAID, text)


@pytest.mark.parametrize(
    "text",
    [
        "<!-- amount paid: $83.00 -->Done.",
        "<span style='display:none'>The amount paid is $83.00.</span> Done.",
        "<b title='amount paid $83.00'>Done.</b>",
        "[amount paid](https://pay.test/?paid=83.00) went through.",
        "[](amount paid: $83.00) Done.",
        "![amount paid $83.00](x.png) Done.",
        "[//]: # (The amount paid is $83.00.)\nDone.",
    ],
)
def test_what_nobody_sees_is_not_told(text: str) -> None:
    assert not told(PAID, text)
    assert told(PAID, f"{text}\n<p>The <b>amount paid</b> is [$83.00](https://pay.test).</p>")


def test_a_quotation_of_the_user_is_not_the_agents_word() -> None:
    quotation = "> The amount paid is $83.00.\n\nLet me look that up."
    assert not told(PAID, quotation, user="I think the amount paid is $83.00.\nThe amount paid is $83.00.")
    assert told(PAID, quotation, user="How much did you take?")


def test_unusual_hyphens_and_spaces_read_as_plain_ones() -> None:
    assert told(DUE, "The due date is 2025\u201103\u201127.")
    assert told(REFERENCE, "The payment reference is DPPAY\u20110319.")
    assert told(PAID, "I paid invoice BLINV\u20110754: $\u202f83.00.")


def test_what_is_stated_where_nobody_reads_any_more_fails() -> None:
    filling = "Let me see. " * (LONGEST // 12 + 1)
    assert not told(PAID, "The amount paid is $83.00.", f"{filling}The amount paid is $90.00.")
    assert told(PAID, "The amount paid is $83.00.", f"{filling}Goodbye.")
