"""Which forms of a value are found in a text, and which others are not."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.text.facts import states_value, value_forms
from evaluator.text.tokens import normalised_text, tokens
from skillweave.schema.record import Json

NOW = "2025-03-17 09:00:00"
CENTS = {"unit": "cents"}


@pytest.mark.parametrize(
    ("text", "value", "how"),
    [
        ("The price for the whole time is 420.00 (7 days at 49.00 + 11.00 insurance)", 42000, CENTS),
        ("Your balance was **170.50** before the payment", 17050, CENTS),
        ("Together that is \u00a31,170.50.", 117050, CENTS),
        ("it costs \u20ac85", 8500, CENTS),
        ("11,16 EUR", 1116, CENTS),
        ("a credit of -50.00", -5000, CENTS),
        ("exactly 1116 cents", 1116, CENTS),
        ("| deposit | 72.00 |", 7200, CENTS),
        ("you have twenty-five left", 25, {}),
        ("15% off", 15, {}),
        ("on 2025-03-22 10:30:00 UTC", "2025-03-22 10:30:00", {}),
        ("2025-03-22T10:30:00Z", "2025-03-22 10:30:00", {}),
        ("**Saturday 22 March**, 10:30 am", "2025-03-22 10:30:00", {}),
        ("10.30am on Saturday", "2025-03-22 10:30:00", {}),
        ("March 22nd at 10:30", "2025-03-22 10:30:00", {}),
        ("22/03/2025 at 10:30", "2025-03-22 10:30:00", {}),
        ("| 3 Apr | 18:30 |", "2025-04-03 18:30:00", {}),
        ("tomorrow at 9", "2025-03-18 09:00:00", {}),
        ("today at noon", "2025-03-17 12:00:00", {}),
        ("Sept 4, 2025 9am", "2025-09-04 09:00:00", {}),
        ("your last check-up was on 14 March 2024", "2024-03-14", {}),
        ("the 4th of March", "2025-03-04", {}),
        ("due 06 Jun 2025", "2025-06-06", {}),
        ("next Thursday", "2025-03-20", {"loosely": True}),
        ("Wednesday, April 2, 2025, 3:00 \u2013 6:00 PM", "2025-04-02 15:00:00", {}),
        ("from 3 to 6 pm on 2 April", "2025-04-02 15:00:00", {}),
        ("Time: 3:00 in the afternoon\nDate: 2 April", "2025-04-02 15:00:00", {}),
        ("on 24 and 25 March", "2025-03-24", {}),
        ("on 24 April", "2025-04-24 00:00:00", {}),
        ("24 April 2025 at 00:00", "2025-04-24 00:00:00", {}),
        ("2025/03/24", "2025-03-24", {}),
        ("GBP52.00", 5200, CENTS),
        ("88 pounds and 20 pence", 8820, CENTS),
        ("5,200 cents", 5200, CENTS),
        ("1.234,50 EUR", 123450, CENTS),
        ("one hundred and fifty", 15000, CENTS),
        ("the 26-kg one", 26, {}),
        ("open until 22:00 (from 06:00)", "22:00:00", {"type": "string"}),
        ("we close at 10 pm", "22:00:00", {"type": "string"}),
        ("it closes at 22:00:00", "22:00:00", {"type": "string"}),
        ("Reinholt, Tomas", "Tomas Reinholt", {}),
        ("by credit-card", "credit_card", {}),
        ("It was **cancelled**", "canceled", {}),
        ("That's Bay B.", "Bay B", {}),
        ("Thyrexin 50mcg tablets", "Thyrexin 50 mcg tablets", {}),
        ("ref. blinv 0547", "BLINV-0547", {}),
    ],
)
def test_usual_forms_of_a_value_are_found(text: str, value: Json, how: dict[str, Any]) -> None:
    assert states_value(text, value, now=NOW, **how)


@pytest.mark.parametrize(
    ("text", "value", "how"),
    [
        ("invoice BLINV-0547", 547, {}),
        ("room 17", "Room 7", {}),
        ("14 March", "2024-03-14", {}),
        ("2025-03-22 11:30", "2025-03-22 10:30:00", {}),
        ("22 March", "2025-03-22 10:30:00", {}),
        ("4 March at 14:00, 5 March at 11:30", "2025-03-04 10:30:00", {}),
        ("on 22 March at 9:00 and on 23 March at 10:30", "2025-03-24 10:30:00", {}),
        ("142.00", 4200, CENTS),
        ("4200", 4200, CENTS),
        ("1,420.00", 42000, CENTS),
        ("<think>420.00</think>I cannot say.", 42000, CENTS),
        ("I cannot say.<!-- 420.00 -->", 42000, CENTS),
        ("in May 2025", 5, {}),
        ("at 10:30", 30, {}),
        ("the cardigan", "card", {}),
        ("2025-03-04", 4, {}),
        ("31/02/2025", "2025-03-03", {}),
        ("Wednesday 2 April 2025", "2025-03-26", {}),
        ("Wednesday 2 April 2025 at 07:30", "2025-03-26 07:30:00", {}),
        ("Anything else that I can do for you today?", "2025-03-17", {}),
        ("See you tomorrow. Have a lovely Monday!", "2025-03-18", {}),
        ("24 March at 16:30; 25 March at 15:30", "2025-03-24 15:30:00", {}),
        ("24 March at 10, slot 9", "2025-03-24 09:00:00", {}),
        ("the 45th", 4500, CENTS),
        ("at 12:45:00", 4500, CENTS),
        ("24 April 2025 at 12:00", "2025-04-24 00:00:00", {}),
        ("no one, one of them", 1, {}),
        ("yes", True, {}),
        ("null", None, {}),
    ],
)
def test_other_values_are_not_taken_for_it(text: str, value: Json, how: dict[str, Any]) -> None:
    assert not states_value(text, value, now=NOW, **how)


def test_the_day_of_a_time_may_have_been_said_before() -> None:
    assert states_value(
        "The one at 10:30, please.", "2025-03-22 10:30:00", now=NOW, earlier=["On 22 March: 9:00, 10:30"]
    )
    assert not states_value("The one at 10:30, please.", "2025-03-22 10:30:00", now=NOW, earlier=["On 23 March: 10:30"])
    assert not states_value("At 10:30 on 23 March.", "2025-03-22 10:30:00", now=NOW, earlier=["On 22 March: 10:30"])


@given(st.integers(min_value=0, max_value=10**9))
def test_every_form_of_an_amount_is_found_and_no_form_of_the_next(cents: int) -> None:
    for form in value_forms(cents, unit="cents"):
        assert states_value(f"It is {form}, as I said.", cents, unit="cents")
        assert not states_value(f"It is {form}, as I said.", cents + 100, unit="cents")


@given(st.datetimes().filter(lambda when: when.year > 1000))
def test_every_form_of_a_moment_is_found(when: Any) -> None:
    value = when.strftime("%Y-%m-%d %H:%M:00")
    for form in value_forms(value, "datetime"):
        assert states_value(f"It is on {form}.", value, type="datetime")
    for form in value_forms(value[:10], "date"):
        assert states_value(f"It is on {form}.", value[:10], type="date")


@given(st.text(max_size=300))
def test_any_text_can_be_cut_into_tokens(text: str) -> None:
    assert all(token.text in normalised_text(text) for token in tokens(text))


def test_hostile_texts_are_read_to_a_bound() -> None:
    odd = ["1 " * 60_000, "a-" * 60_000 + "1@", "jan 1 or " * 20_000, "<think>" * 20_000, "+44 7" * 30_000]
    assert [len(normalised_text(text)) <= 20_000 for text in odd] == [True] * len(odd)
    assert [len(tokens(text)) <= 20_000 for text in odd] == [True] * len(odd)
    assert not any(states_value(text, "2025-03-22 10:30:00", now=NOW, earlier=odd) for text in odd)
