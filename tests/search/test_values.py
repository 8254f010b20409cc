"""Candidate values: what people say, and what a guard is there to refuse."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from skillweave.schema.contract import Parameter
from skillweave.schema.record import Row, Value
from synth.search.slots import Slot
from synth.search.values import MISSING_KEY, odd_values, plain_values

NOW = "2025-03-17 09:00:00"


class Nothing:
    """A state in which no column holds anything."""

    def query(self, sql: str, bindings: Mapping[str, Value]) -> Sequence[Row]:
        return []


def a_slot(type: str, literals: tuple[float, ...] = (), **parts: object) -> Slot:
    parameter = Parameter.model_validate({"name": "wanted", "type": type, "description": "", **parts})
    return Slot(parameter, (), literals)


def test_examples_are_all_that_people_say_of_free_text() -> None:
    assert plain_values(a_slot("string", examples=["the card was stolen"]), Nothing(), NOW) == [["the card was stolen"]]


def test_text_without_examples_still_has_something_to_say() -> None:
    assert all(isinstance(text, str) and len(text) > 5 for text in plain_values(a_slot("string"), Nothing(), NOW)[-1])


class Holding:
    """A state in which the column that is compared holds these values."""

    def __init__(self, *values: Value) -> None:
        self._values = values

    def query(self, sql: str, bindings: Mapping[str, Value]) -> Sequence[Row]:
        return [{"value": value} for value in self._values]


def test_dates_lie_on_both_sides_of_now() -> None:
    dates = [str(date) for group in plain_values(a_slot("date"), Nothing(), NOW) for date in group]
    assert min(dates) < NOW[:10] < max(dates)
    assert NOW[:10] in dates


def test_the_coming_weeks_are_named_before_other_days_and_decades_last() -> None:
    for kind in ("date", "datetime"):
        groups = plain_values(a_slot(kind), Nothing(), NOW)
        assert min(map(str, groups[0]))[:10] >= NOW[:10]
        assert max(map(str, groups[0])) < "2025-05-20"
        assert all("2024-09" < str(day) < "2025-10" for group in groups[:3] for day in group)
    assert any(str(day) < "2000" for day in plain_values(a_slot("date"), Nothing(), NOW)[-1])


def test_days_gone_by_are_named_first_where_only_such_are_held() -> None:
    slot = replace(a_slot("date"), columns=(("visit", "seen_on"),))
    first = plain_values(slot, Holding("2025-03-11", "2024-01-05"), NOW)[0]
    assert "2025-03-11" in first
    assert max(map(str, first)) == NOW[:10]
    assert plain_values(slot, Holding("2025-03-11", "2025-04-02"), NOW)[0][0] == "2025-04-02"


def test_far_days_that_an_author_gives_as_examples_come_first() -> None:
    births = ["1961-04-30", "2015-08-08"]
    assert plain_values(a_slot("date", examples=births), Nothing(), NOW)[0] == births


def test_odd_values_leave_the_bounds_of_the_contract() -> None:
    numbers = odd_values(a_slot("integer", (5.0, 90.0)), [])
    assert {4, 91, 0, -1} <= set(numbers)


def test_a_key_that_no_row_has_is_odd_and_never_plain() -> None:
    assert odd_values(a_slot("string", refers_to="Item.item_id"), []) == [MISSING_KEY]
    assert "" in odd_values(a_slot("string", examples=["blue"]), [["blue"]])
    assert "" not in plain_values(a_slot("string", examples=["blue"]), Nothing(), NOW)[0]
