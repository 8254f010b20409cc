"""Numbers and shares in words."""

import pytest

from skillweave.base.command import percent, plain_number


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (0, "0.0%"),
        (1e-9, "<0.1%"),
        (0.0004, "<0.1%"),
        (0.0006, "0.1%"),
        (0.03, "3.0%"),
        (0.5, "50.0%"),
        (0.999, "99.9%"),
        (0.99999, "99.9%"),
        (1, "100.0%"),
        (100, "10,000.0%"),
        (12345, "1,234,500.0%"),
    ],
)
def test_a_share_has_no_exponent_and_only_all_reads_as_all(share: float, words: str) -> None:
    assert percent(share) == words
    assert percent(share, " %") == words.replace("%", " %")


@pytest.mark.parametrize(
    ("value", "words"),
    [(0, "0"), (0.25, "0.25"), (1, "1"), (100, "100"), (12345, "12,345"), (1234567.5, "1,234,567.5")],
)
def test_a_number_has_no_exponent(value: float, words: str) -> None:
    assert plain_number(value) == words
