"""The suite: what each group measures, and how runs are timed."""

import gc
import os
import platform
import re
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import fmean, median, quantiles
from timeit import Timer
from typing import NamedTuple

from bench.document import BenchDocument, Figure, GroupRecord, Machine, Measurement, Quantity
from bench.processes import ROOT, spent_by
from skillweave.base.progress import progress
from skillweave.workers import local_processes

UNIT = "x=0\nfor i in range(20_000_000): x += i"
"""The program whose CPU time is one unit."""
ROUNDS = 5
"""Runs of a measurement; a run repeats its work until it takes `ROUND_S`."""
ROUND_S = 0.1


class Measure(NamedTuple):
    """What a measurement counts."""

    counts: str
    of: Quantity = "cpu"


class Group(NamedTuple):
    """Measurements that are taken together, in a process of their own."""

    about: str
    run: str
    """`module:function`, which takes an Extent and yields Samples."""
    measures: Mapping[str, Measure]
    """By name; `N` stands for a number."""
    is_quick: bool = True


class Extent(NamedTuple):
    """How much the long groups do."""

    scales: Sequence[int] = (12,)
    """Worlds of one company, for a run of the pipeline each."""
    trajectories: int = 20_000


class Sample(NamedTuple):
    """The runs of one measurement."""

    name: str
    runs: list[float]
    """One figure a run; none if it was left out."""
    why: str = ""
    """Why it was left out."""


GROUPS = {
    "startup": Group(
        "Commands that do next to nothing",
        "bench.programs:startup",
        {
            "python": Measure("floor: python -c pass"),
            "synth_help": Measure("synth --help"),
            "rollout_help": Measure("rollout --help"),
            "evaluator_help": Measure("evaluator --help"),
            "synth_status": Measure("synth status of an empty folder"),
        },
    ),
    "sessions": Group(
        "One operation in a session of a small clinic",
        "bench.worlds:sessions",
        {
            "open": Measure("open a session and close it"),
            "open_floor": Measure("floor: the same SQLite statements bare"),
            "read": Measure("a call that reads some rows"),
            "read_floor": Measure("floor: the same SQLite statements bare"),
            "write": Measure("a call that writes three rows, and its undo"),
            "write_floor": Measure("floor: the same SQLite statements bare"),
            "refused": Measure("a call that a rule refuses"),
            "diff": Measure("a write, the difference of its three rows, and its undo"),
            "canonical": Measure("its canonical form"),
        },
    ),
    "scores": Group(
        "Replays and scores in a world of ten tables with 300 rows each",
        "bench.worlds:scores",
        {
            "golden_replay": Measure("replay 2 to 5 golden calls, with the canonical difference"),
            "golden_anew": Measure("evaluate a conversation, with a golden replay"),
            "golden_cached": Measure("evaluate a conversation, the golden replay cached"),
        },
    ),
    "conversations": Group(
        "Conversations of ten requests on average with a model that answers at once, through the official SDK",
        "bench.rollouts:conversations",
        {
            "conversation": Measure("a conversation with its score and its line"),
            "request": Measure("the same by request"),
            "request_floor": Measure("floor: the same bodies, posted by the SDK alone"),
        },
    ),
    "slots": Group(
        "1,000 conversations with a model that takes a second, at most 256 requests at once",
        "bench.rollouts:slots",
        {
            "until_few_left": Measure("share of the ideal until fewer conversations than slots are left", "share"),
            "over_all": Measure("share of the ideal over the whole run", "share"),
        },
        is_quick=False,
    ),
    "servers": Group(
        "Calls of MCP servers, by turns with an empty tool on the bare SDK",
        "bench.programs:servers",
        {
            "stdio": Measure("a read over stdio, client and server"),
            "stdio_floor": Measure("floor: the empty tool over stdio"),
            "http": Measure("a read over HTTP, client and server"),
            "http_floor": Measure("floor: the empty tool over HTTP"),
        },
    ),
    "environments": Group(
        "A step of an episode in a small practice: a call that reads a table of fees, from one client on this machine",
        "bench.wires:steps",
        {
            "in_process": Measure("in process", "wall"),
            "agentgym": Measure("AgentGym's protocol, over HTTP", "wall"),
            "agentgym_N": Measure("the same with N sessions at once", "wall"),
            "openenv": Measure("OpenEnv's protocol, over a WebSocket", "wall"),
            "openenv_N": Measure("the same with N sessions at once", "wall"),
            "mcp": Measure("MCP over HTTP, with the official client", "wall"),
            "mcp_N": Measure("the same with N sessions at once", "wall"),
            "openenv_echo": Measure("OpenEnv's own server (openenv) and an echo, over a WebSocket", "wall"),
            "openenv_echo_N": Measure("the same with N sessions at once", "wall"),
            "openenv_core_echo": Measure("the same of openenv-core", "wall"),
            "openenv_core_echo_N": Measure("the same with N sessions at once", "wall"),
        },
        is_quick=False,
    ),
    "trajectories": Group(
        "The whole evaluation of N trajectories with two workers",
        "bench.programs:trajectories",
        {
            "N.cpu": Measure("CPU time of all processes"),
            "N.wall": Measure("from start to end", "wall"),
            "N.memory": Measure("peak memory of all processes together", "memory"),
        },
        is_quick=False,
    ),
    "pipeline": Group(
        "The default run with N worlds of one company",
        "bench.programs:pipeline",
        {
            "N.cpu": Measure("CPU time of the whole run"),
            "N.wall": Measure("the whole run", "wall"),
            "N.memory": Measure("peak memory of all processes together", "memory"),
            "N.sN": Measure("one step: the sum of its items' seconds, two items at once", "wall"),
            "N.resume": Measure("the same run again, with nothing to do"),
            "N.status": Measure("synth status of the dataset"),
        },
        is_quick=False,
    ),
}


