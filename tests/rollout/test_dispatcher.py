import asyncio
import json
from collections import Counter
from collections.abc import Iterator

import pytest

from rollout.dispatcher import BatchDispatcher, Dispatcher, PipelinedDispatcher, Width
from rollout.react.task import GeneralReactTask, ReactRuntime
from rollout.task import RolloutOutcome, Runtime
from rollout.trajectory import RolloutSettings, Trajectory
from skillweave.base.errors import BudgetError
from skillweave.llm.backends.backend import OfflineBackend, Reply, Request
from skillweave.schema.record import Json
from skillweave.schema.trajectory import Message, RolloutScore, TrajectoryRecord
from tests.rollout.talks import Script, a_question, calling, check_history

BOTH = pytest.mark.parametrize("dispatcher", [BatchDispatcher, PipelinedDispatcher])
Kind = type[BatchDispatcher] | type[PipelinedDispatcher]


def dispatched(dispatcher: Dispatcher, trajectories: Iterator[Trajectory]) -> list[TrajectoryRecord]:
    records: list[TrajectoryRecord] = []

    def finished(trajectory: Trajectory) -> None:
        assert trajectory.result is not None
        records.append(trajectory.result)

    asyncio.run(dispatcher.dispatch(trajectories, finished))
    return records


def echoing(id: str) -> GeneralReactTask:
    """A task whose tool gives the task's own secret, which is then the answer."""

    async def reveal(nonce: str) -> str:
        """Reveal."""
        await asyncio.sleep(0)
        return f"{nonce}|secret of {id}."

    return GeneralReactTask(id, f"What is the secret of {id}?", f"{id}#0|secret of {id}", tools=[reveal])


class Echo:
    """Calls the tool with its key, and then says what came of it."""

    name = "echo/echo"

    async def complete(self, request: Request) -> Reply:
        await asyncio.sleep(0)
        last = request.messages[-1]
        if last.role == "tool":
            return Reply(text=json.loads(last.content or ""))
        return calling(("reveal", json.dumps({"nonce": request.key})))

    async def close(self) -> None:
        return None


@BOTH
def test_a_thousand_at_once_never_hear_of_each_other(dispatcher: Kind) -> None:
    setting = RolloutSettings(backend=Echo())
    ids = [f"task{number:04}" for number in range(1000)]
    records = dispatched(dispatcher(Width(1000, 1000, 1000)), (Trajectory(echoing(id), 0, 1, setting) for id in ids))
    assert sorted(record.task_id for record in records) == ids
    for record in records:
        assert record.score is not None
        assert record.score.passed
        words = record.model_dump_json()
        assert words.count("task") == words.count(record.task_id) + words.count('"task_digest"') + words.count(
            '"task_id"'
        )
        check_history(record.messages)


class Counted(GeneralReactTask):
    """Notes how many are in each stage at once."""

    now: Counter[str]
    most: Counter[str]

    async def within(self, stage: str, ticks: int) -> None:
        self.now[stage] += 1
        self.most[stage] = max(self.most[stage], self.now[stage])
        for _ in range(ticks):
            await asyncio.sleep(0)
        self.now[stage] -= 1

    async def initialize_runtime(self) -> ReactRuntime:
        await self.within("initialize", 3)
        return await super().initialize_runtime()

    async def complete_runtime(self, runtime: Runtime, messages: list[Message]) -> dict[str, Json]:  # type: ignore[override]
        await self.within("generate", 100)
        return {}

    async def evaluate_result(self, outcome: RolloutOutcome) -> RolloutScore:
        await self.within("evaluate", 100)
        return RolloutScore(passed=True, reward=1.0)


def counted(id: str, now: Counter[str], most: Counter[str]) -> Counted:
    task = Counted(id, "?", "5")
    task.now, task.most = now, most
    return task


@BOTH
def test_no_stage_is_wider_than_it_may_be_and_each_gets_there(dispatcher: Kind) -> None:
    now: Counter[str] = Counter()
    most: Counter[str] = Counter()
    setting = RolloutSettings(backend=Script("5").backend)
    batch = (Trajectory(counted(f"t{number}", now, most), 0, 1, setting) for number in range(60))
    assert len(dispatched(dispatcher(Width(3, 10, 2)), batch)) == 60
    assert most == {"initialize": 3, "generate": 10, "evaluate": 2}


