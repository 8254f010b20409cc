"""What is chosen is first in each way that people may mean: by the day and in all, by the visit and by the bill."""

from random import Random

import pytest

from skillweave.schema.combination import MentionedRow
from skillweave.schema.record import Json
from synth.tasks.forms.choice import wishes_of
from synth.tasks.forms.form import FormSetting, ListedRow
from synth.tasks.kinds import Instance
from tests.tasks.forms.clinic import WORLD, named

READ = "list_appointments"


def chosen(rows: list[dict[str, Json]], column: str) -> set[str]:
    """Which rows can be wished for as the least or most by a column."""
    setting = FormSetting(WORLD, named("cancel"), "PAT-0001", [], Random(0), lambda _, __: Instance())
    mention = MentionedRow(call=0, parameter=None, entity="Appointment", key=None, read=READ, columns={})
    wishes = wishes_of(setting, ListedRow(mention, 0, 0, "appointment_id", rows), {})
    return {str(rows[one.place]["appointment_id"]) for one in wishes if one.best.column == column}


@pytest.mark.parametrize(
    ("column", "other", "firsts", "agree", "differ"),
    [
        ("daily_cents", "total_cents", [3000, 4000, 5000], [0, 900, 1000], [900, 0, 1000]),
        ("price_cents", "amount_cents", [3000, 4000, 5000], [None, None, None], [900, None, 800]),
        ("price_cents", "amount_cents", [3000, 4000, 5000], [700, 800, 900], [None, 800, 900]),
        (
            "starts_at",
            "issued_at",
            ["2025-02-03 09:00:00", "2025-02-11 09:00:00", "2025-02-19 09:00:00"],
            ["2025-01-03 09:00:00", "2025-01-04 09:00:00", "2025-01-05 09:00:00"],
            ["2025-01-04 09:00:00", "2025-01-03 09:00:00", "2025-01-05 09:00:00"],
        ),
    ],
)
def test_the_first_is_so_in_each_way(
    column: str, other: str, firsts: list[Json], agree: list[Json], differ: list[Json]
) -> None:
    def rows(others: list[Json]) -> list[dict[str, Json]]:
        return [{"appointment_id": at, column: a, other: b} for at, a, b in zip("ABC", firsts, others, strict=True)]

    assert "A" in chosen(rows(agree), column)
    assert "A" not in chosen(rows(differ), column)


@pytest.mark.parametrize(("first", "is_meant"), [("2025-01-02 09:00:00", False), ("2025-02-03 09:00:00", True)])
def test_what_starts_first_lies_ahead_if_anything_does(first: str, is_meant: bool) -> None:
    starts = [first, "2025-02-11 09:00:00", "2025-02-19 09:00:00"]
    rows: list[dict[str, Json]] = [
        {"appointment_id": at, "starts_at": one} for at, one in zip("ABC", starts, strict=True)
    ]
    assert ("A" in chosen(rows, "starts_at")) is is_meant
    past = [row | {"starts_at": str(row["starts_at"]).replace("2025", "2024")} for row in rows]
    assert "A" in chosen(past, "starts_at")
