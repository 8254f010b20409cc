"""Sets of rows that are added up leave out what adds nothing, by the words that everybody uses for it."""

from random import Random

import pytest

from skillweave.schema.combination import RowSet
from skillweave.schema.record import Json
from synth.tasks.forms.row_sets import adds_nothing, is_clear, is_meant, may_be_meant, without_what_adds_nothing


def rows(*values: str, column: str = "kind") -> list[dict[str, Json]]:
    return [{"payment_id": f"P-{at}", column: value} for at, value in enumerate(values)]


def left(listed: list[dict[str, Json]], seed: int = 0) -> list[tuple[list[int], list[dict[str, Json]]]]:
    ended = [at for at, row in enumerate(listed) if adds_nothing(row)]
    wish = RowSet(entity="Payment", size=0)
    found = [*without_what_adds_nothing(wish, listed, range(len(listed)), ended, Random(seed))]
    for one in found:
        assert [at for at, row in enumerate(listed) if is_meant(row, one.rows)] == one.meant
        assert one.rows.size == len(one.meant)
        assert sorted([*one.meant, *one.excepted]) == [*range(len(listed))]
    return [(one.meant, one.rows.excepted) for one in found]


def test_refunds_are_left_out_and_often_deposits_too() -> None:
    listed = rows("settlement", "refund", "deposit", "settlement")
    ways = [left(listed, seed)[0] for seed in range(20)]
    assert ([0, 2, 3], [{"kind": "refund"}]) in ways
    assert ([0, 3], [{"kind": "refund"}, {"kind": "deposit"}]) in ways
    assert {str(excepted) for _, excepted in ways} == {
        "[{'kind': 'refund'}]",
        "[{'kind': 'refund'}, {'kind': 'deposit'}]",
    }


def test_deposits_stay_where_nothing_else_would() -> None:
    assert left(rows("deposit", "refund", "deposit")) == [([0, 2], [{"kind": "refund"}])]


@pytest.mark.parametrize("values", [("refund", "refund"), ("cancelled", "cancelled")])
def test_nothing_is_left_of_what_all_adds_nothing(values: tuple[str, ...]) -> None:
    assert left(rows(*values, column="kind" if "refund" in values else "status")) == []


def test_statuses_that_come_to_nothing_are_left_out_together() -> None:
    listed = rows("paid", "cancelled", "no_show", "paid", column="status")
    assert left(listed) == [([0, 3], [{"status": "cancelled"}, {"status": "no_show"}])]


def test_a_month_is_clear_only_if_the_payment_and_what_it_is_for_are_both_in_it() -> None:
    listed: list[dict[str, Json]] = [
        {"check_in": "2025-03-20", "paid_at": "2025-02-23 09:00:00"},
        {"check_in": "2025-03-21", "paid_at": "2025-03-02 09:00:00"},
    ]
    assert may_be_meant("paid_at", listed)
    assert not may_be_meant("paid_at", [*listed, {"check_in": "2025-03-22", "paid_at": None}])
    assert not may_be_meant("changed_at", [{"changed_at": "2025-03-22 09:00:00"}])
    since = RowSet(entity="Payment", size=1, day_column="check_in", other_days=["paid_at"], month="2025-03", since=True)
    assert [is_clear(row, since) for row in listed] == [False, True]
