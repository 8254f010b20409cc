"""Parts of a user's own that go wrong, each in its way."""

from collections.abc import Callable, Iterable
from typing import Any

from rollout.dispatcher import Dispatcher, Finished
from rollout.parts import SourceContext
from rollout.task import RolloutOutcome, TaskList
from rollout.trajectory import Trajectory
from skillweave.schema.trajectory import RolloutScore
from tests.rollout.talks import a_question

BROKEN = 1
"""No part, but it has a name."""


def _source(**changes: Any) -> Callable[[SourceContext], TaskList]:
    def make(context: SourceContext) -> TaskList:
        source = TaskList("own/1", {f"sum-{number}": lambda: a_question("sum") for number in range(2)})
        vars(source).update(changes)
        return source

    return make


def fails(*given: object) -> Any:
    raise RuntimeError("it is broken")


def no_source(context: SourceContext) -> None:
    return None


async def _five(outcome: RolloutOutcome) -> RolloutScore:
    return 5  # type: ignore[return-value]


def _of_five() -> Any:
    task = a_question("sum")
    task.evaluate_result = _five  # type: ignore[method-assign]
    return task


fine = _source()
ids_fail = _source(ids=fails)
ids_are_numbers = _source(ids=lambda: [1, 2])
digest_is_a_set = _source(digest={1})
one_task_fails = _source(task=lambda id, trial: fails() if id == "sum-0" else a_question(id))
cannot_let_go = _source(close=fails, task=lambda id, trial: a_question(id))
scores_are_numbers = _source(task=lambda id, trial: _of_five())


class Failing(Dispatcher):
    async def dispatch(self, trajectories: Iterable[Trajectory], finished: Finished) -> None:
        fails()


class Five:
    """It says what is asked for."""

    name = "own/five"

    def __init__(self, config: object) -> None:
        from tests.rollout.talks import Script

        self._backend = Script("5").backend

    async def complete(self, request: Any) -> Any:
        return await self._backend.complete(request)

    async def close(self) -> None:
        return None
