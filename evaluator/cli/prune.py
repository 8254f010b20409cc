"""`run --mode prune`: the golden calls of every task without which the outcome is the same."""

from evaluator.cli.options import Options
from evaluator.desk import Desk
from evaluator.golden import golden_of
from evaluator.results import ResultsFile
from skillweave.command import one_line
from skillweave.errors import ArtifactError, WorldError
from skillweave.lock import locked
from skillweave.progress import progress
from skillweave.schema.pruned import PrunedRecord
from skillweave.schema.score import GoldenCallNote
from skillweave.schema.task import Task
from skillweave.world.undisturbed import befallen

PRUNED = "pruned.jsonl"


def run_prune(options: Options) -> int:
    """The exit status. Raises ConfigError, ArtifactError."""
    desk = Desk(options.office(""))
    store = ResultsFile(options.output).store
    store.prepare()
    counts = {"calls": 0, "pruned": 0, "tasks": 0, "faults": 0}
    with locked(store), store.replacing(PRUNED) as temporary, temporary.open("wb") as stream:
        tasks = desk.tasks.tasks
        with progress("tasks", len(tasks), quiet=options.quiet) as shown:
            for record in (_pruned(desk, tasks[id]) for id in tasks):
                stream.write(record.model_dump_json().encode() + b"\n")
                _count(counts, record)
                if record.fault is not None:
                    print(f"{one_line(record.task_id)}: the golden calls do not replay: {one_line(record.fault)}")
                shown.advance(counts["tasks"], f"{counts['pruned']} calls pruned")
    print(
        f"{counts['pruned']} of {counts['calls']} golden calls of {counts['tasks']} tasks are needless; "
        f"{counts['faults']} tasks do not replay"
    )
    print(f"wrote {store.root / PRUNED}; next: score rollouts without them: python -m evaluator run")
    return 1 if counts["faults"] else 0


def _pruned(desk: Desk, task: Task) -> PrunedRecord:
    try:
        golden = golden_of(desk.worlds.world(task), task)
    except (ArtifactError, WorldError) as error:
        return PrunedRecord(task_id=task.id, world=task.world, kept=_all(task), pruned=[], fault=str(error))
    needless = golden.pruned - befallen(task.golden)
    notes = [
        GoldenCallNote(golden=step.call, tool=step.tool, arguments=step.arguments)
        for step in golden.execution.steps
        if step.call in needless
    ]
    kept = [position for position in _all(task) if position not in needless]
    return PrunedRecord(task_id=task.id, world=task.world, kept=kept, pruned=notes, fault=golden.fault)


def _all(task: Task) -> list[int]:
    return list(range(len(task.golden)))


def _count(counts: dict[str, int], record: PrunedRecord) -> None:
    counts["tasks"] += 1
    counts["pruned"] += len(record.pruned)
    counts["calls"] += len(record.kept) + len(record.pruned)
    counts["faults"] += record.fault is not None
