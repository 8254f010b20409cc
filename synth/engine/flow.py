"""The flow: one Prefect flow, with one task for each item. The only module that imports Prefect.

An item is submitted when everything that it waits for is settled, so no item holds a worker while it waits. An item
that is up to date is never submitted. The schedule decides; this module only carries out.
"""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from types import FrameType
from typing import Any

from prefect import flow, task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State
from prefect.futures import PrefectFuture
from prefect.states import Completed
from prefect.task_runners import TaskRunner, ThreadPoolTaskRunner

from skillweave.base.command import SIGNALS, end_now
from skillweave.base.manifest import ItemRecord
from skillweave.config.sections import ExecutionConfig
from synth.engine.executor import is_interrupted
from synth.engine.run import PipelineRun
from synth.engine.schedule import DueItem, ItemId, Schedule


@contextmanager
def stop_on_signals(run: PipelineRun) -> Iterator[None]:
    """Signals stop the run in order while the context is open; a second one ends the process at once.

    For the main thread, inside the flow: Prefect sets handlers of its own when the flow begins.
    """

    def stop(number: int, frame: FrameType | None) -> None:
        if run.executor.is_stopped:
            end_now(number, frame)
        run.executor.stop()

    before = {number: signal.signal(number, stop) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


RecordFuture = PrefectFuture[Any]
"""The future of an item's record."""


@task(task_run_name="{name}", cache_policy=NO_CACHE, persist_result=False)
def do_item(
    name: str,
    run: PipelineRun,
    step: str,
    key: str,
    known: list[ItemRecord],
    made: list[ItemRecord],
    round: int,
    sent_back: tuple[str, ...],
) -> State[ItemRecord]:
    """Do one item.

    Args:
        name: What Prefect calls the task.
        run: The run; in a worker process elsewhere it was opened from its spec.
        step: The item's step.
        key: The item's key.
        known: Records of items before it that were settled before this flow.
        made: Records of items before it that this flow did.
        round: How often its authors were asked anew before.
        sent_back: Reasons of later rejections that its authors are told.
    """
    record = run.do(run.pipeline.step(step), key, [*known, *made], round=round, sent_back=sent_back)
    message = "; ".join(record.reasons) or None
    return Completed(name=record.state.capitalize(), message=message, data=record)


def run_flow(run: PipelineRun, schedule: Schedule, work: list[DueItem]) -> None:
    """Do all work, and the work that becomes known when it is done."""

    # Without arguments, since Prefect would store them with the flow's run.
    @flow(name="skillweave", persist_result=False, task_runner=_runner(run.spec.config.execution))
    def skillweave() -> None:
        with stop_on_signals(run):
            _do_all(run, schedule, work)

    skillweave()


def _do_all(run: PipelineRun, schedule: Schedule, work: list[DueItem]) -> None:
    futures: dict[ItemId, RecordFuture] = {}
    ended: SimpleQueue[ItemId] = SimpleQueue()
    _submit(run, schedule, work, futures, ended)
    under_way = len(work)
    while under_way:
        item = ended.get()
        record = futures[item].result()
        if is_interrupted(record):
            # The item may have run in another process, which cannot stop this one.
            run.executor.end("; ".join(record.reasons[1:]) or record.reasons[0])
        else:
            run.manifest.absorb(record)
        following = [] if run.executor.is_stopped else schedule.settle(item, record)
        _submit(run, schedule, following, futures, ended)
        under_way += len(following) - 1


def _submit(
    run: PipelineRun,
    schedule: Schedule,
    work: list[DueItem],
    futures: dict[ItemId, RecordFuture],
    ended: "SimpleQueue[ItemId]",
) -> None:
    for due in work:
        future: RecordFuture = do_item.submit(
            name=f"{due.step.short}/{due.item.key}",
            run=run,
            step=due.item.step,
            key=due.item.key,
            known=[schedule.records[before] for before in due.upstream if before not in futures],
            # Prefect replaces the futures by their records.
            made=[futures[before] for before in due.upstream if before in futures],  # type: ignore[misc]
            round=due.round,
            sent_back=due.sent_back,
        )
        futures[due.item] = future
        future.add_done_callback(lambda _, item=due.item: ended.put(item))  # type: ignore[misc]


def _runner(execution: ExecutionConfig) -> TaskRunner[Any]:
    """The runner of the configuration. Dask and Ray are optional packages, so they are imported only if asked for."""
    runner: TaskRunner[Any]
    if execution.runner == "dask":
        # Daemonic workers could not have child processes, which `offload` needs. These workers end with us anyway.
        os.environ.setdefault("DASK_DISTRIBUTED__WORKER__DAEMON", "False")
        os.environ.setdefault("DASK_LOGGING__DISTRIBUTED", "error")
        from prefect_dask import DaskTaskRunner

        options = {"n_workers": execution.workers, "threads_per_worker": 1, "dashboard_address": None}
        runner = DaskTaskRunner(cluster_kwargs=options)
    elif execution.runner == "ray":
        from prefect_ray import RayTaskRunner

        runner = RayTaskRunner(init_kwargs={"num_cpus": execution.workers, "include_dashboard": False})
    else:
        runner = ThreadPoolTaskRunner(max_workers=execution.workers)
    return runner
