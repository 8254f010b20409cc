"""Builders of conversations: backends that say what a list holds, and whole trajectories of one task."""

import asyncio
from collections.abc import Callable, Sequence

from rollout.conversation import RolloutLimits
from rollout.react.task import GeneralReactTask
from rollout.task import RolloutTask
from rollout.trajectory import RolloutSettings, Trajectory
from skillweave.llm.backends.backend import OfflineBackend, Reply, Request
from skillweave.schema.trajectory import FunctionCall, Message, ToolCall, TrajectoryRecord

Said = str | Reply | Exception


class Script:
    """An agent that says these one after the other, the last one again and again; it remembers what it was sent."""

    def __init__(self, *said: Said) -> None:
        self._said = said
        self.heard: list[Request] = []
        self.backend = OfflineBackend(self._answer, "script")

    def _answer(self, request: Request) -> str | Reply:
        said = self._said[min(len(self.heard), len(self._said) - 1)]
        self.heard.append(request)
        if isinstance(said, Exception):
            raise said
        return said


def calling(*calls: tuple[str, str], ids: Sequence[str] | None = None, text: str = "") -> Reply:
    """A reply that calls tools: (name, arguments)."""
    named = ids or [f"id{number}" for number in range(len(calls))]
    made = [
        ToolCall(id=id, function=FunctionCall(name=name, arguments=arguments))
        for id, (name, arguments) in zip(named, calls, strict=True)
    ]
    return Reply(text=text, tool_calls=tuple(made), stop="tool_calls")


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def a_question(id: str = "sum", answer: str = "5", tools: Sequence[Callable[..., object]] = (add,)) -> GeneralReactTask:
    """A question with one tool."""
    return GeneralReactTask(id, "What is 2 + 3?", answer, tools=tools)


def held(task: RolloutTask, setting: RolloutSettings) -> TrajectoryRecord:
    """The trajectory, from its beginning to its score."""

    async def hold() -> TrajectoryRecord:
        trajectory = Trajectory(task, 0, 1, setting)
        await trajectory.initialize_trajectory()
        await trajectory.generate_trajectory()
        await trajectory.evaluate_trajectory()
        assert trajectory.result is not None
        return trajectory.result

    return asyncio.run(hold())


def talk(*said: Said, task: RolloutTask | None = None, limits: RolloutLimits | None = None) -> TrajectoryRecord:
    """What becomes of a question where the agent says this."""
    return held(task or a_question(), RolloutSettings(backend=Script(*said).backend, limits=limits or RolloutLimits()))


def said_by(record: TrajectoryRecord, role: str) -> list[Message]:
    """Messages of one role."""
    return [message for message in record.messages if message.role == role]


def check_history(messages: Sequence[Message]) -> None:
    """Each call has an id of its own, and one result, right after its message, in the order of the calls."""
    seen: set[str] = set()
    waiting: list[str] = []
    for message in messages:
        if message.role == "tool":
            assert waiting, f"a result that nobody asked for: {message}"
            assert message.tool_call_id == waiting.pop(0)
            continue
        assert not waiting, f"calls without a result: {waiting}"
        waiting = [call.id for call in message.tool_calls or ()]
        assert len({*waiting}) == len(waiting)
        assert not seen & {*waiting}
        assert all(waiting)
        seen |= {*waiting}
        assert message.role != "assistant" or message.content or message.tool_calls
    assert not waiting, f"calls without a result at the end: {waiting}"
