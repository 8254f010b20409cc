"""Checks and their registry: one module a check, one line in `CHECKS`.

A check answers one question about a trial with a record that has a `score` from 0 to 1. It compares what was done,
recorded and told, by value; it does not interpret sentences. `evaluator run` makes every check, `evaluator.score` those
that a session alone allows, and the gates of a dataset those that a task's reward counts.

A check of one's own is a function and one line in a plug-in:

    from evaluator.checks import CHECKS, Check

    CHECKS.register("polite", Check(score_politeness))
"""

from collections.abc import Callable
from dataclasses import dataclass

from pydantic import ValidationError

from evaluator.checks.actions import check_actions
from evaluator.checks.communicate import check_communicate, ends_of_errands
from evaluator.checks.policy import check_policy
from evaluator.checks.replay import check_replay
from evaluator.checks.state import check_state
from evaluator.checks.user import check_user
from evaluator.replay.trial import ReplayedTrial, Trial
from skillweave.base.errors import ConfigError
from skillweave.plugins import Registry
from skillweave.schema.record import Record
from skillweave.schema.score import Checks, CommunicateCheck, OwnCheck, StateCheck
from skillweave.schema.task import Task

__all__ = ["CHECKS", "Check", "ReplayedTrial", "Trial", "basis_fault", "make_checks"]


@dataclass(frozen=True)
class Check:
    """A check: the function that makes it, and what it needs."""

    function: Callable[[Trial], Record | None] | None = None
    """Makes the record; None where nothing can be said of the trial."""
    replayed: Callable[[ReplayedTrial], Record | None] | None = None
    """In place of `function`, where the check needs the world, the golden execution, or what each call changed.
    `evaluator.score` leaves such a check out."""
    needs_messages: bool = True
    """Whether the check is left out where the conversation is unknown."""
    can_count: bool = True
    """Whether a task's reward may count it; False for a check that says nothing of the agent."""

    @property
    def needs_judge(self) -> bool:
        """Whether a judge model makes it, and no function."""
        return self.function is None and self.replayed is None

    def record(self, trial: Trial) -> Record | None:
        """What the check says of a trial; None where it was not made."""
        if self.needs_messages and trial.transcript is None:
            return None
        if self.function is not None:
            return self.function(trial)
        return self.replayed(trial) if self.replayed is not None and isinstance(trial, ReplayedTrial) else None


def _state(trial: Trial) -> StateCheck:
    return check_state(trial.task.criteria, trial.execution.changes, trial.comparison)


def _communicate(trial: Trial) -> CommunicateCheck:
    task, ends = trial.task, ends_of_errands(trial)
    return check_communicate(task.criteria.communicate, trial.messages, trial.execution.calls, task.now, ends)


CHECKS: Registry[Check] = Registry(
    "check",
    {
        "state": Check(_state, needs_messages=False),
        "actions": Check(replayed=check_actions),
        "communicate": Check(_communicate),
        "policy": Check(check_policy, needs_messages=False),
        "user": Check(replayed=check_user, can_count=False),
        "replay": Check(replayed=check_replay, can_count=False),
        "rubric": Check(),
        "subjective": Check(can_count=False),
    },
)


def make_checks(trial: Trial, names: tuple[str, ...] = ()) -> Checks:
    """The checks of a trial that need no judge.

    Args:
        names: Which ones; empty: all.

    Raises:
        ConfigError: There is no such check, or the record of a plug-in's check has no score.
    """
    records = {
        name: CHECKS.call(name, CHECKS[name].record, trial) for name in names or CHECKS if not CHECKS[name].needs_judge
    }
    plugged = CHECKS.own
    own = {name: _own(name, record) for name, record in records.items() if name in plugged and record is not None}
    return Checks(**{name: record for name, record in records.items() if name not in plugged}, own=own)


def basis_fault(task: Task) -> str | None:
    """Why a task's reward cannot be known: it counts a check that does not exist, or that no reward may count."""
    for name in task.criteria.reward_basis:
        if name not in CHECKS or not CHECKS[name].can_count:
            known = ", ".join(known for known, check in CHECKS.items() if check.can_count)
            return f"the reward counts {name!r}; it may count {known}; name the module that adds others in `plugins`"
    return None


def _own(name: str, record: Record) -> OwnCheck:
    try:
        own = OwnCheck.model_validate(record.model_dump(mode="json"))
        own.model_dump_json()  # a text may hold what no file can
        return own
    except (ValueError, AttributeError) as error:
        reason = f"score: {error.errors()[0]['msg']}" if isinstance(error, ValidationError) else str(error)
        raise ConfigError(f"the check {name!r} must give a record with a `score` from 0 to 1: {reason}") from error
