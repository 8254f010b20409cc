"""AgentRunner: a batch of tasks in, trajectories out.

Nothing is kept of a trajectory that was handed over, so a batch may be as long as it likes.
"""

import gc
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from rollout.dispatcher import Dispatcher
from rollout.task import Task
from rollout.trajectory import Setting, Trajectory
from skillweave.digest import digest_text
from skillweave.schema.trajectory import TrajectoryRecord

Written = Callable[[TrajectoryRecord], None]
TrajectoryClass = Callable[[Task, int, int, Setting], Trajectory]
"""Called as `Trajectory` is; another one takes the same arguments."""


class AgentRunner:
    """Runs batches with one agent, one dispatcher and one setting."""

    def __init__(
        self, setting: Setting, dispatcher: Dispatcher, *, seed: int = 0, trajectory_class: TrajectoryClass = Trajectory
    ) -> None:
        self._setting = setting
        self._dispatcher = dispatcher
        self._seed = seed
        self._trajectory_class = trajectory_class

    async def run(self, batch: Iterable[tuple[Task, int]]) -> list[TrajectoryRecord]:
        """The trajectories of a batch of (task, trial), in the order of the batch."""
        found: dict[str, TrajectoryRecord] = {}
        order: list[str] = []

        def noted() -> Iterator[tuple[Task, int]]:
            for task, trial in batch:
                order.append(f"{task.id}#{trial}")
                yield task, trial

        await self.stream(noted(), lambda record: found.update({record.id: record}))
        return [found[id] for id in order]

    async def stream(self, batch: Iterable[tuple[Task, int]], written: Written) -> None:
        """Hand each trajectory over as it ends. StopError once nothing is under way, where the budget was spent."""

        def finished(trajectory: Trajectory) -> None:
            if trajectory.result is not None:
                written(trajectory.result)

        with _seldom_collected():
            await self._dispatcher.dispatch((self._trajectory(task, trial) for task, trial in batch), finished)

    def _trajectory(self, task: Task, trial: int) -> Trajectory:
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
