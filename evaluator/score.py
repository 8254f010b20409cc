"""The score of a session: its checks, and their product over what the task asks for."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from math import prod

from evaluator.checks.communicate import check_communicate
from evaluator.checks.policy import check_policy, check_policy_without_messages
from evaluator.checks.state import check_state
from evaluator.kinds.conduct import AgentConduct
from evaluator.replay.execution import ExecutedCall
from evaluator.text.facts import user_turns_of
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
    changes = canonical(session.diff(), session.minted)
    state = check_state(task.criteria, changes, session.comparison)
    if messages is None:
        checks = Checks(state=state, policy=check_policy_without_messages(task, [*_steps_of(session.results, ())]))
    else:
        talk = [Message.model_validate(message) for message in messages]
        held = until_end(talk, turns or ())
        unheard = len(_calls_in(talk)) - len(_calls_in(held))
        steps = [*_steps_of(session.results[: len(session.results) - unheard], held)]
        conduct = AgentConduct(task, steps, held, user_turns_of(task, held, turns), turns is not None)
        told = check_communicate(task.criteria.communicate, held, steps, task.now)
        checks = Checks(state=state, communicate=told, policy=check_policy(conduct))
    reward = reward_of(task, checks)
    return Score(task_id=task.id, passed=None if reward is None else reward == 1, reward=reward, checks=checks)


def reward_of(task: Task, checks: Checks) -> float | None:
    """The product of the checks that the task's `reward_basis` names; None where one of them was not made."""
    asked = [getattr(checks, basis) for basis in task.criteria.reward_basis]
    scores = [part.score for part in asked if part is not None]
    return prod(scores) if len(scores) == len(asked) else None


def _steps_of(results: Sequence[CallResult], messages: Sequence[Message]) -> Iterator[ExecutedCall]:
    """Each result at the place of its call; calls that cannot be read were not made, and take a place."""
    made = _calls_in(messages)
    for position, (result, placed) in enumerate(zip_longest(results, made[: len(results)])):
        call, place = placed or (position, -1)
        yield ExecutedCall(call, place, -1, result.call.tool, result.call.arguments, result, False, [])


def _calls_in(messages: Sequence[Message]) -> list[tuple[int, int]]:
    """The calls of a conversation that can be read: each one's position among all, and that of its message."""
    given = [
        (place, call)
        for place, message in enumerate(messages)
        if message.role == "assistant"
        for call in message.tool_calls or ()
    ]
    return [(call, place) for call, (place, one) in enumerate(given) if read_call(one).arguments is not None]
