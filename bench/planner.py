"""The planner on a finished dataset: how many tasks it reaches without their golden calls, and what that takes.

Prints one JSON document; README.md beside this file says how to read it. What the run recorded is not looked at: each
task is searched for again.
"""

import argparse
import json
import platform
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from skillweave.schema.blueprint import Blueprint, FusedBlueprint
from skillweave.schema.combination import ValidatedTask
from skillweave.schema.fusion import Mediation
from skillweave.world.world import World
from synth.gates.reachable import check_reachable
from synth.planner.problem import DEFAULT_BOUNDS, PlannerBounds
from synth.tasks.replay import Rejected

ROOT = Path(__file__).resolve().parent.parent
UNREACHED = 10
"""Tasks that are named with what they were not reached for."""
Figures = dict[str, Any]


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit status: 0 unless there is no task."""
    parser = argparse.ArgumentParser(description="Measure the planner on a finished dataset.")
    parser.add_argument("--outputs-dir", type=Path, help="the dataset; without it a small one is made")
    parser.add_argument("--every", type=int, default=1, help="take every N-th task of each world")
    parser.add_argument("--calls", type=int, default=DEFAULT_BOUNDS.calls, help="writes of a plan, at most")
    parser.add_argument(
        "--expansions", type=int, default=DEFAULT_BOUNDS.expansions, help="expansions of a search, at most"
    )
    given = parser.parse_args(arguments)
    bounds = PlannerBounds(given.calls, given.expansions)
    with tempfile.TemporaryDirectory() as folder:
        outputs = given.outputs_dir or _made(Path(folder) / "outputs")
        if not (outputs / "validated_tasks").is_dir():
            parser.error(f"{outputs} holds no validated tasks; give the folder of a run that has come to s16")
        found = [one for world in worlds(outputs) for one in _searched(*world, given.every, bounds)]
    report = {
        "bench": "planner",
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "bounds": bounds._asdict(),
        "single": _summary([one for one in found if not one["fused"]]),
        "fused": _summary([one for one in found if one["fused"]]),
        "not_reached": [one["why"] for one in found if one["why"]][:UNREACHED],
    }
    print(json.dumps(report, indent=1))
    return 0 if found else 1


def _made(outputs: Path) -> Path:
    """The tasks of two domains, as a run makes them."""
    settings = ["domains.seeds=[dental clinic, hotel]", "steps.s01_domain_expansion.target_domains=2"]
    command = [sys.executable, "-m", "synth", "run", "--config", str(ROOT / "config.yaml"), "--until", "s16"]
    command += ["--outputs-dir", str(outputs), *(part for each in settings for part in ("--set", each))]
    subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, check=False)
    return outputs


def worlds(outputs: Path) -> Iterator[tuple[World, list[ValidatedTask]]]:
    """The worlds of a dataset with what was validated in them, by name."""
    listed = json.loads((outputs / "blueprints.json").read_text("utf-8"))
    single = {one["server"]: one for one in listed}
    for file in sorted((outputs / "validated_tasks").glob("*.jsonl")):
        name = file.stem
        blueprint = Blueprint.model_validate(single[name]) if name in single else _fused(outputs, name)
        tasks = [ValidatedTask.model_validate_json(line) for line in file.read_text("utf-8").splitlines()]
        now = tasks[0].combination.now if tasks else "2025-01-01 00:00:00"
        world = World(blueprint, outputs / "database" / f"{name}.sqlite", now=now)
        yield world, tasks
        world.close()


def _fused(outputs: Path, name: str) -> FusedBlueprint:
    contract = (outputs / "database" / f"{name}.contract.json").read_text("utf-8")
    bridges = (outputs / "policies" / f"{name}.bridges.json").read_text("utf-8")
    return FusedBlueprint.model_validate_json(contract).with_bridges(Mediation.model_validate_json(bridges).bridges)


def _searched(world: World, tasks: Sequence[ValidatedTask], every: int, bounds: PlannerBounds) -> Iterator[Figures]:
    for one in tasks[::every]:
        combination = one.combination
        begin = time.process_time()
        try:
            figure = check_reachable(world, combination, one.criteria, bounds)
        except Rejected as rejected:
            figure = {"status": "rejected", "why": str(rejected)}
        why = figure.get("why") if figure["status"] in ("not_reached", "undecided", "rejected") else None
        yield {
            **figure,
            "fused": len(world.blueprint.roles) > 1,
            "kind": combination.kind,
            "ms": (time.process_time() - begin) * 1000,
            "why": f"{combination.id}: {why}" if why else None,
        }


def _summary(found: Sequence[Figures]) -> Figures:
    times = sorted(one["ms"] for one in found)
    statuses = Counter(str(one["status"]) for one in found)
    sought = sum(one["kind"] in ("do", "inform", "clarify") for one in found)
    return {
        "tasks": len(found),
        "statuses": dict(sorted(statuses.items())),
        "share_reached": round(statuses["proved"] / sought, 4) if sought else None,
        "longer_goldens": dict(
            sorted(Counter(one["longer_because"] for one in found if "longer_because" in one).items())
        ),
        "several_solutions": sum(one.get("solutions", 1) > 1 for one in found),
        "expansions_median": sorted(one.get("expansions", 0) for one in found)[len(found) // 2] if found else None,
        "expansions_most": max((one.get("expansions", 0) for one in found), default=None),
        "ms_median": round(times[len(times) // 2], 1) if times else None,
        "ms_mean": round(sum(times) / len(times), 1) if times else None,
        "ms_most": round(times[-1], 1) if times else None,
    }


if __name__ == "__main__":
    sys.exit(main())
