"""The score of a session: its checks, and their product over what the task asks for."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from math import prod

from evaluator.checks import basis_fault, make_checks
from evaluator.replay.execution import ExecutedCall, Execution
from evaluator.replay.trial import Trial
from skillweave.base.errors import ConfigError
from skillweave.schema.call import CallResult
from skillweave.schema.record import Json
from skillweave.schema.score import Checks, Score
from skillweave.schema.task import Task
from skillweave.schema.trajectory import Message, UserTurn, until_end
from skillweave.world.canonical import canonical
from skillweave.world.session import Session
from skillweave.world.tools import read_call


def score(
    task: Task,
    session: Session,
    messages: Sequence[Message | Mapping[str, Json]] | None = None,
    turns: Sequence[UserTurn] | None = None,
) -> Score:
    """What the session, and the conversation held in it, are worth.

    Args:
        messages: The conversation: records, or dicts of OpenAI's form. Without them nothing is said of what the user
            was told and how the agent behaved: `passed` and `reward` are None where the task asks for that.
        turns: What the user recorded of its messages; None where nobody did.
    """
    fault = basis_fault(task)
    if fault is not None:
        raise ConfigError(fault)
    transcript = None if messages is None else [Message.model_validate(message) for message in messages]
    held = until_end(transcript or (), turns or ())
    unheard = len(_readable_calls(transcript or ())) - len(_readable_calls(held))
    results = session.results[: len(session.results) - unheard]
    execution = Execution(
        calls=[*_executed_calls(results, held)],
        changes=canonical(session.diff(), session.minted),
        minted=session.minted,
        transfer=session.transfer,
        caller=session.caller,
        defects=session.defects,
    )
    trial = Trial(
        task=task, execution=execution, comparison=session.comparison, transcript=transcript, user_records=turns
    )
    checks = make_checks(trial)
    reward = reward_of(task, checks)
    return Score(task_id=task.id, passed=None if reward is None else reward == 1, reward=reward, checks=checks)


def reward_of(task: Task, checks: Checks) -> float | None:
    """The product of the checks that the task's `reward_basis` names; None where one of them was not made."""
    records = [checks.get(name) for name in task.criteria.reward_basis]
    scores = [record.score for record in records if record is not None]
    return prod(scores) if len(scores) == len(records) else None


def _executed_calls(results: Sequence[CallResult], messages: Sequence[Message]) -> Iterator[ExecutedCall]:
    """Each result at the place of its call; calls that cannot be read were not made, and take a place."""
    made = _readable_calls(messages)
    for position, (result, placed) in enumerate(zip_longest(results, made[: len(results)])):
        call, place = placed or (position, -1)
        yield ExecutedCall(call, place, -1, result.call.tool, result.call.arguments, result, False, [])


def _readable_calls(messages: Sequence[Message]) -> list[tuple[int, int]]:
    """The calls of a conversation that can be read: each one's position among all, and that of its message."""
    given = [
        (place, call)
        for place, message in enumerate(messages)
        if message.role == "assistant"
        for call in message.tool_calls or ()
    ]
    return [(call, place) for call, (place, one) in enumerate(given) if read_call(one).arguments is not None]