@BOTH
def test_trajectories_are_drawn_only_when_there_is_room(dispatcher: Kind) -> None:
    drawn = 0
    done = 0

    def batch() -> Iterator[Trajectory]:
        nonlocal drawn
        for number in range(200):
            drawn += 1
            assert drawn - done <= 30
            yield Trajectory(a_question(f"t{number}"), 0, 1, setting)

    def finished(trajectory: Trajectory) -> None:
        nonlocal done
        done += 1

    setting = RolloutSettings(backend=Script("5").backend)
    asyncio.run(dispatcher(Width(4, 8, 2)).dispatch(batch(), finished))
    assert done == 200


@BOTH
def test_one_that_fails_takes_nobody_along(dispatcher: Kind) -> None:
    class Faulty(GeneralReactTask):
        async def initialize_runtime(self) -> ReactRuntime:
            raise ValueError("a bug")

    setting = RolloutSettings(backend=Script("5").backend)
    tasks = [Faulty(f"t{n}", "?", "5") if n % 3 == 0 else a_question(f"t{n}") for n in range(30)]
    records = dispatched(dispatcher(Width(4, 8, 4)), (Trajectory(task, 0, 1, setting) for task in tasks))
    failed = {record.task_id for record in records if record.error and record.error.kind == "infrastructure"}
    assert failed == {f"t{n}" for n in range(0, 30, 3)}
    assert sum(record.score is not None and record.score.passed is True for record in records) == 20


@BOTH
def test_a_spent_budget_ends_it_cleanly_and_keeps_what_is_done(dispatcher: Kind) -> None:
    spent = 0

    def answer(request: Request) -> str:
        nonlocal spent
        spent += 1
        if spent > 21:
            raise BudgetError("the budget is spent")
        return "5"

    closed: list[str] = []
    opened: list[str] = []
    records: list[TrajectoryRecord] = []

    class Held(ReactRuntime):
        async def close(self) -> None:
            closed.append("one")

    class Opened(GeneralReactTask):
        async def initialize_runtime(self) -> ReactRuntime:
            opened.append(self.id)
            return Held([], None)

    def finished(trajectory: Trajectory) -> None:
        assert trajectory.result is not None
        records.append(trajectory.result)

    setting = RolloutSettings(backend=OfflineBackend(answer, "payer"))
    batch = (Trajectory(Opened(f"t{n}", "?", "5"), 0, 1, setting) for n in range(100))
    with pytest.raises(BudgetError, match="the budget is spent"):
        asyncio.run(dispatcher(Width(4, 8, 4)).dispatch(batch, finished))
    assert len(records) == 21
    assert all(record.error is None and record.score is not None for record in records)
    assert len(opened) < 60
    assert len(closed) == len(opened)


@BOTH
def test_an_error_of_whoever_takes_the_results_is_raised_as_it_is(dispatcher: Kind) -> None:
    def finished(trajectory: Trajectory) -> None:
        raise OSError("the disk is full")

    setting = RolloutSettings(backend=Script("5").backend)
    batch = (Trajectory(a_question(f"t{n}"), 0, 1, setting) for n in range(20))
    with pytest.raises(OSError, match="the disk is full"):
        asyncio.run(dispatcher(Width(2, 2, 2)).dispatch(batch, finished))


@BOTH
def test_whoever_breaks_it_off_leaves_nothing_open(dispatcher: Kind) -> None:
    open_now: set[str] = set()

    class Held(ReactRuntime):
        def __init__(self, id: str) -> None:
            super().__init__([], None)
            self.id = id
            open_now.add(id)

        async def close(self) -> None:
            open_now.discard(self.id)

    class Opened(GeneralReactTask):
        async def initialize_runtime(self) -> ReactRuntime:
            return Held(self.id)

    class Silent(Echo):
        async def complete(self, request: Request) -> Reply:
            await asyncio.Event().wait()
            raise AssertionError

    async def go() -> None:
        batch = (Trajectory(Opened(f"t{n}", "?", "5"), 0, 1, RolloutSettings(backend=Silent())) for n in range(50))
        running = asyncio.create_task(dispatcher(Width(4, 8, 4)).dispatch(batch, lambda _: None))
        while len(open_now) < 8:
            await asyncio.sleep(0)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(go())
    assert not open_now
