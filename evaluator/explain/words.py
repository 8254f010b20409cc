"""What the user was not told, or told wrongly."""

from decimal import Decimal

from evaluator.checks.communicate import Statement, statements
from evaluator.explain.attempts import aimed_at, is_unreadable
from evaluator.explain.endings import ending
from evaluator.explain.evidence import Evidence
from evaluator.explain.sign_in import failed_sign_in
from evaluator.explain.text import call_text, quoted
from skillweave.schema.record import Json
from skillweave.schema.result import FailureRecord
from skillweave.schema.task import FactToTell


def untold(evidence: Evidence) -> FailureRecord | None:
    """The first fact that is missing: stated and wrong, or not stated, and then perhaps because of how it all ended."""
    check = evidence.checks.communicate
    facts = evidence.trial.task.criteria.communicate
    missing = [fact for fact in facts if check is not None and fact.fact in check.missing]
    for fact in missing:
        stated = _told(evidence, fact, alone=len(facts) == 1)
        if stated is not None:
            return evidence.at_message("told_wrong", stated.message, _due(fact), quoted(stated.text))
    if not missing:
        return None
    return (
        failed_sign_in(evidence)
        or ending(evidence, _due(missing[0]))
        or _never_found_out(evidence)
        or evidence.at_end("did_not_tell", _due(missing[0]))
    )


def _told(evidence: Evidence, fact: FactToTell, *, alone: bool) -> Statement | None:
    """The last statement of a missing fact; what announces the agent's next write states nothing."""
    said = statements(fact, evidence.messages, alone=alone, now=evidence.trial.task.now, kin=evidence.trial.world.kin)
    if any(statement.right for statement in said):
        return said[-1]
    plain = [statement for statement in said if not _announces_write(evidence, statement.message)]
    return plain[-1] if plain else None


def _announces_write(evidence: Evidence, place: int) -> bool:
    after = range(place + 1, len(evidence.messages))
    following = next((later for later in after if evidence.messages[later].role == "assistant"), None)
    return any(step.writes and step.message == following for step in evidence.made)


def _never_found_out(evidence: Evidence) -> FailureRecord | None:
    """A golden read that was tried only in ways that nobody can carry out."""
    for wanted in evidence.missing:
        attempts = aimed_at(evidence, wanted)
        if attempts and all(map(is_unreadable, attempts)):
            return evidence.at_call("malformed_call", attempts[0], call_text(wanted.tool, wanted.arguments))
    return None


def _due(fact: FactToTell) -> str:
    return f"{fact.fact}: {fact.noun} {' or '.join(dict.fromkeys(_said(fact, value) for value in fact.values))}"


def _said(fact: FactToTell, value: Json) -> str:
    """A value as people say it: money in units, not cents."""
    return f"{Decimal(value) / 100:,.2f}" if fact.unit == "cents" and isinstance(value, int) else str(value)
