"""Golden calls of single domains in a fused world: the same, and named where a bridge rule changes them."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from skillweave.base.errors import WorldError
from synth.fusion.replay import SingleWorld, replay_goldens
from tests.gates.services import NOW, PAID_FIRST, a_task, call, contract, service, single_state, world


def home(folder: Path, server: str, amount: int = 0) -> SingleWorld:
    """A company with one kept task, by default none."""
    file = folder / f"{server}.sqlite"
    file.write_bytes(single_state(server))
    claim = call("claim_back", reference=("x", "user"), amount_cents=(amount, "user"), day=("2025-03-11", "user"))
    task = a_task(
        [call("list_bills"), claim], id=f"{server}/claim/000", server=server, caller=f"{server[:2].upper()}MEM-0001"
    )
    return SingleWorld(service(server), file, [task] if amount else [])


def test_goldens_that_a_bridge_rule_refuses_are_named_under_it(tmp_path: Path) -> None:
    file = tmp_path / "fused.sqlite"
    file.write_bytes(world("Clinic", "Insurer").content)
    homes = [home(tmp_path, "Clinic", 100), home(tmp_path, "Insurer", 100)]
    found = replay_goldens(contract("Clinic", "Insurer"), [PAID_FIRST], file, NOW, homes)
    assert (found.replayed, found.changed) == (2, {"B1": ["Insurer/claim/000"]})


def test_a_golden_that_gives_something_else_in_the_fused_world_fails_by_its_name(tmp_path: Path) -> None:
    file = tmp_path / "fused.sqlite"
    file.write_bytes(world("Clinic", "Insurer").content)
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("UPDATE Clinic__Bill SET amount_cents = 1")
    homes = [home(tmp_path, "Clinic", 100), home(tmp_path, "Insurer")]
    with pytest.raises(WorldError, match="Clinic/claim/000"):
        replay_goldens(contract("Clinic", "Insurer"), [], file, NOW, homes)
