"""Groups `sessions` and `scores`: operations of a world, and scores of conversations in it, in this process."""

import sqlite3
from collections.abc import Callable, Iterator
from functools import partial
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
from skillweave.schema.record import Json
from skillweave.schema.task import Task
from skillweave.world.canonical import canonical
from skillweave.world.world import World
from tests.world.clinic import a_world

SEED = 7
EVERY = 4
"""Every fourth trajectory is evaluated: of each task another, so that two thirds pass."""
CALLER = "PAT-0001"
BOOK: dict[str, Json] = {"slot_id": "SLO-0004"}


def sessions(extent: Extent) -> Iterator[Sample]:
    """Measure each operation in the small clinic of the tests, each in a world of its own."""
    with_floor: dict[str, Operation] = {"open": _opening, "read": _reading, "write": _writing}
    others: dict[str, Operation] = {"refused": _refused, "diff": _difference, "canonical": _canonical}
    works = {name: make(a_world()) for name, make in {**with_floor, **others}.items()}
    yield from timed({**works, **{f"{name}_floor": _bare(make) for name, make in with_floor.items()}})


Work = Callable[[], object]
Operation = Callable[[World], Work]
"""Makes an operation in a world. It leaves the rows as they were, so it can be repeated."""


def _opening(world: World) -> Work:
    return lambda: world.session(caller=CALLER).close()


def _reading(world: World) -> Work:
    return _calling(world, "find_slots", {}, succeeds=True)


def _refused(world: World) -> Work:
    return _calling(world, "cancel_appointment", {"appointment_id": "APT-0002"}, succeeds=False)


def _calling(world: World, tool: str, arguments: dict[str, Json], *, succeeds: bool) -> Work:
    session = world.session(caller=CALLER)

    def call() -> None:
        assert session.call(tool, arguments).ok is succeeds
        session.results.clear()

    return call


def _writing(world: World) -> Work:
    session = world.session(caller=CALLER)
    mark = session.mark()

    def write() -> None:
        assert session.call("book_appointment", BOOK).ok
        session.undo(mark)

    return write


def _difference(world: World) -> Work:
    session = world.session(caller=CALLER)
    mark = session.mark()

    def compare() -> None:
        # A session keeps the difference of the state that it is in.
        assert session.call("book_appointment", BOOK).ok
        assert len(session.diff()) == 3
        session.undo(mark)

    return compare


def _canonical(world: World) -> Work:
    with world.session(caller=CALLER) as session:
        assert session.call("book_appointment", BOOK).ok
        return partial(canonical, session.diff(), session.minted)


def _bare(make: Operation) -> Work:
    """The SQLite statements of an operation, without anything around them, on a connection like that of a session."""
    said: list[str] = []
    world = a_world()
    connection = _connection(world)
    connection.set_trace_callback(said.append)
    work = make(world)
    work()
    first = len(said)
    work()
    connection.set_trace_callback(None)
    connection = _connection(a_world())
    _execute(connection, _statements(said[:first]))
    return partial(_execute, connection, _statements(said[first:]))


def _connection(world: World) -> sqlite3.Connection:
    """The connection of a world's only copy, which its next session works on."""
    with world.pool.lent() as copy:
        return copy.connection


def _statements(traced: list[str]) -> list[str]:
    """The statements of a trace. One that sets off triggers is traced again for each."""
    return [statement for statement, _ in groupby(traced)]


def _execute(connection: sqlite3.Connection, statements: list[str]) -> None:
    for statement in statements:
        connection.execute(statement).fetchall()


def scores(extent: Extent) -> Iterator[Sample]:
    """Measure golden replays and evaluations in the group practice."""
    world = practice(SEED)
    tasks = visits(world, SEED)

    def replay() -> None:
        for task in tasks:
            with world.session(task) as session:
                execute_golden(session, task.golden)

    with TemporaryDirectory() as folder:
        jobs, evaluators = _evaluations(world, tasks, Path(folder))

        def evaluate(evaluator: DatasetEvaluator) -> None:
            for job in jobs:
                finished_job(job, evaluator.result(job))

        works = {name: partial(evaluate, evaluator) for name, evaluator in evaluators.items()}
        pieces = {"golden_replay": len(tasks), **dict.fromkeys(works, len(jobs))}
        yield from timed({"golden_replay": replay, **works}, pieces)


def _evaluations(
    world: World, tasks: list[Task], folder: Path
) -> tuple[list[EvaluationJob], dict[str, DatasetEvaluator]]:
    """Write the practice's dataset and rollouts; the jobs, and an evaluator for each measurement."""
    outputs, rollouts = folder / "outputs", folder / "rollouts"
    write_dataset(world, tasks, outputs)
    write_rollouts(world, tasks, rollouts)
    index = find_rollouts(rollouts)
    places = sorted(index.places.items())[::EVERY]
    jobs = [EvaluationJob(key, index.files[place.file], place, "") for key, place in places]
    settings = {"golden_anew": CheckSettings(cache=False, prune=False), "golden_cached": CheckSettings(prune=False)}
    return jobs, {name: DatasetEvaluator(EvaluationSetup(outputs, outputs, kept)) for name, kept in settings.items()}
