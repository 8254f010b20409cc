"""Verification of what all tasks of a world share: database, tool list, rows, fused contract, and rule coverage."""

from collections.abc import Iterator
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from skillweave.base.errors import SkillweaveError
from skillweave.schema.blueprint import Blueprint, FusedBlueprint
from skillweave.schema.entity import Entity
from skillweave.schema.record import Json, Row
from skillweave.world.canonical import dump
from skillweave.world.dataset import Dataset
from skillweave.world.tools import tool_definitions
from skillweave.world.world import World
from synth.fusion.blueprint import fuse
from synth.reports.rule_coverage import coverage_faults, read_rules

_ROWS: TypeAdapter[list[Row]] = TypeAdapter(list[Row])
_TOOLS: TypeAdapter[list[dict[str, Json]]] = TypeAdapter(list[dict[str, Json]])


def world_faults(dataset: Dataset, name: str) -> list[str]:
    """What is wrong with a world's files, each with its file."""
    try:
        world = dataset.world(name)
    except SkillweaveError as error:
        return [f"database/{name}.sqlite: {error}"]
    return [*_tool_list(dataset, world.blueprint), *_rows(dataset, world)]


def _tool_list(dataset: Dataset, blueprint: Blueprint) -> Iterator[str]:
    path = f"tool_lists/{blueprint.server}.json"
    try:
        listed = _TOOLS.validate_json(dataset.store.read(path))
    except (SkillweaveError, ValidationError) as error:
        yield f"{path}: {str(error).splitlines()[0]}"
        return
    offered = {dump(tool) for tool in tool_definitions(blueprint)}
    other = [str(tool.get("function"))[:60] for tool in listed if dump(tool) not in offered]
    if other or len(listed) != len(offered):
        yield f"{path}: is not what the contract offers{f', at {other[0]!r}' if other else ''}"


def _rows(dataset: Dataset, world: World) -> Iterator[str]:
    """Tables whose rows are not those on record beside the database, where they are on record."""
    name = world.blueprint.server
    with world.session() as session:
        for entity in world.blueprint.tables:
            path = _path(world.blueprint, entity)
            try:
                if not dataset.store.exists(path):
                    continue
                kept = _ROWS.validate_json(dataset.store.read(path))
            except (SkillweaveError, ValidationError) as error:
                yield f"{path}: {str(error).splitlines()[0]}"
                continue
            if sorted(map(dump, kept)) != sorted(map(dump, session.rows(entity.table))):
                yield f"database/{name}.sqlite: the rows of {entity.table} are not those of {path}"


def _path(blueprint: Blueprint, entity: Entity) -> str:
    is_link = any(entity is one for one in blueprint.relationships)
    if isinstance(blueprint, FusedBlueprint) or is_link:
        return f"database/outputs/{'relationships' if is_link else 'entities'}/{blueprint.server}/{entity.name}.json"
    return f"database/outputs/entities/{blueprint.server}__{entity.name}.json"


CONTRACT_ENDING = ".contract.json"


def contract_faults(outputs: Path) -> list[str]:
    """What is wrong with the contracts of a dataset's fused worlds, each with its file."""
    dataset = Dataset(outputs)
    faults = []
    for file in sorted(dataset.store.path("database").glob(f"*{CONTRACT_ENDING}")):
        path = f"database/{file.name}"
        try:
            told = FusedBlueprint.model_validate_json(dataset.store.read(path))
            again = fuse([dataset.blueprint(member.server) for member in told.members])
        except (SkillweaveError, ValueError) as fault:
            faults.append(f"{path}: {str(fault).splitlines()[0]}")
            continue
        if again.model_copy(update={"server": told.server}) != told:
            faults.append(f"{path}: is not what the blueprints of its domains come to")
    dataset.close()
    return faults


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
