"""Whether the agent kept to the policy: no call against a rule that only the policy holds, and declining as it asks.

Who declines names the broken rule, to the user or in the transfer, and names at most two: reciting all tells nothing.
Rules that the tool itself upheld are noted and not punished.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest

from evaluator.conduct.asking import not_asked
from evaluator.conduct.confirmation import unconfirmed
from evaluator.conduct.ownership import for_others
from evaluator.execution import Step
from evaluator.trial import Trial
from skillweave.schema.call import TRANSFER, CallResult
from skillweave.schema.message import Message
from skillweave.schema.record import Json
from skillweave.schema.score import PolicyCheck
from skillweave.schema.task import Task
from skillweave.tool_call import read_call

MOST_NAMED = 2
_RULE = re.compile(
    r"\b([RB])-?(\d+)\b"
    r"|(?i:\brules?\s+(?:(?:no\.?|number|nr\.?)\s*|#\s*)?(?P<plain>\d{1,3}\b(?:\s*(?:,|and|or|&)+\s*\d{1,3}\b)*))"
)
"""`R7`, `[B2]`, `rule 7`, `rules 7 and 8`."""


def check_policy(trial: Trial, *, confirmation_counts: bool = False) -> PolicyCheck:
    """The conduct of a whole trial. Writes without the user's word count against it only where that is set."""
    steps = trial.made.steps
    asking = [f"call {step.call} ({step.tool})" for step in unconfirmed(steps, trial.messages, trial.world.blueprint)]
    found = [*_broken(steps), *for_others(trial), *_faults(trial.task, steps, trial.made.transfer, trial.messages)]
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
    if messages is None and task.kind in ("refuse", "clarify"):
        return PolicyCheck(score=0.0, violations=found) if found else None
    found += _faults(task, steps, transfer, messages or ())
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
    task: Task, steps: Sequence[Step], transfer: Mapping[str, Json] | None, messages: Sequence[Message]
) -> list[str]:
    """What is to be said of declining and asking, in the kinds of task that demand it."""
    if task.kind == "unavailable" and (transfer is None or transfer.get("reason") != "no_tool"):
        return ["not handed over with the reason no_tool"]
    if task.kind == "refuse":
        return _faults_of_refusal(task, steps, transfer, messages)
    if task.kind == "clarify":
        return [f"not asked for {fact}" for fact in not_asked(task, steps, messages)]
    return []


def _faults_of_refusal(
    task: Task, steps: Sequence[Step], transfer: Mapping[str, Json] | None, messages: Sequence[Message]
) -> list[str]:
    request = next((place for place, message in enumerate(messages) if message.role == "user"), None)
    if request is None:
        return ["the request was not heard"]
    handed_over = next((step.message for step in reversed(steps) if step.tool == TRANSFER and step.ok), len(messages))
    if transfer is not None and 0 <= handed_over < request:
        return ["handed over before the request was heard"]
    said = [message.content or "" for message in messages[request:] if message.role == "assistant"]
    rule = str((transfer or {}).get("rule") or "")
    said.append(f"rule {rule}" if rule.isdecimal() else rule)
    named = {rule for text in said for rule in rules_in(text)}
    broken = {ban.rule for ban in task.criteria.must_not}
    if not named & broken:
        return [f"the broken rule ({', '.join(sorted(broken))}) is not named"]
    return [f"names {len(named)} rules where at most {MOST_NAMED} may be"] if len(named) > MOST_NAMED else []


def rules_in(text: str) -> Iterator[str]:
    """The rules that a text names; a rule that is named by its number alone is one of the policy's own."""
    for match in _RULE.finditer(text):
        if match["plain"]:
            yield from (f"R{int(number)}" for number in re.findall(r"\d+", match["plain"]))
        else:
            yield f"{match[1]}{match[2]}"
