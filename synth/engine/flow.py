"""The flow: one Prefect flow, with one task for each item. The only module that imports Prefect.

An item is submitted when everything that it waits for is settled, so no item holds a worker while it waits. An item
that is up to date is never submitted. The schedule decides; this module only carries out.
"""

import logging
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial, wraps
from queue import Empty, SimpleQueue
from types import FrameType
from typing import Any, Protocol

from prefect import flow, task
from prefect.cache_policies import NO_CACHE
from prefect.client.base import PrefectHttpxAsyncClient, PrefectHttpxSyncClient
from prefect.client.schemas.objects import State
from prefect.states import Completed
from prefect.task_runners import TaskRunner, ThreadPoolTaskRunner

from skillweave.base.command import KEPT, SIGNALS, end_now
from skillweave.base.errors import SkillweaveError
from skillweave.base.manifest import ItemRecord
from skillweave.base.proxy import proxy_for
from skillweave.config.sections import ExecutionConfig
from skillweave.workers import opened_workers
from synth.engine.executor import is_interrupted
from synth.engine.run import PipelineRun
from synth.engine.schedule import DueItem, ItemId, Schedule


def choose_proxy(begin: Callable[..., None]) -> Callable[..., None]:
    """The constructor of one of Prefect's clients, with the proxy that we choose.

    By itself the client makes a transport for each proxy of the environment, also where it needs none, and fails where
    one speaks SOCKS.
    """

    @wraps(begin)
    def begin_with_proxy(client: object, *arguments: Any, **settings: Any) -> None:
        proxy = proxy_for(str(settings.get("base_url", "")))
        begin(client, *arguments, **{"trust_env": False, "proxy": proxy and proxy.url, **settings})

    return begin_with_proxy


for client in (PrefectHttpxSyncClient, PrefectHttpxAsyncClient):
    client.__init__ = choose_proxy(client.__init__)


for service in ("EventsWorker", "APILogWorker"):
    # Loggers of their own, outside of Prefect's: at the end of a run they warn of what they still have to send.
    logging.getLogger(service).setLevel(logging.CRITICAL)


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


LOOK_UP_EVERY_S = 0.5
"""Seconds for which the main thread waits without seeing signals."""


@dataclass
class FlowWork:
    """What the flow works on, and how it ended."""

    run: PipelineRun
    schedule: Schedule
    work: list[DueItem]
    is_over: bool = False
    error: Exception | None = None
    """What ended it early."""


UNDER_WAY: ContextVar[FlowWork] = ContextVar("under_way")


class RecordFuture(Protocol):
    """The future of an item's record."""

    def result(self) -> ItemRecord:
        """The record. Raises an error of Prefect, Dask or Ray if the item's worker died."""
        ...

    def add_done_callback(self, fn: Callable[["RecordFuture"], None]) -> None: ...


@task(task_run_name="{name}", cache_policy=NO_CACHE, persist_result=False)
def do_item(name: str, work: Callable[[], ItemRecord]) -> State[ItemRecord]:
    """Do one item.

    Args:
        name: What Prefect calls the task.
        work: Does it, in this process or in one of a cluster. Prefect does not look into it.
    """
    record = work()
    message = "; ".join(record.reasons) or None
    return Completed(name=record.state.capitalize(), message=message, data=record)


@flow(name="skillweave", persist_result=False)
def skillweave() -> None:
    """Do what is under way.

    Prefect sends its flow to worker processes and stores its arguments: so it has none, and names one function.
    """
    do_under_way()


def do_under_way() -> None:
    """Do all work that is under way, and that becomes known when it is done.

    An error is kept for the command: Prefect would report it too, and what it meets while it does so.
    """
    flow = UNDER_WAY.get()
    try:
        with stop_on_signals(flow.run):
            _do_all(flow.run, flow.schedule, flow.work)
    except Exception as error:
        flow.run.executor.stop()
        flow.error = error
    flow.is_over = True


def run_flow(run: PipelineRun, schedule: Schedule, work: list[DueItem]) -> None:
    """Do all work, and the work that becomes known when it is done.

    Raises:
        SkillweaveError: Prefect failed before it was done.
    """
    under_way = FlowWork(run, schedule, work)
    UNDER_WAY.set(under_way)
    try:
        with _task_runner(run.spec.config.execution) as runner:
            skillweave.with_options(task_runner=runner)()
    except SkillweaveError:
        raise
    except Exception as error:  # of Prefect, which has nothing to keep once the work is over
        if not under_way.is_over:
            run.store.require_room()  # its server, too, writes to the outputs folder
            reason = " ".join(f"{type(error).__name__}: {error}".split())[:400]
            raise SkillweaveError(f"Prefect failed: {reason}; {KEPT}") from error
    if under_way.error is not None:
        raise under_way.error


