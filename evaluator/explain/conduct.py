"""How the agent behaved: rules that a call broke, and requests not declined, asked about or confirmed."""

import re

from evaluator.explain.endings import ending
from evaluator.explain.evidence import Evidence
from evaluator.explain.text import made_text
from skillweave.schema.result import FailureClass, FailureRecord
from skillweave.schema.task import Kind

_BROKEN = re.compile(r"(?P<rule>[RB]\d+) in call (?P<call>\d+)\b")
_CALL = re.compile(r"\bcall (?P<call>\d+)\b")
_DECLINING = re.compile(
    r"\b(?:cannot|can not|can't|can’t|could not|unable|impossible|not (?:possible|allowed|permitted|able)|forbid\w*|"
    r"against (?:the|our)|declin\w+|unfortunately|afraid|sorry|won't|will not|may not)\b",
    re.IGNORECASE,
)
_BY_KIND: dict[Kind, tuple[FailureClass, str]] = {
    "refuse": ("not_declined", "the request declined, with the number of the rule that forbids it"),
    "unavailable": ("not_declined", 'transfer_to_human(reason="no_tool")'),
    "clarify": ("did_not_ask", "a question for what the user left out, before the write that needs it"),
}


def broken_rule(evidence: Evidence) -> FailureRecord | None:
    """The first call that broke a rule which only the agent holds."""
    for violation in _violations(evidence):
        found = _BROKEN.match(violation)
        if found and int(found["call"]) < len(evidence.made):
            made = evidence.made[int(found["call"])]
            text = f"{made_text(made)} breaks {found['rule']}"
            return evidence.at_call("policy_violation", made, evidence.due(made.call), text)
    return None


def misconduct(evidence: Evidence) -> FailureRecord:
    """What else is said against the agent's conduct: of what was to be declined, asked or confirmed."""
    said = _violations(evidence)
    if not said:
        return _unconfirmed(evidence)
    failure, expected = _BY_KIND.get(evidence.trial.task.kind, ("policy_violation", "what the policy asks"))
    if failure == "not_declined" and evidence.trial.task.kind == "refuse" and _declines(evidence):
        failure = "rule_not_named"
    left = ending(evidence, expected) if failure == "not_declined" else None
    if left is not None and left.class_ in ("withheld", "loop", "ran_out", "malformed_call"):
        return left
    call = _CALL.search(said[0])
    if call and int(call["call"]) < len(evidence.made):
        return evidence.at_call(failure, evidence.made[int(call["call"])], expected)
    return evidence.at_end(failure, expected, f"{said[0]}; {evidence.last_words}")


def _violations(evidence: Evidence) -> list[str]:
    check = evidence.checks.policy
    return check.violations if check else []


def _unconfirmed(evidence: Evidence) -> FailureRecord:
    check = evidence.checks.policy
    for text in (check.unconfirmed or ()) if check else ():
        call = _CALL.search(text)
        if call and int(call["call"]) < len(evidence.made):
            made = evidence.made[int(call["call"])]
            return evidence.at_call("unconfirmed_write", made, "the user's word before the call")
    return evidence.at_end("policy_violation", "what the policy asks")


def _declines(evidence: Evidence) -> bool:
    """Whether the agent declined at all, in words or by handing over because of the policy."""
    transfer = evidence.trial.made.transfer or {}
    words = [message.content or "" for message in evidence.messages if message.role == "assistant"]
    return transfer.get("reason") == "policy" or any(map(_DECLINING.search, words))
