from decimal import Decimal

from evaluator.words.mentions import Day, mentions, sentences


def test_numbers_are_no_parts_of_dates_times_and_ids() -> None:
    found = mentions("On 2025-01-24 at 09:30, 3 May and May 4, 2025 at 5 pm, APT-0012 costs 45.50 for 2 visits.")
    assert found.numbers == [Decimal("45.50"), Decimal(2)]
    assert found.days == [Day(1, 24, 2025), Day(5, 3), Day(5, 4, 2025)]
    assert found.times == [(9, 30), (17, 0)]


def test_noon_and_midnight_have_their_hours() -> None:
    assert sorted(mentions("12:15 pm and 12:20 a.m. and 12 am").times) == [(0, 0), (0, 20), (12, 15)]


def test_amounts_are_read_in_cents() -> None:
    found = mentions("$1,200 and 12.5 and 99 cents and 10% and 3.999")
    assert found.cents == [120000, 1250, 99, 1000]
    assert found.amounts == 2


def test_a_list_belongs_to_the_line_above_it() -> None:
    text = "Your fees:\n\n- A: 30.00\n2. **B**: 45.00\n\nAnything else? No. Dr. Hale is in.\nNote:"
    assert list(sentences(text)) == [
        "Your fees: A: 30.00 B: 45.00",
        "Anything else?",
        "No.",
        "Dr. Hale is in.",
        "Note:",
    ]
