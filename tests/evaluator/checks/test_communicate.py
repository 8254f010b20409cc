from typing import Any, Literal

import pytest

from evaluator.checks.communicate import check_communicate
from skillweave.schema.message import FunctionCall, Message, ToolCall
from skillweave.schema.task import FactToTell

FEE: dict[str, Any] = {
    "fact": "fee",
    "noun": "cancellation fee",
    "values": [120000],
    "type": "integer",
    "unit": "cents",
    "rivals": [4500],
}
START: dict[str, Any] = {
    "fact": "start",
    "noun": "the appointment",
    "values": ["2025-01-24 09:30:00"],
    "type": "datetime",
    "rivals": ["2025-01-27 09:30:00", "2025-01-24 14:00:00"],
}
DUE: dict[str, Any] = {"fact": "due", "noun": "due date", "values": ["2025-01-24"], "type": "date"}
POINTS: dict[str, Any] = {"fact": "points", "noun": "points", "values": [1234], "type": "integer", "rivals": [77]}
DENTIST: dict[str, Any] = {
    "fact": "who",
    "noun": "dentist",
    "values": ["Dr Hale"],
    "type": "string",
    "rivals": ["Dr Iyer"],
}


def told(fact: dict[str, Any], *said: str) -> bool:
    messages = [Message(role="assistant", content=text) for text in said]
    return check_communicate([FactToTell.model_validate(fact)], messages).score == 1


@pytest.mark.parametrize(
    ("fact", "text"),
    [
        (FEE, "The cancellation fee is 1,200.00 EUR."),
        (FEE, "The fee is $1,200, for 2 visits."),
        (FEE, "Fee: 1200"),
        (FEE, "A cancellation fee of **€1200.00** applies."),
        (FEE, "That would be a fee of 120000 cents."),
        (FEE, "Here is the cancellation fee:\n\n- 1,200.00"),
        (START, "Your appointment is on Friday, January 24 at 9:30 am."),
        (START, "The appointment starts on 24 January 2025 at 09:30."),
        (START, "Appointment APT-0012: 2025-01-24 09:30:00."),
        (START, "Your appointment is on the 24th of Jan. at 9.30am."),
        (DUE, "The due date is January 24th, 2025."),
        (DUE, "It is due on 2025-01-24."),
        (POINTS, "You have 1,234 points."),
        (DENTIST, "Your dentist is dr. Hale!"),
    ],
)
def test_a_value_is_told_in_any_form_that_means_it(fact: dict[str, Any], text: str) -> None:
    assert told(fact, "Let me look.", text)


@pytest.mark.parametrize(
    ("fact", "text"),
    [
        (FEE, "Done!"),
        (FEE, "The fee is 45.00."),
        (FEE, "The fee is 12.00."),
        (FEE, "The fee is 120000."),
        (FEE, "The fee is 1,200.00 or 45.00."),
        (FEE, "Fees:\n- first visit: 1,200.00\n- second visit: 45.00"),
        (FEE, "The fee is 1,200.00. Actually the fee is 1,300.00."),
        (START, "Your appointment is on January 24."),
        (START, "Your appointment is on January 24 at 9:30 pm."),
        (START, "Your appointment is on 24/01 at 09:30."),
        (START, "Your appointment is on January 24, 2026 at 09:30."),
        (START, "Appointments: January 24 at 09:30, and January 27 at 09:30."),
        (DUE, "The due date is January 25."),
        (POINTS, "You have 11,234 points."),
        (POINTS, "You have 1234.5 points."),
        (POINTS, "Appointment APT-1234 gives points."),
        (DENTIST, "Your dentist is Dr Iyer."),
        (DENTIST, "Your dentist is Dr Hale or Dr Iyer."),
        (DENTIST, "Your dentist is Dr Haley."),
    ],
)
def test_nothing_else_tells_it(fact: dict[str, Any], text: str) -> None:
    assert not told(fact, text)


def test_the_last_statement_counts() -> None:
    assert not told(FEE, "The fee is 1,200.00.", "Sorry, the fee is 45.00.")
    assert told(FEE, "The fee is 45.00.", "I was wrong: the fee is 1,200.00.")
    assert told(FEE, "The fee is 1,200.00.", "Anything else? Your 2 appointments are on January 24.")


