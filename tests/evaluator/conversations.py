"""Conversations in the small clinic: what both sides say, and the calls between, as a trial."""

from typing import Any

from evaluator.replay.execution import execute_messages
from evaluator.replay.golden import golden_execution_of
from evaluator.replay.trial import RecordedTrajectory, ReplayedTrial, replayed_trial
from skillweave.schema.task import Task
from skillweave.schema.trajectory import FunctionCall, Message, ToolCall, UserTurn, until_end
from skillweave.world.world import World


def user(words: str) -> Message:
    """What the user says."""
    return Message(role="user", content=words)


def agent(words: str | None = None, *calls: tuple[str, Any]) -> Message:
    """What the agent says, with the calls beside it; arguments may be text."""
    given = [
        ToolCall(id=f"call_{at}", function=FunctionCall(name=tool, arguments=arguments))
        for at, (tool, arguments) in enumerate(calls)
    ]
    return Message(role="assistant", content=words, tool_calls=given or None)


def a_conversation(world: World, task: Task, *messages: Message, turns: list[UserTurn] | None = None) -> ReplayedTrial:
    """The trial in which that was said and done; `turns` is what the user recorded."""
    golden = golden_execution_of(world, task, prune=False)
    assert golden.fault is None
    with world.session(task) as session:
        made = execute_messages(session, until_end(messages, turns or ()))
    return replayed_trial(
        task, world, golden, RecordedTrajectory(id=f"{task.id}#0", messages=list(messages), user_turns=turns), made
    )
