"""Whether the agent kept to the policy: no call against a rule that only the policy holds, and declining as it asks.

Who declines names the broken rule, to the user or in the transfer, and names at most two: reciting all tells nothing.
"""

import re
from collections.abc import Mapping, Sequence

from evaluator.trial import Trial
from skillweave.schema.call import CallResult
from skillweave.schema.message import Message
from skillweave.schema.record import Json
from skillweave.schema.score import PolicyCheck
from skillweave.schema.task import Task
from skillweave.world.replay import violations

MOST_NAMED = 2
_RULE = re.compile(r"\b[RB]\d+\b")


def check_policy(trial: Trial, *, confirmation_counts: bool = False) -> PolicyCheck | None:
    """The conduct of a whole trial."""
    results = [step.result for step in trial.made.steps]
    return conduct(trial.task, results, trial.made.transfer, trial.messages)


def conduct(
    task: Task,
    results: Sequence[CallResult],
    transfer: Mapping[str, Json] | None,
    messages: Sequence[Message] | None,
) -> PolicyCheck | None:
    """1 where nothing is to be said against it, else 0; None where that depends on messages that are not given."""
    found = violations(results)
    if task.kind == "unavailable" and (transfer is None or transfer.get("reason") != "no_tool"):
        found.append("not handed over with the reason no_tool")
    if task.kind == "refuse":
        if messages is None:
            return PolicyCheck(score=0.0, violations=found) if found else None
        found.extend(_faults_of_refusal(task, transfer, messages))
    return PolicyCheck(score=float(not found), violations=found)


def _faults_of_refusal(task: Task, transfer: Mapping[str, Json] | None, messages: Sequence[Message]) -> list[str]:
    broken = {ban.rule for ban in task.criteria.must_not}
    named = set(_RULE.findall(str((transfer or {}).get("rule") or "")))
    asked = False
    for message in messages:
        asked = asked or message.role == "user"
        if asked and message.role == "assistant":
            named.update(_RULE.findall(message.content or ""))
    if not named & broken:
        return [f"the broken rule ({', '.join(sorted(broken))}) is not named"]
    return [f"names {len(named)} rules where at most {MOST_NAMED} may be"] if len(named) > MOST_NAMED else []
