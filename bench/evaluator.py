"""Measures how fast trajectories are evaluated, how the time is spent, and how much memory the program needs.

Run it from the repository's root: `python -m bench.evaluator`. It makes a world of 10 tables with 300 rows each, 50
tasks and 450 conversations; the whole program evaluates copies of these under other ids. It prints one JSON document;
README.md beside this file explains it.
"""

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bench._endpoint import held, megabytes
from bench._practice import practice
from bench._stages import TRIALS, Bench, conversations
from bench._visits import visits, write_dataset
from skillweave.schema.trajectory import TrajectoryRecord
from skillweave.world.dataset import Dataset

ROOT = Path(__file__).resolve().parent.parent
SEED = 7
SMALL = 10_000
"""Trajectories of the smaller run, for a comparison of memory."""
MOST_IN_PROCESS = 450
"""The most trajectories that are evaluated in this process."""
LOOK_EVERY_S = 0.25
"""Seconds between two samples of memory."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure in this process, then measure the whole program, and print the figures."""
    parser = argparse.ArgumentParser(description="Measure the evaluator.")
    parser.add_argument(
        "--trajectories", type=int, default=20_000, help="trajectories for the whole program; 0 leaves it out"
    )
    parser.add_argument(
        "--short-lines", action="store_true", help="leave out system prompt and tools: a third of the size"
    )
    parser.add_argument("--outputs", type=Path, help="measure only this dataset, in this process ...")
    parser.add_argument("--rollouts", type=Path, help="... with these rollouts")
    given = parser.parse_args(arguments)
    report: dict[str, Any] = {
        "benchmark": "evaluator",
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "load_before": round(os.getloadavg()[0], 2),
    }
    if given.outputs:
        report |= _in_process(Bench(given.outputs, given.rollouts, MOST_IN_PROCESS))
    else:
        with tempfile.TemporaryDirectory() as folder:
            report |= _measured(Path(folder), given.trajectories, short=given.short_lines)
    print(json.dumps(report, indent=1))


def _measured(folder: Path, trajectories: int, *, short: bool) -> dict[str, Any]:
    """Make the world and its conversations, and measure them."""
    outputs, lines = _dataset(folder, short=short)
    few = folder / "few"
    _write(few, lines, len(lines))
    figures = {"bytes_by_line": sum(map(len, lines)) // len(lines), **_in_process(Bench(outputs, few, len(lines)))}
    sizes = sorted({min(SMALL, trajectories), trajectories}) if trajectories else []
    if sizes and shutil.disk_usage(folder).free < 2 * trajectories * figures["bytes_by_line"]:
        raise SystemExit(f"no room in {folder} for {trajectories} trajectories; give fewer, or --short-lines")
    runs = []
    for size in sizes:
        _write(folder / "rollouts", lines, size)
        runs += [_run(folder, outputs, size, workers) for workers in (1, 2)]
    return {**figures, "program": runs}


def _in_process(bench: Bench) -> dict[str, Any]:
    return {
        "outcomes": bench.outcomes(),
        "per_second_and_core": bench.per_second(),
        "microseconds_by_stage": bench.stages(),
    }


def _dataset(folder: Path, *, short: bool) -> tuple[Path, list[bytes]]:
    """Write the dataset; its folder, and a line for each conversation."""
    outputs, world = folder / "outputs", practice(SEED)
    tasks = visits(world, SEED)
    write_dataset(world, tasks, outputs)
    records = conversations(world, tasks, Dataset(outputs).digest)
    return outputs, [_line(record, short=short) for record in records]


def _line(record: TrajectoryRecord, *, short: bool) -> bytes:
    kept = {"messages": record.messages[1:], "tools": []} if short else {}
    return record.model_copy(update=kept).model_dump_json().encode() + b"\n"


def _write(folder: Path, lines: Sequence[bytes], size: int) -> None:
    """Write `size` trajectories. The lines repeat, and each repetition has higher trial numbers."""
    folder.mkdir(exist_ok=True)
    with (folder / "practice.jsonl").open("wb") as stream:
        stream.writelines(_renamed(lines, size))


def _renamed(lines: Sequence[bytes], size: int) -> Iterator[bytes]:
    for number in range(size):
        again, place = divmod(number, len(lines))
        begin, _, rest = lines[place].partition(b"#")
        old, _, rest = rest.partition(b'"')
        trial = b"%d" % (int(old) + again * TRIALS)
        yield begin + b"#" + trial + b'"' + rest.replace(b'"trial":' + old, b'"trial":' + trial, 1)


def _run(folder: Path, outputs: Path, size: int, workers: int) -> dict[str, Any]:
    """Run the whole program with an empty folder of results; its figures."""
    output = folder / "evaluation" / "results.jsonl"
    shutil.rmtree(output.parent, ignore_errors=True)
    command = [sys.executable, "-m", "evaluator.run_evaluation", "-q", "--mode", "all", "--max-workers", str(workers)]
    command += ["--rollouts-dir", str(folder / "rollouts"), "--outputs-dir", str(outputs), "--output", str(output)]
    peak, begun = 0, time.perf_counter()
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            peak = max(peak, held(process.pid))
            time.sleep(LOOK_EVERY_S)
    seconds = time.perf_counter() - begun
    return {
        "trajectories": size,
        "max_workers": workers,
        "exit_status": process.returncode,
        "seconds": round(seconds, 1),
        "per_second": round(size / seconds),
        "per_second_and_worker": round(size / seconds / workers),
        "peak_memory_mb": megabytes(peak),
    }


if __name__ == "__main__":
    main()
