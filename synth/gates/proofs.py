"""The proofs of a whole dataset, shared out among processes: tasks in shards, servers, and what no task says alone.

Nothing is written, and each part is proved by itself, so that any number of processes find the same faults.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal, NamedTuple

from skillweave.dataset import QUERIES, Dataset
from skillweave.errors import ArtifactError
from skillweave.schema.task import Task
from skillweave.workers import process_pool
from synth.codegen.verify import server_faults
from synth.coverage.verify import rule_faults
from synth.diversity.overlaps import split_faults
from synth.fusion.verify import contract_faults
from synth.gates.files import world_faults
from synth.gates.records import Records, read_templates
from synth.gates.verify import faults_of, id_in

SHARD = 100
"""Tasks that one process takes at a time."""


class Verified(NamedTuple):
    tasks: int
    faults: list[str]
    """`queries/DentalClinic.jsonl: DentalClinic-3f2a9c1e: the criteria are not what the golden calls change`."""


Against = Literal["itself", "records", "gates"]
"""What a task is held against: its own record; the combination that it was validated from, too; and what all gates give
on that anew."""


class Job(NamedTuple):
    """A part of the work, for one process."""

    outputs: Path
    world: str
    start: int | None
    """The first of `SHARD` lines of the world's file of tasks; None: its server, and the rules that its tasks meet."""
    against: Against = "itself"


def verify_tasks(outputs: Path, workers: int = 1) -> Verified:
    """All tasks of a dataset, from their own records. Faults are data; ArtifactError where the folder is no dataset."""
    jobs = [job for world in Dataset(outputs).tasks.worlds for job in task_jobs(outputs, world)]
    found = [fault for _, faults in done(jobs, workers) for fault in faults]
    return Verified(task_count(outputs), [*found, *shared_faults(outputs)])


def task_jobs(outputs: Path, world: str, against: Against = "itself") -> list[Job]:
    """The tasks of a world, shard by shard."""
    return [Job(outputs, world, start, against) for start in range(0, _count(Dataset(outputs), world), SHARD)]


def task_count(outputs: Path) -> int:
    """Lines of all its files of tasks."""
    dataset = Dataset(outputs)
    return sum(_count(dataset, world) for world in dataset.tasks.worlds)


def done(jobs: Sequence[Job], workers: int) -> Iterator[tuple[Job, list[str]]]:
    """The jobs with the faults found, in order, as they are done."""
    if workers == 1 or len(jobs) < 2:
        yield from ((job, _do(job)) for job in jobs)
        return
    with process_pool(min(workers, len(jobs))) as pool:
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
    families = {
        template.id: template.base or template.id
        for world in dataset.tasks.worlds
        for template in read_templates(dataset.store, world).values()
    }
    return [f"{QUERIES}: {fault}" for fault in split_faults(tasks, families)]


def _do(job: Job) -> list[str]:
    if job.start is None:
        return [*server_faults(job.outputs, job.world), *rule_faults(job.outputs, job.world)]
    return _shard(job.outputs, job.world, job.start, job.against)


def _shard(outputs: Path, world: str, start: int, against: Against) -> list[str]:
    """Faults of some lines of one world's file."""
    dataset = Dataset(outputs)
    lines = dataset.store.read(f"{QUERIES}/{world}.jsonl").splitlines()[start : start + SHARD]
    records = None if against == "itself" else Records(dataset, world, tries_gates=against == "gates")
    found = [fault for line in lines for fault in faults_of(dataset, world, line, records)]
    dataset.close()
    return [f"{QUERIES}/{world}.jsonl: {fault}" for fault in found]


def _count(dataset: Dataset, world: str) -> int:
    return len(dataset.store.read(f"{QUERIES}/{world}.jsonl").splitlines())


def _repeated(outputs: Path, worlds: list[str]) -> list[str]:
    """Ids that stand more than once in the dataset."""
    store, first, found = Dataset(outputs).store, dict[str, str](), list[str]()
    for path in (f"{QUERIES}/{world}.jsonl" for world in worlds):
        for number, line in enumerate(store.read(path).splitlines(), start=1):
            id, place = id_in(line), f"{path}, line {number}"
            if first.setdefault(id, place) != place:
                found.append(f"{path}: {id}: stands in {first[id]} already")
    return found
