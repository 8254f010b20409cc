"""The score of a session: its checks, and their product over what the task asks for."""

from collections.abc import Mapping, Sequence
from math import prod

from evaluator.checks.communicate import check_communicate
from evaluator.checks.policy import conduct
from evaluator.checks.state import check_state
from skillweave.conversation import until_end
from skillweave.schema.message import Message
from skillweave.schema.record import Json
from skillweave.schema.score import Checks, Score
from skillweave.schema.task import Task
from skillweave.world.canonical import canonical
from skillweave.world.session import Session


def score(task: Task, session: Session, messages: Sequence[Message | Mapping[str, Json]] | None = None) -> Score:
    """What the session, and the conversation held in it, are worth. Messages are records, or dicts of OpenAI's form.

    Without messages nothing is said of words: where the task asks for them, `passed` and `reward` are None.
    """
    held = None if messages is None else until_end([Message.model_validate(message) for message in messages])
    changes = canonical(session.diff(), session.minted)
    checks = Checks(
        state=check_state(task.criteria, changes, session.comparison),
        communicate=None if held is None else check_communicate(task.criteria.communicate, held, task.now, session.kin),
        policy=conduct(task, session.results, session.transfer, held),
    )
    reward = reward_of(task, checks)
    return Score(task_id=task.id, passed=None if reward is None else reward == 1, reward=reward, checks=checks)


def reward_of(task: Task, checks: Checks) -> float | None:
    """The product of the checks that the task's `reward_basis` names; None where one of them was not made."""
    asked = [getattr(checks, basis) for basis in task.criteria.reward_basis]
    scores = [part.score for part in asked if part is not None]
    return prod(scores) if len(scores) == len(asked) else None
