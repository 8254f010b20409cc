"""Dispatchers take a run's trajectories through their stages: chunk by chunk, or as a pipeline."""

import asyncio
import gc
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from itertools import islice

from rollout.task import RolloutTask
from rollout.trajectory import RolloutSettings, Trajectory
from skillweave.base.errors import StopError
from skillweave.base.store import digest_text
from skillweave.schema.trajectory import TrajectoryRecord

Finished = Callable[[Trajectory], None]
"""Called with each trajectory once its `.result` is whole."""


@dataclass(frozen=True)
class Width:
    """The most trajectories in each stage at once (`rollout.max_parallel_agents`)."""

    initialize: int = 8
    generate: int = 8
    evaluate: int = 8


class Dispatcher(ABC):
    """Takes trajectories through their stages. Subclass it to write your own; see `docs/extending.md`."""

    def __init__(self, width: Width) -> None:
        self.width = width

    @abstractmethod
    async def dispatch(self, trajectories: Iterable[Trajectory], finished: Finished) -> None:
        """Run all trajectories to their end.

        Args:
            trajectories: The trajectories, made one by one as they are drawn.
            finished: Called with each trajectory that has a result.

        Raises:
            StopError: The budget is spent; nothing is under way any more.
        """


class BatchDispatcher(Dispatcher):
    """Takes a chunk of `width.generate` trajectories at a time through one stage after the other."""

    async def dispatch(self, trajectories: Iterable[Trajectory], finished: Finished) -> None:
        """Run all trajectories to their end, chunk by chunk."""
        drawn = iter(trajectories)
        while chunk := list(islice(drawn, self.width.generate)):
            try:
                await _each(chunk, self.width.initialize, Trajectory.initialize_trajectory)
                spent = await _each(chunk, self.width.generate, Trajectory.generate_trajectory)
                # Trajectories that were paid for before the budget was spent are kept.
                done = [trajectory for trajectory in chunk if trajectory.result is not None]
                await _each(done, self.width.evaluate, Trajectory.evaluate_trajectory)
            finally:
                for trajectory in chunk:
                    await trajectory.abandon()
            for trajectory in done:
                finished(trajectory)
            if spent is not None:
                raise spent


class PipelinedDispatcher(Dispatcher):
    """Gives each stage a queue and workers, so that a long conversation delays no other."""

    async def dispatch(self, trajectories: Iterable[Trajectory], finished: Finished) -> None:
        """Run all trajectories to their end. None is drawn before a worker is free for it."""
        await _Pipeline(iter(trajectories), self.width, finished).run()


class _Pipeline:
    """The pipeline of one batch: drawn -> initialized -> generated -> finished. None in a queue ends a worker."""

    def __init__(self, drawn: Iterator[Trajectory], width: Width, finished: Finished) -> None:
        self._drawn = drawn
        self._width = width
        self._finished = finished
        self._initialized: asyncio.Queue[Trajectory | None] = asyncio.Queue(width.generate)
        self._generated: asyncio.Queue[Trajectory | None] = asyncio.Queue(width.evaluate)
        self._spent: StopError | None = None

    async def run(self) -> None:
        broken: Exception | None = None
        try:
            await self._work()
        except ExceptionGroup as group:
            # The caller expects the error itself with its cause, not the group of the workers.
            broken = group.exceptions[0]
        finally:
            while not self._initialized.empty():
                waiting = self._initialized.get_nowait()
                if waiting is not None:
                    await waiting.abandon()
        if broken is not None:
            raise broken
        if self._spent is not None:
            raise self._spent

    async def _work(self) -> None:
        async with asyncio.TaskGroup() as group:
            for queue, width, before, worker in (
                (self._initialized, self._width.generate, self._width.initialize, self._initialize),
                (self._generated, self._width.evaluate, self._width.generate, self._generate),
            ):
                workers = [group.create_task(worker()) for _ in range(before)]
                group.create_task(_end(workers, queue, width))
            for _ in range(self._width.evaluate):
                group.create_task(self._evaluate())

    async def _initialize(self) -> None:
        while self._spent is None and (trajectory := next(self._drawn, None)) is not None:
            async with _held(trajectory):
                await trajectory.initialize_trajectory()
                await self._initialized.put(trajectory)
            # A runtime may open without ever waiting; let open conversations proceed before the next one is opened.
            await asyncio.sleep(0)

    async def _generate(self) -> None:
        while (trajectory := await self._initialized.get()) is not None:
            async with _held(trajectory):
                if self._spent is not None:
                    await trajectory.abandon()
                    continue
                try:
                    await trajectory.generate_trajectory()
                except StopError as error:
                    self._spent = error
                else:
                    await self._generated.put(trajectory)

    async def _evaluate(self) -> None:
        while (trajectory := await self._generated.get()) is not None:
            await trajectory.evaluate_trajectory()
            self._finished(trajectory)


