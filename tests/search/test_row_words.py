"""The words by which people refer to a row: as few columns as tell it apart."""

from random import Random

import pytest

from skillweave.schema.record import Row
from synth.search.row_words import distinguishing_columns

CLASSES: list[Row] = [
    {"name": "Tourer", "seats": 7, "category": "family", "since": "2024-10-06"},
    {"name": "Estate", "seats": 5, "category": "family", "since": "2024-10-06"},
    {"name": "Mini", "seats": 4, "category": "economy", "since": "2024-11-01"},
]
RENTALS: list[Row] = [
    {"name": "Mini", "starts_at": "2025-04-03 09:00:00", "booked_at": "2025-03-01 10:00:00"},
    {"name": "Mini", "starts_at": "2025-04-25 14:00:00", "booked_at": "2025-03-02 10:00:00"},
    {"name": "Estate", "starts_at": "2025-05-01 14:00:00", "booked_at": "2025-03-03 10:00:00"},
]


def said(rows: list[Row], index: int, columns: list[str]) -> set[tuple[str, ...]]:
    """The columns that are ever said of a row."""
    draws = (distinguishing_columns(rows, index, columns, Random(seed)) for seed in range(60))
    return {tuple(words or ()) for words in draws}


def test_a_figure_is_only_said_where_it_is_needed() -> None:
    assert said(CLASSES, 0, ["name", "seats"]) == {("name",)}
    assert said([CLASSES[0], {**CLASSES[0], "seats": 5}], 0, ["name", "seats"]) == {("seats",)}


def test_what_all_rows_share_is_never_said() -> None:
    assert said(CLASSES[:2], 0, ["name", "category", "since"]) == {("name",)}


def test_a_name_mostly_stands_alone_and_now_and_then_with_a_day() -> None:
    assert said(RENTALS, 2, ["name", "starts_at", "booked_at"]) == {("name",), ("name", "starts_at")}
    alone = [distinguishing_columns(RENTALS, 2, ["name", "starts_at"], Random(seed)) for seed in range(200)]
    assert sum(words == {"name": "Estate"} for words in alone) > 140


def test_of_two_days_one_is_enough() -> None:
    assert said(RENTALS, 1, ["starts_at", "booked_at"]) == {("starts_at",)}


@pytest.mark.parametrize("index", [0, 1])
def test_equal_rows_cannot_be_told_apart(index: int) -> None:
    assert distinguishing_columns([CLASSES[0], CLASSES[0]], index, ["name", "seats"], Random(1)) is None
