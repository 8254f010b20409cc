"""Verification of servers: each is run in the sandbox against its contract, whatever the manifest says of its file.

The calls are sought anew, fewer than when it was written: one that breaks each rule, odd ones, and whole sessions.
"""

from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from skillweave.base.errors import SkillweaveError
from skillweave.sandbox.limits import SandboxLimits
from skillweave.schema.blueprint import Blueprint, FusedBlueprint
from skillweave.schema.fusion import BridgeProof, Mediation
from skillweave.world.dataset import Dataset
from synth.servers.differential import differences, run_contract
from synth.servers.runtime import runtime_files
from synth.servers.static_check import static_faults
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
