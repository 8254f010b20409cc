"""Groups `startup`, `trajectories` and `pipeline`: whole programs, in processes of their own."""

import json
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.suite import ROUNDS, Extent, Sample, Spent, family, spent_by

SEED = 7
LINE_BYTES = 30_000
"""More than a trajectory's line takes."""


def startup(extent: Extent) -> Iterator[Sample]:
    """Measure the start of each program."""
    with TemporaryDirectory() as folder:
        commands = {
            "python": ["-c", "pass"],
            "synth_help": ["-m", "synth", "--help"],
            "rollout_help": ["-m", "rollout", "--help"],
            "evaluator_help": ["-m", "evaluator", "--help"],
            "synth_status": ["-m", "synth", "status", "--outputs-dir", folder],
        }
        yield from _repeated({name: ["python", *arguments] for name, arguments in commands.items()})


def _repeated(commands: Mapping[str, Sequence[str]]) -> Iterator[Sample]:
    """The CPU time of short commands, which take turns. The first run, which may compile modules, does not count."""
    rounds = [{name: spent_by(command) for name, command in commands.items()} for _ in range(ROUNDS + 1)][1:]
    for name in commands:
        runs = [spent[name] for spent in rounds]
        failed = next((run for run in runs if run.status), None)
        yield Sample(name, [], failed.complaint) if failed else Sample(name, [run.cpu for run in runs])


def _held(process: int) -> int:
    """Bytes of memory of a process; pages that it shares are divided among those who do (PSS)."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


def _whole(name: str, command: Sequence[str]) -> tuple[Spent, list[Sample]]:
    """Run a program once. The samples are of its CPU time, time and memory, or one that says why it failed."""
    sizes: list[float] = []
    spent = spent_by(command, lambda process: sizes.append(sum(map(_held, family(process)))))
    if spent.status:
        return spent, [Sample(f"{name}.cpu", [], spent.complaint)]
    samples = [Sample(f"{name}.cpu", [spent.cpu]), Sample(f"{name}.wall", [spent.wall])]
    known = [max(sizes)] if any(sizes) else []
    return spent, [*samples, Sample(f"{name}.memory", known, "this system does not tell")]


def trajectories(extent: Extent) -> Iterator[Sample]:
    """Measure the evaluation of many trajectories of the practice's tasks."""
    from bench.practice import practice
    from bench.visits import visits, write_dataset, write_rollouts

    world, count = practice(SEED), extent.trajectories
    tasks = visits(world, SEED)
    with TemporaryDirectory() as name:
        folder = Path(name)
        if shutil.disk_usage(folder).free < count * LINE_BYTES:
            yield Sample(f"{count}.cpu", [], f"no room in {folder}: give fewer --trajectories")
            return
        write_dataset(world, tasks, folder / "outputs")
        write_rollouts(world, tasks, folder / "rollouts", count)
        places = ["--outputs-dir", f"{folder}/outputs", "--rollouts-dir", f"{folder}/rollouts"]
        output = f"{folder}/evaluation/results.jsonl"
        command = ["python", "-m", "evaluator", "run", *places, "--output", output, "--max-workers", "2", "-q"]
        yield from _whole(str(count), command)[1]


def pipeline(extent: Extent) -> Iterator[Sample]:
    """Measure a run for each scale, by step, and what a finished run takes."""
    for scale in extent.scales:
        with TemporaryDirectory() as folder:
            places = ["--config", "config.yaml", "--outputs-dir", folder]
            worlds = ["--set", f"steps.s01_domain_expansion.target_domains={scale}"]
            command = ["python", "-m", "synth", "run", *places, *worlds]
            spent, samples = _whole("N", command)
            if spent.status:
                yield samples[0]._replace(name=f"{scale}.cpu")
                continue
            samples += [Sample(f"N.{step[:3]}", [seconds]) for step, seconds in _steps(Path(folder)).items()]
            status = ["python", "-m", "synth", "status", *places, *worlds]
            samples += _repeated({"N.resume": command, "N.status": status})
            made = len(json.loads((Path(folder) / "blueprints.json").read_text("utf-8")))
            yield from (sample._replace(name=sample.name.replace("N", str(made), 1)) for sample in samples)
            if made != scale:
                yield Sample(f"{scale}.cpu", [], f"the run made {made} worlds of one company")


def _steps(outputs: Path) -> dict[str, float]:
    """Step -> the sum of its items' seconds."""
    items: list[dict[str, Any]] = json.loads((outputs / "manifest.json").read_text("utf-8"))["items"]
    seconds: Counter[str] = Counter()
    for item in items:
        seconds[item["step"]] += item.get("seconds", 0.0)
    return dict(sorted(seconds.items()))
