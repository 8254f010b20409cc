"""Drive a run from its plan to its end: the lock, Prefect's server, the flow, and what came of it.

Where nothing is to be done, neither a server nor Prefect itself is loaded.
"""

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any

from skillweave.manifest import ItemRecord
from synth.engine import prefect_environment
from synth.engine.api_server import ApiServer
from synth.engine.run import Run
from synth.engine.schedule import Item, Plan, Schedule
from synth.step import Step


@dataclass
class Listener:
    """What wants to know how a run goes."""

    on_plan: Callable[[Schedule], None] = lambda schedule: None
    on_settled: Callable[[Item, ItemRecord], None] = lambda item, record: None


def drive(run: Run, steps: list[Step[Any]], listener: Listener) -> Schedule:
    """Bring steps up to date. The lock is held by the caller."""
    schedule = schedule_of(run, steps)
    work = schedule.start()
    listener.on_plan(schedule)
    try:
        if work:
            with _stopping(run), _api(run) as _:
                from synth.flow import run_flow

                run_flow(run, schedule, work, listener.on_settled)
    finally:
        run.manifest.save()
    return schedule


def schedule_of(run: Run, steps: list[Step[Any]]) -> Schedule:
    """The schedule of a run, which ends steps as their items are settled."""
    schedule: Schedule

    def end(plan: Plan) -> None:
        run.finish(plan.step, [schedule.records[item] for item in plan.items])

    schedule = Schedule(run, steps, end)
    return schedule


@contextmanager
def _api(run: Run) -> Iterator[None]:
    """Prefect's API: the user's, or a server of our own."""
    outputs = run.spec.outputs
    url = os.environ.get("PREFECT_API_URL")
    if url:
        prefect_environment.apply(outputs, url)
        yield
        return
    server = _start(run)
    try:
        prefect_environment.apply(outputs, server.url)
        import synth.flow  # noqa: F401  loads while the server starts

        if not server.wait():
            server.close()
            # A home that an earlier run left damaged; nothing in it is needed.
            shutil.rmtree(outputs / prefect_environment.HOME, ignore_errors=True)
            server = _start(run, server.port)
            if not server.wait():
                raise server.complaint()
        yield
    finally:
        server.close()
        os.environ.pop("PREFECT_API_URL", None)


def _start(run: Run, port: int | None = None) -> ApiServer:
    outputs = run.spec.outputs
    (outputs / prefect_environment.HOME).mkdir(parents=True, exist_ok=True)
    variables = prefect_environment.server_environment(outputs, os.environ)
    return ApiServer(variables, outputs / "logs" / "prefect-server.log", port)


@contextmanager
def _stopping(run: Run) -> Iterator[None]:
    """An interrupt ends the run in order; a second one ends the process."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        if run.is_stopped:
            os._exit(130)
        run.stop()

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
