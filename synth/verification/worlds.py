"""Verification of servers: each is run in the sandbox against its contract, whatever the manifest says of its file.

The calls are sought anew, fewer than when it was written: one that breaks each rule, odd ones, and whole sessions.

Verification of what all tasks of a world share: database, tool list, rows, fused contract, and rule coverage.
"""

from collections.abc import Iterator
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from skillweave.base.errors import SkillweaveError
from skillweave.sandbox.folder import SandboxLimits
from skillweave.schema.blueprint import Blueprint, FusedBlueprint
from skillweave.schema.entity import Entity
from skillweave.schema.fusion import BridgeProof, Mediation
from skillweave.schema.record import Json, Row
from skillweave.world.canonical import dump
from skillweave.world.dataset import Dataset
from skillweave.world.tools import tool_definitions
from skillweave.world.world import World
from synth.fusion.blueprint import fuse
from synth.reports.rule_coverage import coverage_faults, read_rules
from synth.servers.differential import differences, run_contract
from synth.servers.runtime import runtime_files
from synth.servers.skeleton import static_faults
from synth.servers.suite import make_cases

SERVERS = "mcp_servers"
SEED = "verify"
"""Other than any run's: the cases are not those that the author's server was held against."""
MOST_DIFFERENCES = 3
"""Differences that are told of one server."""


def runtime_faults(outputs: Path) -> list[str]:
    """Files that all servers stand on and that are not this version's."""
    store = Dataset(outputs).store
    faults = []
    for name, source in sorted(runtime_files().items()):
        path = f"{SERVERS}/{name}"
        try:
            if not store.exists(path):
                faults.append(f"{path}: missing")
            elif store.read(path) != source.encode():
                faults.append(f"{path}: is not the runtime that servers are proved on")
        except SkillweaveError as error:
            faults.append(f"{path}: {error}")
    return faults


def server_faults(outputs: Path, name: str, limits: SandboxLimits | None = None) -> list[str]:
    """Where the server of a world is not its contract, each with its file."""
    path, dataset = f"{SERVERS}/{name}.py", Dataset(outputs)
    try:
        return [f"{path}: {fault}" for fault in _faults(dataset, name, limits)]
    except (SkillweaveError, ValidationError, LookupError, UnicodeDecodeError) as error:
        return [f"{path}: cannot be proved: {error}"]
    finally:
        dataset.close()


def _faults(dataset: Dataset, name: str, limits: SandboxLimits | None) -> Iterator[str]:
    path = f"{SERVERS}/{name}.py"
    if not dataset.store.exists(path):
        yield "missing"
        return
    source = dataset.store.read(path).decode("utf-8")
    blueprint = dataset.blueprint(name)
    unfit = static_faults(source, blueprint)
    yield from unfit[:MOST_DIFFERENCES]
    if not unfit:
        world = dataset.world(name)
        cases = make_cases(world, SEED, bridges=_proofs(dataset, blueprint), is_brief=True).cases
        for difference in differences(run_contract(world, cases), source, most=MOST_DIFFERENCES, limits=limits):
            yield str(difference)


def _proofs(dataset: Dataset, blueprint: Blueprint) -> list[BridgeProof]:
    if not isinstance(blueprint, FusedBlueprint):
        return []
    content = dataset.store.read(f"policies/{blueprint.server}.bridges.json")
    return Mediation.model_validate_json(content).proofs


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
