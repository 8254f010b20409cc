"""Verification of fused contracts: each is fused anew from its domains' blueprints and has to come out the same."""

from pathlib import Path

from skillweave.dataset import Dataset
from skillweave.errors import SkillweaveError
from skillweave.schema.fused import FusedBlueprint
from synth.fusion.blueprint import fuse

ENDING = ".contract.json"


def contract_faults(outputs: Path) -> list[str]:
    """What is wrong with the contracts of a dataset's fused worlds, each with its file."""
    dataset = Dataset(outputs)
    found = []
    for file in sorted(dataset.store.path("database").glob(f"*{ENDING}")):
        path = f"database/{file.name}"
        try:
            told = FusedBlueprint.model_validate_json(dataset.store.read(path))
            made = fuse([dataset.blueprint(member.server) for member in told.members])
        except (SkillweaveError, ValueError) as fault:
            found.append(f"{path}: {str(fault).splitlines()[0]}")
            continue
        if made.model_copy(update={"server": told.server}) != told:
            found.append(f"{path}: is not what the blueprints of its domains come to")
    dataset.close()
    return found
