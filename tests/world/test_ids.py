"""The counter goes on behind everything that a session begins with, patches included."""

from skillweave.schema.contract import RowChange
from skillweave.schema.record import Json
from tests.world.clinic import ROWS, a_world


def a_fee(key: str) -> dict[str, Json]:
    return {**ROWS["Fee"][0], "fee_id": key}


def minted_after(*patch: RowChange) -> list[str]:
    with a_world().session(caller="PAT-0001", patch=patch) as session:
        assert session.call("book_appointment", {"slot_id": "SLO-0004"}).ok
        return session.minted


def test_ids_go_on_behind_a_patched_row_and_grow_with_its_digits() -> None:
    added = RowChange(table="fee", op="insert", key={"fee_id": "FEE-0950"}, after=a_fee("FEE-0950"))
    longer = RowChange(table="fee", op="insert", key={"fee_id": "FEE-100950"}, after=a_fee("FEE-100950"))
    assert minted_after(added)[0] == "APT-0951"
    assert minted_after(longer)[0] == "APT-100951"


def test_ids_go_back_with_the_last_row_that_a_patch_deletes() -> None:
    last = RowChange(table="slot", op="delete", key={"slot_id": "SLO-0008"})
    other = RowChange(table="slot", op="delete", key={"slot_id": "SLO-0007"})
    assert minted_after()[0] == "APT-0009"
    assert minted_after(other)[0] == "APT-0009"
    assert minted_after(last)[0] == "APT-0008"
