import random
from itertools import permutations

import pytest

from skillweave.schema.contract import RowChange
from skillweave.schema.record import Json
from skillweave.world.canonical import canonical
from tests.work import calls_of


def a_row(table: str, key: str, **cells: Json) -> RowChange:
    return RowChange(table=table, op="insert", key={"id": key}, after={"id": key, **cells})


def renamed(changes: list[RowChange], names: dict[str, str]) -> list[RowChange]:
    text = [change.model_dump_json() for change in changes]
    for old in names:
        text = [line.replace(old, f"<{old}>") for line in text]
    for old, new in names.items():
        text = [line.replace(f"<{old}>", new) for line in text]
    return [RowChange.model_validate_json(line) for line in text]


def test_only_minted_ids_are_renamed() -> None:
    changes = [a_row("loan", "LOA-0002", copy="COP-0001", note="LOA-0001")]
    assert canonical(changes, ["LOA-0002"])[0].after == {"id": {"$new": 1}, "copy": "COP-0001", "note": "LOA-0001"}
    assert canonical(changes, [])[0].after == changes[0].after


def test_an_id_is_a_whole_token_and_the_rest_of_a_derived_value_stays_visible() -> None:
    changes = [a_row("pay", "PAY-0010", receipt="TC-PAY-0010", odd="PAY-00101", text="paid by XPAY-0010")]
    after = canonical(changes, ["PAY-0010"])[0].after or {}
    assert after["id"] == {"$new": 1}
    assert after["receipt"] == {"$new": 2, "text": "TC-{1}"}
    assert (after["odd"], after["text"]) == ("PAY-00101", "paid by XPAY-0010")
    other = [a_row("pay", "PAY-0011", receipt="XC-PAY-0011", odd="PAY-00101", text="paid by XPAY-0010")]
    assert canonical(other, ["PAY-0011"]) != canonical(changes, ["PAY-0010"])


CASES = {
    "twins": [a_row("a", "A-1", x=1), a_row("a", "A-2", x=1)],
    "told apart by a row that refers to one": [
        a_row("a", "A-1", x=1),
        a_row("a", "A-2", x=1),
        a_row("b", "B-1", a="A-2"),
    ],
    "a chain": [
        a_row("a", "A-1", next="A-2"),
        a_row("a", "A-2", next="A-3"),
        a_row("a", "A-3", next=None),
        a_row("b", "B-1", a="A-1"),
    ],
    "two cycles of three": [
        a_row("a", f"A-{place}", next=f"A-{place - place % 3 + (place + 1) % 3}") for place in range(3, 9)
    ],
    "crossed": [a_row("b", f"B-{place}", one=f"A-{place % 2}", other=f"A-{(place + 1) % 2}") for place in range(4)],
}


@pytest.mark.parametrize("name", CASES)
def test_any_renumbering_and_order_gives_the_same_form(name: str) -> None:
    changes = CASES[name]
    ids = sorted({key for change in changes for key in change.key.values() if isinstance(key, str)} | {"A-0", "A-1"})
    expected = canonical(changes, ids)
    shuffle = random.Random(3)
    for order in list(permutations(ids))[:: max(1, len(list(permutations(ids))) // 20)]:
        fresh = [f"{old[0]}-{90 + place}" for place, old in enumerate(order)]
        moved = renamed(changes, dict(zip(ids, fresh, strict=True)))
        shuffle.shuffle(moved)
        assert canonical(moved, fresh) == expected


def test_a_cycle_of_six_is_not_two_of_three() -> None:
    six = [a_row("a", f"A-{place}", next=f"A-{(place + 1) % 6}") for place in range(6)]
    two = [a_row("a", f"A-{place}", next=f"A-{place - place % 3 + (place + 1) % 3}") for place in range(6)]
    ids = [f"A-{place}" for place in range(6)]
    assert canonical(six, ids) != canonical(two, ids)


def test_many_alike_rows_are_named_with_work_that_grows_as_they_do() -> None:
    def named(count: int) -> list[RowChange]:
        ids = [f"A-{place}" for place in range(count)]
        return canonical([a_row("a", id, x=1) for id in ids], ids)

    assert sorted(str(change.key["id"]) for change in named(400)) == sorted(str({"$new": n}) for n in range(1, 401))
    assert calls_of(lambda: named(400)) < 6 * calls_of(lambda: named(100))