async def _end(workers: Sequence[asyncio.Task[None]], queue: "asyncio.Queue[Trajectory | None]", readers: int) -> None:
    """Wait for a stage's workers to finish, then tell the next stage's workers that nothing follows."""
    await asyncio.wait(workers)
    for _ in range(readers):
        await queue.put(None)


@asynccontextmanager
async def _held(trajectory: Trajectory) -> AsyncIterator[None]:
    """Abandon the trajectory if its stage is interrupted."""
    try:
        yield
    except BaseException:
        await trajectory.abandon()
        raise


async def _each(
    chunk: Sequence[Trajectory], width: int, stage: Callable[[Trajectory], Awaitable[None]]
) -> StopError | None:
    """Run one stage for all trajectories of a chunk, `width` at a time. Errors are raised at the end.

    Returns:
        The error of the spent budget; None if the budget was not spent.
    """
    free = asyncio.Semaphore(width)

    async def go(trajectory: Trajectory) -> None:
        async with free:
            await stage(trajectory)

    errors = await asyncio.gather(*map(go, chunk), return_exceptions=True)
    spent = next((error for error in errors if isinstance(error, StopError)), None)
    for error in errors:
        if isinstance(error, BaseException) and not isinstance(error, StopError):
            raise error
    return spent


Written = Callable[[TrajectoryRecord], None]
"""Called with each finished record."""
TrajectoryClass = Callable[[RolloutTask, int, int, RolloutSettings], Trajectory]
"""`Trajectory`, or a class that takes the same arguments."""


class AgentRunner:
    """Runs batches of tasks with one agent, one dispatcher and one set of settings."""

    def __init__(
        self,
        setting: RolloutSettings,
        dispatcher: Dispatcher,
        *,
        seed: int = 0,
        trajectory_class: TrajectoryClass = Trajectory,
    ) -> None:
        """Create a runner.

        Args:
            setting: What all trajectories share, the agent's backend among them.
            dispatcher: What takes the trajectories through their stages.
            seed: The run's seed, from which each trajectory's seed follows.
            trajectory_class: The class of the trajectories.
        """
        self._setting = setting
        self._dispatcher = dispatcher
        self._seed = seed
        self._trajectory_class = trajectory_class

    async def run(self, batch: Iterable[tuple[RolloutTask, int]]) -> list[TrajectoryRecord]:
        """Run a batch of (task, trial); the records, in the order of the batch.

        Raises:
            StopError: The budget is spent; nothing is under way any more.
        """
        records: dict[str, TrajectoryRecord] = {}
        order: list[str] = []

        def noted() -> Iterator[tuple[RolloutTask, int]]:
            for task, trial in batch:
                order.append(f"{task.id}#{trial}")
                yield task, trial

        await self.stream(noted(), lambda record: records.update({record.id: record}))
        return [records[id] for id in order]

    async def stream(self, batch: Iterable[tuple[RolloutTask, int]], written: Written) -> None:
        """Run a batch of (task, trial) and pass on each record as its trajectory ends.

        Raises:
            StopError: The budget is spent; nothing is under way any more.
        """

        def finished(trajectory: Trajectory) -> None:
            if trajectory.result is not None:
                written(trajectory.result)

        with _seldom_collected():
            await self._dispatcher.dispatch((self._trajectory(task, trial) for task, trial in batch), finished)

    def _trajectory(self, task: RolloutTask, trial: int) -> Trajectory:
        return self._trajectory_class(task, trial, seed_of(self._seed, task.id, trial), self._setting)


@contextmanager
def _seldom_collected() -> Iterator[None]:
    """Make the garbage collector run less often, because open conversations hold thousands of messages.

    At its usual rate it takes a fifth of the time, and it finds hardly any cycles.
    """
    usual = gc.get_threshold()
    gc.set_threshold(100_000, 20, 20)
    try:
        yield
    finally:
        gc.set_threshold(*usual)


def seed_of(seed: int, task_id: str, trial: int) -> int:
    """The seed of one trajectory, below 2**31 so that every provider takes it."""
    return int(digest_text(f"{seed}/{task_id}#{trial}")[:8], 16) >> 1