def run_groups(names: Sequence[str], extent: Extent) -> BenchDocument:
    """Run groups, each in a new process, and measure the unit before and after each."""
    units, groups, measurements = [unit()], {}, []
    left_out: dict[str, str] = {}
    with progress("groups", len(names)) as shown:
        for place, name in enumerate(names):
            with local_processes(1) as pool:
                samples = pool.submit(_samples, GROUPS[name].run, extent).result()
            units.append(unit())
            groups[name] = GroupRecord(unit_before=units[-2], unit_after=units[-1])
            measurements += [_measurement(name, sample, fmean(units[-2:])) for sample in samples if sample.runs]
            left_out |= {f"{name}.{sample.name}": sample.why for sample in samples if not sample.runs}
            shown.advance(place + 1, name)
    return BenchDocument(
        machine=_machine(),
        versions=_versions(),
        revision=_revision(),
        groups=groups,
        measurements=measurements,
        left_out=left_out,
    )


def _samples(group: str, extent: Extent) -> list[Sample]:
    module, _, function = group.partition(":")
    run: Callable[[Extent], Iterator[Sample]] = getattr(import_module(module), function)
    return list(run(extent))


def _measurement(group: str, sample: Sample, unit: float) -> Measurement:
    measure = GROUPS[group].measures[re.sub(r"\d+", "N", sample.name)]
    low, _, high = quantiles(sample.runs, n=4, method="inclusive") if len(sample.runs) > 1 else [0.0] * 3
    middle, spread = median(sample.runs), high - low
    is_time = measure.of in ("cpu", "wall")
    return Measurement(
        name=f"{group}.{sample.name}",
        counts=measure.counts,
        of=measure.of,
        runs=len(sample.runs),
        value=_figure(middle, spread),
        units=_figure(middle / unit, spread / unit) if is_time else None,
    )


def _figure(middle: float, spread: float) -> Figure:
    return Figure(median=float(f"{middle:.5g}"), spread=float(f"{spread:.5g}"))


def timed(works: Mapping[str, Callable[[], object]], of: Mapping[str, int] | None = None) -> Iterator[Sample]:
    """CPU seconds of this process for pieces of work. They take turns, so that a change of the machine's pace hits all.

    Args:
        works: Name -> the work; a run repeats it until it takes `ROUND_S`. A run before them warms up.
        of: Name -> how many pieces the work does, if not one.
    """
    timers = {name: Timer(work, setup=gc.enable, timer=time.process_time) for name, work in works.items()}
    numbers = {name: _repetitions(timer) for name, timer in timers.items()}
    rounds = [{name: timer.timeit(numbers[name]) for name, timer in timers.items()} for _ in range(ROUNDS)]
    for name, number in numbers.items():
        pieces = number * (of or {}).get(name, 1)
        yield Sample(name, [seconds[name] / pieces for seconds in rounds])


def _repetitions(timer: Timer) -> int:
    number = 1
    while (spent := timer.timeit(number)) < ROUND_S / 4:
        number *= 4
    return max(1, round(number * ROUND_S / spent))


def unit() -> float:
    """CPU seconds that one unit takes now."""
    return spent_by(["python", "-I", "-c", UNIT]).cpu


def _machine() -> Machine:
    try:
        names = re.findall(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text("utf-8"))
    except OSError:
        names = []
    return Machine(
        cpu=names[0] if names else platform.processor() or platform.machine(),
        cores=os.cpu_count() or 1,
        memory_gib=round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30, 1),
        system=platform.platform(),
    )


def _versions() -> dict[str, str]:
    required = re.findall(r"^[a-z][a-z0-9-]*", (ROOT / "requirements.in").read_text("utf-8"), re.MULTILINE)
    versions = {"python": platform.python_version(), "sqlite": sqlite3.sqlite_version}
    for name in sorted(required):
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
    return versions


def _revision() -> str:
    command = ["git", "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        return (
            subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip() or "unknown"
        )
    except OSError:
        return "unknown"
