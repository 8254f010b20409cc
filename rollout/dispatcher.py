"""How trajectories of a run are taken through their stages: one after another, or many at a time."""

import asyncio
import gc
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from itertools import islice

from rollout.task import RolloutTask
from rollout.trajectory import RolloutSettings, Trajectory
from skillweave.base.digest import digest_text
from skillweave.base.errors import StopError
from skillweave.schema.trajectory import TrajectoryRecord

Finished = Callable[[Trajectory], None]
"""Called with each trajectory once its `.result` is whole."""


@dataclass(frozen=True)
class Width:
    """How many trajectories may be in each stage at once (`max_parallel_agents`)."""

    initialize: int = 8
    generate: int = 8
    evaluate: int = 8


class Dispatcher(ABC):
    """Bring your own by subclassing; see `docs/extending.md`."""

    def __init__(self, width: Width) -> None:
        self.width = width

    @abstractmethod
    async def dispatch(self, trajectories: Iterable[Trajectory], finished: Finished) -> None:
        """Run all to their end. StopError once nothing is under way any more, where the budget was spent."""


class BatchDispatcher(Dispatcher):
    """Stage after stage: a chunk of `width.generate` trajectories at a time, each stage for all of them."""

    async def dispatch(self, trajectories: Iterable[Trajectory], finished: Finished) -> None:
        """Run all to their end, chunk by chunk."""
        drawn = iter(trajectories)
        while chunk := list(islice(drawn, self.width.generate)):
            try:
                await _each(chunk, self.width.initialize, Trajectory.initialize_trajectory)
                spent = await _each(chunk, self.width.generate, Trajectory.generate_trajectory)
                # What was paid for before the budget was spent is kept.
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
    """Each stage has its queue and its workers, so that a long conversation holds nobody else up."""

    async def dispatch(self, trajectories: Iterable[Trajectory], finished: Finished) -> None:
        """Run all to their end. None is drawn before there is room for it."""
        await _Pipeline(iter(trajectories), self.width, finished).run()


class _Pipeline:
    """One batch on its way: drawn -> initialized -> generated -> finished. None in a queue ends a worker."""

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
            # Whoever waits for a batch expects the error, with its own cause, not the workers that it passed through.
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
            # A runtime may open without waiting for anything: let those that are open speak before the next one is.
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
    """Once a stage's workers are through, tell those of the next that nothing follows."""
    await asyncio.wait(workers)
    for _ in range(readers):
        await queue.put(None)


@asynccontextmanager
async def _held(trajectory: Trajectory) -> AsyncIterator[None]:
    """A trajectory that is given up where its stage is broken off."""
    try:
        yield
    except BaseException:
        await trajectory.abandon()
        raise


async def _each(
    chunk: Sequence[Trajectory], width: int, stage: Callable[[Trajectory], Awaitable[None]]
) -> StopError | None:
    """One stage of all, `width` at a time; whether the budget was spent in it. Errors are raised at the end."""
    free = asyncio.Semaphore(width)

    async def go(trajectory: Trajectory) -> None:
        async with free:
            await stage(trajectory)

    found = await asyncio.gather(*map(go, chunk), return_exceptions=True)
    spent = next((one for one in found if isinstance(one, StopError)), None)
    for one in found:
        if isinstance(one, BaseException) and not isinstance(one, StopError):
            raise one
    return spent


Written = Callable[[TrajectoryRecord], None]
TrajectoryClass = Callable[[RolloutTask, int, int, RolloutSettings], Trajectory]
"""Called as `Trajectory` is; another one takes the same arguments."""


class AgentRunner:
    """Runs batches with one agent, one dispatcher and one setting."""

    def __init__(
        self,
        setting: RolloutSettings,
        dispatcher: Dispatcher,
        *,
        seed: int = 0,
        trajectory_class: TrajectoryClass = Trajectory,
    ) -> None:
        self._setting = setting
        self._dispatcher = dispatcher
        self._seed = seed
        self._trajectory_class = trajectory_class

    async def run(self, batch: Iterable[tuple[RolloutTask, int]]) -> list[TrajectoryRecord]:
        """The trajectories of a batch of (task, trial), in the order of the batch."""
        found: dict[str, TrajectoryRecord] = {}
        order: list[str] = []

        def noted() -> Iterator[tuple[RolloutTask, int]]:
            for task, trial in batch:
                order.append(f"{task.id}#{trial}")
                yield task, trial

        await self.stream(noted(), lambda record: found.update({record.id: record}))
        return [found[id] for id in order]

    async def stream(self, batch: Iterable[tuple[RolloutTask, int]], written: Written) -> None:
        """Hand each trajectory over as it ends. StopError once nothing is under way, where the budget was spent."""

        def finished(trajectory: Trajectory) -> None:
            if trajectory.result is not None:
                written(trajectory.result)

        with _seldom_collected():
            await self._dispatcher.dispatch((self._trajectory(task, trial) for task, trial in batch), finished)

    def _trajectory(self, task: RolloutTask, trial: int) -> Trajectory:
        return self._trajectory_class(task, trial, seed_of(self._seed, task.id, trial), self._setting)


@contextmanager
def _seldom_collected() -> Iterator[None]:
    """Let the garbage collector look less often at the thousands of messages that open conversations hold.

    At its usual pace it takes a fifth of the time; what it looks for, cycles, hardly arises.
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
