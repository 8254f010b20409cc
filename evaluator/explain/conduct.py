"""Why conduct or words are wrong: a broken rule, a wrong record, transfer or question, or a fact not told."""

import re

from evaluator.checks.communicate import mentions
from evaluator.explain.evidence import (
    Evidence,
    aimed_at,
    call_text,
    ending,
    executed_text,
    failed_sign_in,
    is_unreadable,
    quoted,
)
from evaluator.kinds import KINDS
from evaluator.kinds.conduct import recorded_declines
from evaluator.text.facts import value_forms
from skillweave.schema.result import FailureClass, FailureRecord
from skillweave.schema.task import FactToTell

_BROKEN = re.compile(r"(?P<rule>[RB]\d+) in call (?P<call>\d+)\b")
_CALL = re.compile(r"\bcall (?P<call>\d+)\b")
_OF_THE_END: tuple[FailureClass, ...] = ("withheld", "loop", "ran_out", "malformed_call")


def broken_rule(evidence: Evidence) -> FailureRecord | None:
    """The first call that broke a rule which only the agent holds."""
    for violation in _violations(evidence):
        found = _BROKEN.match(violation)
        if found and int(found["call"]) < len(evidence.made):
            made = evidence.made[int(found["call"])]
            text = f"{executed_text(made)} breaks {found['rule']}"
            return evidence.at_call("policy_violation", made, evidence.due(made.position), text)
    return None


def misconduct(evidence: Evidence) -> FailureRecord:
    """What else is said against the agent's conduct: of what was to be declined, handed over, asked or confirmed."""
    violations = _violations(evidence)
    if not violations:
        return _unconfirmed(evidence)
    task = evidence.trial.task
    failure, expected = KINDS[task.kind].misconduct(task, recorded_declines(evidence.made))
    left = ending(evidence, expected) if failure == "not_declined" else None
    if left is not None and left.class_ in _OF_THE_END:
        return left
    call = _CALL.search(violations[0])
    if call and int(call["call"]) < len(evidence.made):
        return evidence.at_call(failure, evidence.made[int(call["call"])], expected)
    return evidence.at_end(failure, expected, f"{violations[0]}; {evidence.last_words}")


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


def missing_fact(evidence: Evidence) -> FailureRecord | None:
    """The first fact that is missing: told wrongly, or not told, and then perhaps because of how it all ended."""
    check = evidence.checks.communicate
    facts = evidence.trial.task.criteria.communicate
    missing = [fact for fact in facts if check is not None and fact.fact in check.missing]
    for fact in missing:
        last = next(reversed([*mentions(fact, evidence.messages, evidence.trial.task.now)]), None)
        if last is not None:
            return evidence.at_message("told_wrong", last, _due(fact), quoted(evidence.messages[last].content or ""))
    if not missing:
        return None
    return (
        failed_sign_in(evidence)
        or ending(evidence, _due(missing[0]))
        or _never_found_out(evidence)
        or evidence.at_end("did_not_tell", _due(missing[0]))
    )


def _never_found_out(evidence: Evidence) -> FailureRecord | None:
    """A golden read that was tried only in ways that nobody can carry out."""
    for wanted in evidence.missing:
        attempts = aimed_at(evidence, wanted)
        if attempts and all(map(is_unreadable, attempts)):
            return evidence.at_call("malformed_call", attempts[0], call_text(wanted.tool, wanted.arguments))
    return None


def _due(fact: FactToTell) -> str:
    values = dict.fromkeys(value_forms(value, fact.type, fact.unit)[0] for value in fact.values)
    return f"{fact.fact}: {fact.noun} {' or '.join(values)}"
