"""Verification of rule coverage: what is on record of a world's rules is held against what its tasks show anew."""

from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from skillweave.dataset import Dataset
from skillweave.errors import ArtifactError, SkillweaveError
from skillweave.schema.coverage import RuleCoverage
from skillweave.store import Store
from synth.coverage.rules import coverage_faults

_RULES: TypeAdapter[list[RuleCoverage]] = TypeAdapter(list[RuleCoverage])


def read_rules(store: Store, world: str) -> list[RuleCoverage] | None:
    """What is on record; None where nothing is. Raises ArtifactError."""
    path = f"rules/{world}.json"
    try:
        return _RULES.validate_json(store.read(path)) if store.exists(path) else None
    except ValidationError as error:
        raise ArtifactError(f"{path!r} is damaged: {str(error).splitlines()[0]}") from error


def rule_faults(outputs: Path, world: str) -> list[str]:
    """Rules of the world whose record is not what its tasks show. Tasks that cannot be read are told elsewhere."""
    path, dataset = f"rules/{world}.json", Dataset(outputs)
    try:
        recorded = read_rules(dataset.store, world)
        if recorded is None:
            return [f"{path}: missing"]
        tasks = list(dataset.tasks.of(world))
        return [f"{path}: {fault}" for fault in coverage_faults(dataset.world(world), tasks, recorded)]
    except (SkillweaveError, LookupError) as error:
        return [f"{path}: cannot be proved: {error}"]
    finally:
        dataset.close()
