"""Verification of a whole dataset, split into jobs for several processes: shards of tasks, servers, shared files.

Nothing is written, and jobs do not depend on each other, so any number of processes finds the same faults.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import TypeAdapter, ValidationError

from skillweave.base.command import command_line
from skillweave.base.errors import ArtifactError, SkillweaveError
from skillweave.plugins import load_plugins, loaded_plugins
from skillweave.schema.reports import Diversity, DuplicateCounts
from skillweave.schema.task import Task
from skillweave.workers import local_processes
from skillweave.world.dataset import QUERIES, Dataset
from synth.reports.card import CARD, LICENSE_GIVEN, OF_EVALUATIONS, card_of
from synth.reports.diversity import diversity_of
from synth.reports.duplicates import families_in, split_faults
from synth.verification.records import WorldRecords
from synth.verification.task import faults_of, id_in
from synth.verification.worlds import contract_faults, rule_faults, server_faults, world_faults

REPORT, REMOVED = "report/diversity.json", "report/duplicates.json"
_LICENSE = re.compile(r"^license: (\S+)$", re.MULTILINE)
_MEASURED = ("| false pass, second set", "| false fail, second set")
"""Rows of its table that do."""
_REMOVED: TypeAdapter[dict[str, DuplicateCounts]] = TypeAdapter(dict[str, DuplicateCounts])
SHARD = 100
"""Tasks that one process takes at a time."""


class Verified(NamedTuple):
    tasks: int
    faults: list[str]
    """`queries/DentalClinic.jsonl: DentalClinic-3f2a9c1e: the criteria are not what the golden calls change`."""


ProofScope = Literal["itself", "records", "gates"]
"""What a task is held against: its own record; the combination that it was validated from, too; and what all gates give
on that anew."""


class ProofJob(NamedTuple):
    """A part of the work, for one process."""

    outputs: Path
    world: str
    start: int | None
    """The first of `SHARD` lines of the world's file of tasks; None: its server, and the rules that its tasks meet."""
    against: ProofScope = "itself"
    plugins: tuple[str, ...] = ()
    """Modules that the process has to load: gates of one's own are among the gates."""


def verify_tasks(outputs: Path, workers: int = 1) -> Verified:
    """All tasks of a dataset, from their own records. Faults are data; ArtifactError where the folder is no dataset."""
    jobs = [job for world in Dataset(outputs).tasks.worlds for job in task_jobs(outputs, world)]
    found_faults = [fault for _, faults in run_jobs(jobs, workers) for fault in faults]
    return Verified(task_count(outputs), [*found_faults, *shared_faults(outputs)])


def task_jobs(outputs: Path, world: str, against: ProofScope = "itself") -> list[ProofJob]:
    """The tasks of a world, shard by shard."""
    starts = range(0, _count(Dataset(outputs), world), SHARD)
    return [ProofJob(outputs, world, start, against, loaded_plugins()) for start in starts]


def task_count(outputs: Path) -> int:
    """Lines of all its files of tasks."""
    dataset = Dataset(outputs)
    return sum(_count(dataset, world) for world in dataset.tasks.worlds)


def run_jobs(jobs: Sequence[ProofJob], workers: int) -> Iterator[tuple[ProofJob, list[str]]]:
    """The jobs with the faults found, in order, as they are done."""
    if workers == 1 or len(jobs) < 2:
        yield from ((job, _do(job)) for job in jobs)
        return
    with local_processes(min(workers, len(jobs))) as pool:
        yield from zip(jobs, pool.map(_do, jobs), strict=True)


def shared_faults(outputs: Path) -> list[str]:
    """What is wrong with what no task says alone: ids, splits, contracts, the files of worlds, the servers' runtime."""
    dataset = Dataset(outputs)
    worlds = sorted({*dataset.tasks.worlds, *dataset.worlds})
    of_worlds = [fault for world in worlds for fault in world_faults(dataset, world)]
    dataset.close()
    repeated = _repeated(outputs, dataset.tasks.worlds)
    return [*of_worlds, *repeated, *contract_faults(outputs), *([] if repeated else _split(dataset))]