def _do_all(run: PipelineRun, schedule: Schedule, work: list[DueItem]) -> None:
    """Submit items as they become due and workers are free, those of the highest rank first.

    The future of an item that has ended is let go: a cluster would do the item again to have its record, if the worker
    that holds it died.
    """
    futures: dict[ItemId, RecordFuture] = {}
    ended: SimpleQueue[ItemId] = SimpleQueue()
    most = _most_at_once(run.spec.config.execution)
    waiting = [*work]
    while waiting or futures:
        waiting.sort(key=lambda due: due.rank, reverse=True)
        free = max(0, most - len(futures))
        _submit(run, schedule, waiting[:free], futures, ended)
        del waiting[:free]
        item = _next(ended)
        record = _outcome(run, item, futures.pop(item))
        if is_interrupted(record):
            # The item may have run in another process, which cannot stop this one.
            run.executor.end("; ".join(record.reasons[1:]) or record.reasons[0])
        else:
            record = run.keep(record)
        if run.executor.is_stopped:
            waiting.clear()
        else:
            waiting += schedule.settle(item, record)


def _most_at_once(execution: ExecutionConfig) -> int:
    """How many items are under way at once. A cluster may have more workers than the configuration says, and has a
    queue of its own. With threads it is one more than processes, so that none idles while an item asks, checks, reads
    or writes; a lone worker does one at a time."""
    if execution.runner != "threads":
        return sys.maxsize
    return execution.workers + (execution.workers > 1)


def _next(ended: "SimpleQueue[ItemId]") -> ItemId:
    """The next item that ends. A signal that comes just before the wait begins is seen when it next looks up."""
    while True:
        with suppress(Empty):
            return ended.get(timeout=LOOK_UP_EVERY_S)


def _outcome(run: PipelineRun, item: ItemId, future: RecordFuture) -> ItemRecord:
    """The record of an item that ended. Where its worker died each time that it was tried, it has failed.

    Raises:
        ArtifactError: The outputs folder takes nothing more, so that Prefect's server could not answer.
    """
    try:
        return future.result()
    except Exception as error:  # of Prefect, Dask or Ray, whose errors have no common class
        run.store.require_room()
        reason = " ".join(f"its worker died or did not answer: {type(error).__name__}: {error}".split())[:400]
        return ItemRecord(step=item.step, key=item.key, state="failed", reasons=[reason])


def _submit(
    run: PipelineRun,
    schedule: Schedule,
    work: list[DueItem],
    futures: dict[ItemId, RecordFuture],
    ended: "SimpleQueue[ItemId]",
) -> None:
    for due in work:
        upstream = [schedule.records[before] for before in due.upstream]
        work_of = partial(_record, run, due.item, upstream, due.round, due.sent_back)
        future: RecordFuture = do_item.submit(name=f"{due.step.short}/{due.item.key}", work=work_of)
        futures[due.item] = future
        future.add_done_callback(lambda _, item=due.item: ended.put(item))  # type: ignore[misc]


def _record(
    run: PipelineRun, item: ItemId, upstream: list[ItemRecord], round: int, sent_back: tuple[str, ...]
) -> ItemRecord:
    """Do an item; in a worker process the run was opened from its spec."""
    step = run.pipeline.step(item.step)
    return run.do(step, item.key, upstream, round=round, sent_back=sent_back)


@contextmanager
def _task_runner(execution: ExecutionConfig) -> Iterator[TaskRunner[Any]]:
    """The runner of the configuration. Dask and Ray are optional packages, so they are imported only if asked for."""
    if execution.runner == "threads":
        yield ThreadPoolTaskRunner(max_workers=_most_at_once(execution))
        return
    with opened_workers(execution) as cluster:
        if execution.runner == "dask":
            from prefect_dask import DaskTaskRunner

            yield DaskTaskRunner(address=cluster.address)
        else:
            from prefect_ray import RayTaskRunner

            # It takes the cluster that this process is connected to.
            yield RayTaskRunner()