def test_only_the_agents_own_words_tell() -> None:
    call = ToolCall(id="1", function=FunctionCall(name="transfer_to_human", arguments='{"summary": "fee 1,200.00"}'))
    messages = [
        Message(role="user", content="Is the fee 1,200.00?"),
        Message(role="assistant", content=None, tool_calls=[call]),
        Message(role="tool", content='{"fee": "1200.00"}', tool_call_id="1"),
        Message(role="assistant", content="Yes."),
    ]
    assert check_communicate([FactToTell.model_validate(FEE)], messages).missing == ["fee"]


def test_the_score_is_the_share_told() -> None:
    facts = [FactToTell.model_validate(fact) for fact in (FEE, DENTIST)]
    found = check_communicate(facts, [Message(role="assistant", content="Your dentist is Dr Hale.")])
    assert (found.score, found.missing) == (0.5, ["fee"])
    assert check_communicate([], []).score == 1.0


@pytest.mark.parametrize(
    ("noun", "names", "value", "unit", "answer"),
    [
        ("price", ["new"], 12780, "cents", "The new appointment will cost 127.80."),
        ("amount paid", ["payme"], 58200, "cents", "The payment came to 582.00."),
        ("arrival", ["arriv"], "2025-04-23 12:20:00", None, "You arrive at 12:20 on 23 April."),
        ("appointment", [], "2025-04-13 08:00:00", None, "It is on 13 April at 8 am."),
        ("doctor", ["presc"], "Dr Celia Thornbury", None, "It was prescribed by Dr Celia Thornbury."),
        ("amount still to pay", ["outst"], 5800, "cents", "58.00 is outstanding."),
    ],
)
def test_plain_answers_count_whatever_word_they_use(
    noun: str, names: list[str], value: str | int, unit: Literal["cents"] | None, answer: str
) -> None:
    kind: Literal["integer", "datetime", "string"] = "integer" if unit else "string"
    if str(value).startswith("2025"):
        kind = "datetime"
    fact = FactToTell(fact="told_1", noun=noun, names=names, values=[value], type=kind, unit=unit)
    message = Message(role="assistant", content=answer)
    assert check_communicate([fact], [message]).score == 1


def test_of_two_facts_each_has_to_be_named() -> None:
    price = FactToTell(fact="told_1", noun="price", names=[], values=["Room 1"], type="string")
    place = FactToTell(fact="told_2", noun="place", names=["where"], values=["Room 2"], type="string")
    said = [Message(role="assistant", content="Room 1. The place is Room 2.")]
    assert check_communicate([price, place], said).missing == ["told_1"]


def test_all_candidates_in_sentences_of_their_own_spoil_an_unnamed_fact() -> None:
    fact = FactToTell(fact="told_1", noun="price", values=[1200], type="integer", unit="cents", rivals=[1500])
    assert check_communicate([fact], [Message(role="assistant", content="A is 12.00. B is 15.00.")]).score == 0


def test_naming_every_value_there_could_be_tells_nothing() -> None:
    price = FactToTell(fact="told_1", noun="balance", values=[1300], type="integer", unit="cents")
    every = ", ".join(f"{cents / 100:.2f}" for cents in range(1000, 2000, 50))
    assert (
        check_communicate([price], [Message(role="assistant", content=f"The balance is one of: {every}.")]).score == 0
    )
    due = FactToTell(fact="told_1", noun="due date", values=["2025-03-09"], type="date")
    days = ", ".join(f"{day} March" for day in range(1, 32))
    assert check_communicate([due], [Message(role="assistant", content=f"The due date is one of {days}.")]).score == 0


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("I cannot find the balance; it is certainly not 13.00.", 0),
        ("The balance is not 12.00 but 13.00.", 1),
        ("Your balance is 13.00, and nothing is overdue.", 1),
        ("You do not have to worry: the balance is 13.00.", 1),
    ],
)
def test_what_is_denied_is_not_told(answer: str, told: int) -> None:
    fact = FactToTell(fact="told_1", noun="balance", values=[1300], type="integer", unit="cents")
    assert check_communicate([fact], [Message(role="assistant", content=answer)]).score == told
