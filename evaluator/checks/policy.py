"""Whether the agent kept to the policy: no call against a rule that only the policy holds, and declining as it asks.

Who declines names the broken rule, and does not say beside it that the deed is done; who has to hand over does so once
the request was heard, for the right reason; and who was told too little asks. Rules that the tool itself upheld are
noted and not punished.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest

from evaluator.conduct.asking import not_asked
from evaluator.conduct.confirmation import unconfirmed
from evaluator.conduct.declining import handed_over_at, not_declined, rules_of, unheard
from evaluator.conduct.human import asked_for_human
from evaluator.conduct.ownership import for_others
from evaluator.execution import Step
from evaluator.trial import Trial
from skillweave.schema.blueprint import Blueprint
from skillweave.schema.call import CallResult, TransferReason
from skillweave.schema.message import Message
from skillweave.schema.record import Json
from skillweave.schema.score import PolicyCheck
from skillweave.schema.task import Task
from skillweave.tool_call import read_call

ASKED: TransferReason = "user_request"
"""The reason where the user asks for a human."""


def check_policy(trial: Trial, *, confirmation_counts: bool = False) -> PolicyCheck:
    """The conduct of a whole trial. Writes without the user's word count against it only where that is set."""
    steps = trial.made.steps
    blueprint = trial.world.blueprint
    asking = [f"call {step.call} ({step.tool})" for step in unconfirmed(steps, trial.messages, blueprint)]
    faults = _faults(trial.task, steps, trial.made.transfer, trial.messages, blueprint)
    found = [*_broken(steps), *for_others(trial), *faults]
    is_kept = not found and not (confirmation_counts and asking)
    return PolicyCheck(score=float(is_kept), violations=found, unconfirmed=asking, notes=_notes(steps))


def conduct(
    task: Task,
    results: Sequence[CallResult],
    transfer: Mapping[str, Json] | None,
    messages: Sequence[Message] | None,
) -> PolicyCheck | None:
    """The conduct in a session. 1 where nothing is to be said against it, else 0; None where that depends on messages
    that are not given."""
    steps = [*_steps_of(results, messages or ())]
    found = [*_broken(steps)]
    reason = (transfer or {}).get("reason")
    if messages is None and (task.kind in ("refuse", "clarify") or (task.kind == "unavailable" and reason == ASKED)):
        return PolicyCheck(score=0.0, violations=found) if found else None
    found += _faults(task, steps, transfer, messages)
    return PolicyCheck(score=float(not found), violations=found, notes=_notes(steps))


def _steps_of(results: Sequence[CallResult], messages: Sequence[Message]) -> Iterator[Step]:
    """Each result at the place of its call; calls that cannot be read were not made, and take a place."""
    given = [
        (place, call)
        for place, message in enumerate(messages)
        if message.role == "assistant"
        for call in message.tool_calls or ()
    ]
    made = [(call, place) for call, (place, one) in enumerate(given) if read_call(one).arguments is not None]
    for position, (result, placed) in enumerate(zip_longest(results, made[: len(results)])):
        call, place = placed or (position, -1)
        yield Step(call, place, -1, result.call.tool, result.call.arguments, result, False, [])


def _broken(steps: Sequence[Step]) -> list[str]:
    return [f"{rule} in call {step.call} ({step.tool})" for step in steps for rule in step.result.violations]


def _notes(steps: Sequence[Step]) -> list[str]:
    return [
        f"{step.result.error.rule} refused call {step.call} ({step.tool})"
        for step in steps
        if step.result.error is not None and step.result.error.rule is not None
    ]


def _faults(
    task: Task,
    steps: Sequence[Step],
    transfer: Mapping[str, Json] | None,
    messages: Sequence[Message] | None,
    blueprint: Blueprint | None = None,
) -> list[str]:
    """What is to be said of declining and asking, in the kinds of task that demand it."""
    if task.kind == "unavailable":
        return _not_handed_over(steps, transfer, messages)
    if task.kind == "refuse":
        known = rules_of(blueprint) if blueprint else None
        written = next((step.message for step in steps if step.writes and step.message >= 0), None)
        return unheard(steps, transfer, messages or ()) or not_declined(task, transfer, messages or (), known, written)
    if task.kind == "clarify":
        return [f"not asked for {fact}" for fact in not_asked(task, steps, messages or (), blueprint)]
    return []


def _not_handed_over(
    steps: Sequence[Step], transfer: Mapping[str, Json] | None, messages: Sequence[Message] | None
) -> list[str]:
    """What is wrong with how a request was handed over that no tool serves: for that reason, or because the user, told
    that it cannot be done, asked for a human."""
    reason = (transfer or {}).get("reason")
    if transfer is None or reason not in ("no_tool", ASKED):
        return ["not handed over with the reason no_tool"]
    if messages is None:
        return []
    at = handed_over_at(steps, messages)
    if reason == ASKED and not asked_for_human(messages[:at] if at >= 0 else messages):
        return ["not handed over with the reason no_tool"]
    return unheard(steps, transfer, messages)
