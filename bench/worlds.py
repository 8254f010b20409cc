"""Groups `sessions` and `scores`: operations of a world, and scores of conversations in it, in this process."""

import sqlite3
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.practice import practice
from bench.suite import Extent, Sample, timed
from bench.visits import visits, write_dataset, write_rollouts
from evaluator.replay.execution import execute_golden
from evaluator.replay.rollouts import find_rollouts
from evaluator.scoring.evaluate import CheckSettings
from evaluator.scoring.worker_pool import DatasetEvaluator, EvaluationJob, EvaluationSetup, finished_job
from skillweave.schema.task import Task
from skillweave.world.canonical import canonical
from skillweave.world.world import World
from tests.world.clinic import a_world

SEED = 7
EVERY = 4
"""Every fourth trajectory is evaluated: of each task another, so that two thirds pass."""
CALLER = "PAT-0001"
BOOK = {"slot_id": "SLO-0004"}


def sessions(extent: Extent) -> Iterator[Sample]:
    """Measure each operation in the small clinic of the tests."""
    world = a_world()
    with world.pool.lent() as copy:
        connection = copy.connection

    def open_and_close() -> None:
        world.session(caller=CALLER).close()

    yield from _with_floor("open", open_and_close, connection)
    with world.session(caller=CALLER) as session:
        mark = session.mark()

        def call(tool: str, arguments: dict[str, str]) -> None:
            session.call(tool, arguments)
            session.results.clear()

        def write() -> None:
            session.call("book_appointment", BOOK)
            session.undo(mark)

        yield from _with_floor("read", lambda: call("find_slots", {}), connection)
        yield from _with_floor("write", write, connection)
        yield Sample("refused", timed(lambda: call("cancel_appointment", {"appointment_id": "APT-0002"})))
        session.call("book_appointment", BOOK)
        yield Sample("diff", timed(session.diff))
        changes = session.diff()
        yield Sample("canonical", timed(lambda: canonical(changes, session.minted)))


def _with_floor(name: str, run: Callable[[], object], connection: sqlite3.Connection) -> Iterator[Sample]:
    """The time of an operation, and of its SQLite statements without anything around them.

    Args:
        connection: The connection on which the operation makes its statements. It leaves the rows as they were.
    """
    said: list[str] = []
    run()
    connection.set_trace_callback(said.append)
    run()
    connection.set_trace_callback(None)
    # A statement is traced again for each trigger that it sets off.
    statements = [statement for statement, _ in groupby(said)]

    def bare() -> None:
        for statement in statements:
            connection.execute(statement).fetchall()

    yield Sample(name, timed(run))
    yield Sample(f"{name}_floor", timed(bare))


def scores(extent: Extent) -> Iterator[Sample]:
    """Measure golden replays and evaluations in the group practice."""
    world = practice(SEED)
    tasks = visits(world, SEED)

    def replay() -> None:
        for task in tasks:
            with world.session(task) as session:
                execute_golden(session, task.golden)

    yield Sample("golden_replay", timed(replay, of=len(tasks)))
    with TemporaryDirectory() as folder:
        yield from _evaluations(world, tasks, Path(folder))


def _evaluations(world: World, tasks: list[Task], folder: Path) -> Iterator[Sample]:
    """Evaluate each conversation from its place in a file to a line of results."""
    outputs, rollouts = folder / "outputs", folder / "rollouts"
    write_dataset(world, tasks, outputs)
    write_rollouts(world, tasks, rollouts)
    index = find_rollouts(rollouts)
    places = sorted(index.places.items())[::EVERY]
    jobs = [EvaluationJob(key, index.files[place.file], place, "") for key, place in places]
    for name, is_cached in (("golden_anew", False), ("golden_cached", True)):
        evaluator = DatasetEvaluator(EvaluationSetup(outputs, outputs, CheckSettings(cache=is_cached, prune=False)))

        def evaluate(evaluator: DatasetEvaluator = evaluator) -> None:
            for job in jobs:
                finished_job(job, evaluator.result(job))

        yield Sample(name, timed(evaluate, of=len(jobs)))