def _split(dataset: Dataset) -> list[str]:
    """Where splits share what they must not. Lines that are no task are told elsewhere."""
    tasks: list[Task] = []
    for world in dataset.tasks.worlds:
        with suppress(ArtifactError):
            tasks.extend(dataset.tasks.of(world))
    return [f"{QUERIES}: {fault}" for fault in split_faults(tasks, families_in(dataset))]


def _do(job: ProofJob) -> list[str]:
    load_plugins(job.plugins)
    if job.start is None:
        return [*server_faults(job.outputs, job.world), *rule_faults(job.outputs, job.world)]
    return _shard(job.outputs, job.world, job.start, job.against)


def _shard(outputs: Path, world: str, start: int, against: ProofScope) -> list[str]:
    """Faults of some lines of one world's file."""
    dataset = Dataset(outputs)
    lines = dataset.store.read(f"{QUERIES}/{world}.jsonl").splitlines()[start : start + SHARD]
    records = None if against == "itself" else WorldRecords(dataset, world, tries_gates=against == "gates")
    faults = [fault for line in lines for fault in faults_of(dataset, world, line, records)]
    dataset.close()
    return [f"{QUERIES}/{world}.jsonl: {fault}" for fault in faults]


def _count(dataset: Dataset, world: str) -> int:
    return len(dataset.store.read(f"{QUERIES}/{world}.jsonl").splitlines())


def _repeated(outputs: Path, worlds: list[str]) -> list[str]:
    """Ids that stand more than once in the dataset."""
    store, first, faults = Dataset(outputs).store, dict[str, str](), list[str]()
    for path in (f"{QUERIES}/{world}.jsonl" for world in worlds):
        for number, line in enumerate(store.read(path).splitlines(), start=1):
            id, place = id_in(line), f"{path}, line {number}"
            if first.setdefault(id, place) != place:
                faults.append(f"{path}: {id}: stands in {first[id]} already")
    return faults


def card_faults(dataset: Dataset) -> list[str]:
    """What of the card is not so; nothing where there is no card."""
    try:
        if not dataset.store.exists(CARD):
            return []
        told = dataset.store.read(CARD).decode("utf-8", "replace")
        license = _LICENSE.search(told)
        again = card_of(dataset, license[1] if license and LICENSE_GIVEN in told else None)
    except SkillweaveError as error:
        return [f"{CARD}: {error}"]
    if list(_lasting(told)) == list(_lasting(again)):
        return []
    anew = command_line("synth", "card", "--outputs-dir", dataset.store.root)
    return [f"{CARD}: does not tell what the files hold; if all else is right, make it anew with: {anew}"]


def report_faults(dataset: Dataset) -> list[str]:
    """What of the report on diversity is not so; nothing where there is none."""
    try:
        if not dataset.store.exists(REPORT):
            return []
        told = Diversity.model_validate_json(dataset.store.read(REPORT))
        removed = _REMOVED.validate_json(dataset.store.read(REMOVED)) if dataset.store.exists(REMOVED) else {}
        worlds = dataset.tasks.worlds
        again = diversity_of(
            {world: list(dataset.tasks.of(world)) for world in worlds},
            {world: dataset.blueprint(world) for world in worlds},
            removed,
            told.holdout_domains,
        )
    except (SkillweaveError, ValidationError) as error:
        return [f"{REPORT}: {str(error).splitlines()[0]}"]
    return [] if again == told else [f"{REPORT}: is not what the tasks give"]


def _lasting(card: str) -> Iterator[str]:
    """Lines that tell of the dataset itself."""
    is_evaluated = False
    for line in card.splitlines():
        if line.startswith("## "):
            is_evaluated = line.removeprefix("## ") in OF_EVALUATIONS
        if not is_evaluated and not line.startswith(_MEASURED):
            yield line
