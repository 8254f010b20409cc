"""A fused contract that was edited by hand is not what its domains' blueprints come to."""

import json
from pathlib import Path

import pytest

from skillweave.schema.blueprint import FusedBlueprint
from synth.fusion.blueprint import fuse
from synth.verification.worlds import contract_faults
from tests.gates.services import service

PAIR = ("Clinic", "Insurer")


@pytest.fixture
def outputs(tmp_path: Path) -> Path:
    blueprints = [service(server) for server in PAIR]
    (tmp_path / "database").mkdir()
    (tmp_path / "blueprints.json").write_text(json.dumps([one.model_dump(mode="json") for one in blueprints]))
    (tmp_path / "database" / "Clinic__Insurer.contract.json").write_text(fuse(blueprints).model_dump_json())
    return tmp_path


def edit(outputs: Path, *, guards: bool) -> None:
    path = outputs / "database" / "Clinic__Insurer.contract.json"
    fused = FusedBlueprint.model_validate_json(path.read_text())
    tools = [
        tool.model_copy(update={"guards": []} if guards else {"description": "Something else."}) for tool in fused.tools
    ]
    path.write_text(fused.model_copy(update={"tools": tools}).model_dump_json())


def test_an_untouched_contract_has_no_fault(outputs: Path) -> None:
    assert contract_faults(outputs) == []


@pytest.mark.parametrize("guards", [True, False])
def test_an_edited_contract_is_named(outputs: Path, guards: bool) -> None:
    edit(outputs, guards=guards)
    assert contract_faults(outputs) == [
        "database/Clinic__Insurer.contract.json: is not what the blueprints of its domains come to"
    ]
