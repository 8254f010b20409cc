"""What people take an amount or a day to be, wrongly."""

from random import Random
from typing import Literal

import pytest

from skillweave.schema.combination import Condition
from skillweave.schema.criteria import FactToTell
from skillweave.schema.record import Json
from synth.tasks.forms.answers import _believed
from tests.world.clinic import NOW

PRICE = FactToTell(fact="told_1", noun="price", values=[4300], type="integer", unit="cents", rivals=[3900, 5100])
DAY = FactToTell(fact="told_1", noun="last day", values=["2025-06-20"], type="date")


@pytest.mark.parametrize(("fact", "limit"), [(PRICE, 4000), (PRICE, 4500), (DAY, "2025-06-15"), (DAY, "2025-06-24")])
@pytest.mark.parametrize("holds", ["above", "at_most"])
def test_who_sets_a_condition_believes_that_it_is_met(
    fact: FactToTell, limit: Json, holds: Literal["above", "at_most"]
) -> None:
    column = "price_cents" if fact is PRICE else "valid_until"
    condition = Condition(parameter="id", column=column, noun=fact.noun, holds=holds, limit=limit, then="leave")
    believed = [_believed(fact, NOW, Random(seed), [condition]) for seed in range(40)]
    assert any(believed)
    assert all(value > limit if holds == "above" else value <= limit for value in believed if value)  # type: ignore[operator]
    assert all(value not in fact.values for value in believed)
