"""Measures the planner on a finished dataset: how many tasks it solves without their golden calls, and the cost.

It prints one JSON document; README.md beside this file explains it. It ignores what the run recorded and searches for
each solution again.
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
"""The most unsolved tasks that are named, with the reason."""
Figures = dict[str, Any]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print the figures. The exit status is 1 if there is no task."""
    parser = argparse.ArgumentParser(description="Measure the planner on a finished dataset.")
    parser.add_argument("--outputs-dir", type=Path, help="the dataset; without it a small one is made")
    parser.add_argument("--every", type=int, default=1, help="take every N-th task of each world")
    parser.add_argument("--calls", type=int, default=DEFAULT_BOUNDS.calls, help="the most writes of a plan")
    parser.add_argument(
        "--expansions", type=int, default=DEFAULT_BOUNDS.expansions, help="the most expansions of a search"
    )
    given = parser.parse_args(arguments)
    bounds = PlannerBounds(given.calls, given.expansions)
    with tempfile.TemporaryDirectory() as folder:
        outputs = given.outputs_dir or _made(Path(folder) / "outputs")
        if not (outputs / "validated_tasks").is_dir():
            parser.error(f"{outputs} holds no validated tasks; give the folder of a run that has come to s16")
        searches = [search for world in worlds(outputs) for search in _searched(*world, given.every, bounds)]
    report = {
        "bench": "planner",
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "bounds": bounds._asdict(),
        "single": _summary([search for search in searches if not search["fused"]]),
        "fused": _summary([search for search in searches if search["fused"]]),
        "not_reached": [search["why"] for search in searches if search["why"]][:UNREACHED],
    }
    print(json.dumps(report, indent=1))
    return 0 if searches else 1


def _made(outputs: Path) -> Path:
    """Make the tasks of two domains with a run; the outputs folder."""
    settings = ["domains.seeds=[dental clinic, hotel]", "steps.s01_domain_expansion.target_domains=2"]
    command = [sys.executable, "-m", "synth", "run", "--config", str(ROOT / "config.yaml"), "--until", "s16"]
    command += ["--outputs-dir", str(outputs), *(part for setting in settings for part in ("--set", setting))]
    subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, check=False)
    return outputs


def worlds(outputs: Path) -> Iterator[tuple[World, list[ValidatedTask]]]:
    """Each world of a dataset with its validated tasks, by name. A world is closed when the next one is taken."""
    blueprints = json.loads((outputs / "blueprints.json").read_text("utf-8"))
    single = {blueprint["server"]: blueprint for blueprint in blueprints}
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
    for task in tasks[::every]:
        combination = task.combination
        begin = time.process_time()
        try:
            figure = check_reachable(world, combination, task.criteria, bounds)
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


def _summary(searches: Sequence[Figures]) -> Figures:
    times = sorted(search["ms"] for search in searches)
    statuses = Counter(str(search["status"]) for search in searches)
    expansions = sorted(search.get("expansions", 0) for search in searches)
    sought = sum(search["kind"] in ("do", "inform", "clarify") for search in searches)
    return {
        "tasks": len(searches),
        "statuses": dict(sorted(statuses.items())),
        "share_reached": round(statuses["proved"] / sought, 4) if sought else None,
        "longer_goldens": dict(
            sorted(Counter(search["longer_because"] for search in searches if "longer_because" in search).items())
        ),
        "several_solutions": sum(search.get("solutions", 1) > 1 for search in searches),
        "expansions_median": expansions[len(expansions) // 2] if expansions else None,
        "expansions_most": expansions[-1] if expansions else None,
        "ms_median": round(times[len(times) // 2], 1) if times else None,
        "ms_mean": round(sum(times) / len(times), 1) if times else None,
        "ms_most": round(times[-1], 1) if times else None,
    }


if __name__ == "__main__":
    sys.exit(main())
