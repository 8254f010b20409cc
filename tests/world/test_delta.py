"""The difference between two differences, against the states that they tell of."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from skillweave.schema.contract import RowChange
from skillweave.world.diff import delta

Row = dict[str, int]
State = dict[str, Row]
KEYS = ("a", "b", "c")

rows = st.fixed_dictionaries({"x": st.integers(0, 2), "y": st.integers(0, 2)})
states = st.dictionaries(st.sampled_from(KEYS), rows, max_size=3)


def difference(old: State, new: State) -> list[RowChange]:
    found = []
    for key in sorted({*old, *new}):
        before, after = old.get(key), new.get(key)
        if before == after:
            continue
        whole: dict[str, Any] = {"table": "t", "key": {"id": key}}
        if before is None or after is None:
            op = "insert" if before is None else "delete"
            whole["before"] = before and {"id": key, **before}
            whole["after"] = after and {"id": key, **after}
        else:
            op = "update"
            names = [name for name in before if before[name] != after[name]]
            whole |= {"before": {n: before[n] for n in names}, "after": {n: after[n] for n in names}}
        found.append(RowChange.model_validate({**whole, "op": op}))
    return found


@given(states, states, states)
def test_it_is_the_difference_of_the_states_that_both_lead_to(start: State, then: State, now: State) -> None:
    found = delta(difference(start, then), difference(start, now))
    assert sorted(found, key=lambda change: str(change.key)) == difference(then, now)
