"""Trials of the small clinic: golden calls, and what an agent did instead."""

from collections.abc import Callable
from typing import Any

import pytest

from evaluator.checks import CHECKS, Check
from evaluator.checks.actions import check_actions
from evaluator.checks.communicate import check_communicate
from evaluator.checks.policy import check_policy
from evaluator.checks.state import check_state
from evaluator.replay.execution import execute_messages
from evaluator.replay.golden import golden_execution_of
from evaluator.replay.trial import RecordedError, RecordedTrajectory, ReplayedTrial, ScoredTrial, Trial, replayed_trial
from evaluator.scoring.score import reward_of
from skillweave.schema.criteria import GoldenCall
from skillweave.schema.record import Record
from skillweave.schema.score import Checks, PolicyCheck
from skillweave.schema.task import Task
from skillweave.schema.trajectory import FunctionCall, Message, ToolCall
from skillweave.world.replay import replay
from skillweave.world.world import World
from tests.evaluator.tasks import a_task

Made = tuple[str, Any]
"""A tool with its arguments, or `say` with words."""


def a_golden(tool: str, grounding: dict[str, str] | None = None, /, **arguments: Any) -> GoldenCall:
    """A golden call."""
    return GoldenCall(tool=tool, arguments=arguments, grounding=grounding or {})


def a_call(tool: str, **arguments: Any) -> Made:
    """A call that an agent makes."""
    return tool, arguments


def a_task_of(world: World, *golden: GoldenCall, criteria: dict[str, Any] | None = None, **changes: Any) -> Task:
    """A task with these golden calls, whose end state is where they lead."""
    state = replay(world, a_task(golden=golden, **changes)).changes
    return a_task(golden=golden, criteria={"state": state, "reward_basis": ["state"], **(criteria or {})}, **changes)


def a_trial(
    world: World, task: Task, *made: Made, stop: str = "user_stop", error: str | None = None, prune: bool = False
) -> ReplayedTrial:
    """A trial in which an agent did all this, one message for each."""
    messages = [Message(role="user", content="Hello"), *(_message(at, one) for at, one in enumerate(made))]
    fault = RecordedError(kind="agent", message=error) if error else None
    recorded = RecordedTrajectory(id="SmallClinic-1#0", messages=messages, stop_reason=stop, error=fault)
    golden = golden_execution_of(world, task, prune=prune)
    assert golden.fault is None
    with world.session(task) as session:
        return replayed_trial(task, world, golden, recorded, execute_messages(session, messages))


def scored(trial: ReplayedTrial) -> ScoredTrial:
    """The trial with the checks that say why it failed."""
    task = trial.task
    checks = Checks(
        state=check_state(task.criteria, trial.execution.changes, trial.world.comparison),
        actions=check_actions(trial),
        communicate=check_communicate(task.criteria.communicate, trial.messages, trial.execution.calls, task.now),
        policy=policy_of(trial),
    )
    return ScoredTrial(trial, checks, reward_of(task, checks))


def policy_of(trial: ReplayedTrial) -> PolicyCheck:
    """The check of its conduct."""
    found = check_policy(trial)
    assert isinstance(found, PolicyCheck)
    return found


def replace_check(monkeypatch: pytest.MonkeyPatch, name: str, function: Callable[[Trial], Record | None]) -> None:
    """Have another function make a check."""
    monkeypatch.setitem(vars(CHECKS)["_parts"], name, Check(function))


def _message(at: int, made: Made) -> Message:
    what, given = made
    if what == "say":
        return Message(role="assistant", content=given)
    call = ToolCall(id=f"call_{at}", function=FunctionCall(name=what, arguments=given))
    return Message(role="assistant", tool_calls=[call])
