"""What the user was not told, or told wrongly."""

from evaluator.checks.communicate import mentions
from evaluator.explain.attempts import aimed_at, is_unreadable
from evaluator.explain.endings import ending
from evaluator.explain.evidence import Evidence
from evaluator.explain.sign_in import failed_sign_in
from evaluator.explain.text import call_text, quoted
from evaluator.values import forms
from skillweave.schema.result import FailureRecord
from skillweave.schema.task import FactToTell


def untold(evidence: Evidence) -> FailureRecord | None:
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
    values = dict.fromkeys(forms(value, fact.type, fact.unit)[0] for value in fact.values)
    return f"{fact.fact}: {fact.noun} {' or '.join(values)}"
