"""Errors of the simulated user, so that blame is not mixed: what it said that it cannot know, and leaving too early.

The user knows its scenario, its persona, whom it writes to, and what was said before. A first message that is not the
task's own was rendered from the scenario, and is judged like the rest.
"""

from evaluator.checks.communicate import check_communicate, ends_of_errands
from evaluator.kinds.conduct import recorded_declines, transfer_call
from evaluator.replay.trial import ReplayedTrial
from evaluator.text.facts import UserKnowledge
from skillweave.schema.score import UserCheck, UserFault
from skillweave.schema.trajectory import STOP


def check_user(trial: ReplayedTrial) -> UserCheck:
    """What the user said that it cannot know, and whether it left too early."""
    faults = [UserFault(message=place, fault=f"{token!r} is nothing that the user knows or was told")
              for place, token in _faults(trial)]  # fmt: skip
    return UserCheck.model_construct(score=float(not faults), faults=faults, left=has_left(trial))


def has_left(trial: ReplayedTrial) -> bool:
    """Whether the user ended it while a question was open, its request neither done, declined nor handed over: no write
    was made, not all was told, and the agent's last words hold a question mark; or once something was done, without a
    word of what it wants later. Giving up out of patience is none."""
    steps = trial.execution.calls
    is_over = bool(trial.heard) and (trial.heard[-1].done or STOP in (trial.messages[-1].content or ""))
    if not is_over or recorded_declines(steps) or transfer_call(steps):
        return False
    if any(step.writes for step in steps):
        return _keeps_back(trial)
    criteria = trial.task.criteria
    check = check_communicate(criteria.communicate, trial.messages, steps, trial.task.now, ends_of_errands(trial))
    if not criteria.state and criteria.communicate and not check.missing:
        return False
    spoken = [one.content for one in trial.messages if one.role == "assistant" and one.content]
    return bool(spoken) and "?" in spoken[-1]


def _keeps_back(trial: ReplayedTrial) -> bool:
    """Whether nothing that belongs to the later wish was ever told."""
    later = trial.task.scenario.later
    told = {id for turn in trial.turns for id in turn.tells}
    return later is not None and bool(later.facts) and told.isdisjoint(later.facts)


def _faults(trial: ReplayedTrial) -> list[tuple[int, str]]:
    task, blueprint = trial.task, trial.world.blueprint
    own = [message.content or "" for message in task.messages]
    ledger = UserKnowledge(
        task.scenario, task.persona, now=task.now, texts=[*own, blueprint.title, task.user_system_prompt]
    )
    found: list[tuple[int, str]] = []
    heard: list[str] = []
    for place, message in enumerate(trial.messages):
        words = message.content or ""
        if message.role == "assistant" and words:
            heard.append(words)
        elif message.role == "user" and words not in own:
            found += [(place, token) for token in ledger.faults(words.replace(STOP, ""), heard)]
    return found
