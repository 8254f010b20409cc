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
from synth.engine.opened import agenda, opened, opening
from synth.engine.run import PipelineRun, RunSpec
from synth.engine.schedule import DueItem, ItemId, Schedule


@contextmanager
def stop_on_signals(run: PipelineRun) -> Iterator[None]:
    """Within it, signals stop the run. For the main thread, inside the flow: Prefect has set handlers of its own."""

    def stop(number: int, frame: FrameType | None) -> None:
        if run.is_stopped:
            end_now(number, frame)
        run.stop()

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
    spec: RunSpec,
    step: str,
    key: str,
    known: list[ItemRecord],
    made: list[ItemRecord],
    round: int,
    sent_back: tuple[str, ...],
) -> State[ItemRecord]:
    """Do one item. It stands on records known before, and on those `made` in this flow."""
    run = opened(spec)
    record = run.do(run.pipeline.step(step), key, [*known, *made], round=round, sent_back=sent_back)
    message = "; ".join(record.reasons) or None
    return Completed(name=record.state.capitalize(), message=message, data=record)


@flow(name="skillweave", persist_result=False)
def skillweave() -> None:
    """Do all work of the agenda, and what follows from it."""
    run, schedule, work = agenda()
    with stop_on_signals(run):
        _do_all(run, schedule, work)


def run_flow(run: PipelineRun, schedule: Schedule, work: list[DueItem]) -> None:
    """Do all work, and what follows from it."""
    with opening(run, schedule, work):
        skillweave.with_options(task_runner=_runner(run.spec.config.execution))()


def _do_all(run: PipelineRun, schedule: Schedule, work: list[DueItem]) -> None:
    futures: dict[ItemId, RecordFuture] = {}
    ended: SimpleQueue[ItemId] = SimpleQueue()
    _submit(run, schedule, work, futures, ended)
    under_way = len(work)
    while under_way:
        item = ended.get()
        record = futures[item].result()
        if is_interrupted(record):
            # Wherever it ran, nothing more is to be begun.
            run.end("; ".join(record.reasons[1:]) or record.reasons[0])
        else:
            run.manifest.absorb(record)
        following = [] if run.is_stopped else schedule.settle(item, record)
        _submit(run, schedule, following, futures, ended)
        under_way += len(following) - 1


def _submit(
    run: PipelineRun,
    schedule: Schedule,
    work: list[DueItem],
    futures: dict[ItemId, RecordFuture],
    ended: "SimpleQueue[ItemId]",
) -> None:
    for each in work:
        future: RecordFuture = do_item.submit(
            name=f"{each.step.short}/{each.item.key}",
            spec=run.spec,
            step=each.item.step,
            key=each.item.key,
            known=[schedule.records[before] for before in each.upstream if before not in futures],
            # Prefect puts the records in the place of their futures.
            made=[futures[before] for before in each.upstream if before in futures],  # type: ignore[misc]
            round=each.round,
            sent_back=each.sent_back,
        )
        futures[each.item] = future
        future.add_done_callback(lambda _, item=each.item: ended.put(item))  # type: ignore[misc]


def _runner(execution: ExecutionConfig) -> TaskRunner[Any]:
    """Runners of other packages are loaded only where they are asked for."""
    runner: TaskRunner[Any]
    if execution.runner == "dask":
        # Its workers must be allowed processes of their own, for `offload`; they end with us by themselves.
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
