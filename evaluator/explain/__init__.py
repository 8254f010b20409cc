"""Explains a failure: its class, and the first point where the trajectory left the golden path.

A wrong end state comes first, because all else depends on it; then a broken rule, a fact not told, and other
misconduct: a wrong record, transfer or question. Only checks that count in the task's reward are considered. Everything
follows from the replayed calls and the words, never from what the trajectory says about itself.
"""

import re

from evaluator.checks.communicate import last_mention
from evaluator.explain.evidence import (
    Evidence,
    aimed_at,
    broken_rule,
    call_text,
    ending,
    failed_sign_in,
    is_unreadable,
    quoted,
)
from evaluator.explain.writes import wrong_state
from evaluator.kinds import KINDS
from evaluator.kinds.conduct import UNASKED, recorded_declines
from evaluator.replay.trial import ScoredTrial
from evaluator.text.facts import value_forms
from skillweave.schema.criteria import FactToTell
from skillweave.schema.result import FailureClass, FailureRecord

_CALL = re.compile(r"\bcall (?P<call>\d+)\b")
_ENDINGS: tuple[FailureClass, ...] = ("withheld", "loop", "ran_out", "malformed_call")
"""Endings that explain why nothing was declined."""


def explain(scored: ScoredTrial) -> FailureRecord:
    """Why a trial failed.

    Args:
        scored: A trial in which a check that counts is below 1.
    """
    evidence = Evidence(scored)
    if evidence.failed("state"):
        return wrong_state(evidence)
    failure = broken_rule(evidence) if evidence.failed("policy") else None
    if failure is None and evidence.failed("communicate"):
        failure = _missing_fact(evidence)
    if failure is None and evidence.failed("policy"):
        failure = _misconduct(evidence)
    return failure or ending(evidence) or _unexplained(evidence)


def _missing_fact(evidence: Evidence) -> FailureRecord | None:
    """The first fact that was told wrongly; else the first that was not told, perhaps because of how it all ended."""
    check = evidence.checks.communicate
    task = evidence.trial.task
    missing = [fact for fact in task.criteria.communicate if check is not None and fact.fact in check.missing]
    for fact in missing:
        last = last_mention(fact, evidence.messages, task.now)
        if last is not None:
            words = evidence.messages[last].content or ""
            return evidence.at_message("told_wrong", last, _due(fact), quoted(words))
    if not missing:
        return None
    due = _due(missing[0])
    return (
        failed_sign_in(evidence)
        or ending(evidence, due)
        or _unreadable_look_up(evidence)
        or evidence.at_end("did_not_tell", due)
    )


def _due(fact: FactToTell) -> str:
    """A fact as the explanation names it: its id, its noun and its values."""
    values = dict.fromkeys(value_forms(value, fact.type, fact.unit)[0] for value in fact.values)
    return f"{fact.fact}: {fact.noun} {' or '.join(values)}"


def _unreadable_look_up(evidence: Evidence) -> FailureRecord | None:
    """A golden read whose every attempt has a form that nobody can carry out."""
    for golden in evidence.missing:
        attempts = aimed_at(evidence, golden)
        if attempts and all(map(is_unreadable, attempts)):
            return evidence.at_call("malformed_call", attempts[0], call_text(golden.tool, golden.arguments))
    return None


def _misconduct(evidence: Evidence) -> FailureRecord:
    """The first other fault of conduct: a wrong or missing decline, transfer, question or confirmation."""
    violations = evidence.violations
    if not violations:
        return _unconfirmed(evidence)
    task = evidence.trial.task
    failure, expected = KINDS[task.kind].misconduct(task, recorded_declines(evidence.calls))
    if violations[0].endswith(UNASKED):
        failure, expected = "policy_violation", "the user's wish for it, before it is done"
    end = ending(evidence, expected) if failure == "not_declined" else None
    if end is not None and end.class_ in _ENDINGS:
        return end
    call = _CALL.search(violations[0])
    if call and int(call["call"]) < len(evidence.calls):
        return evidence.at_call(failure, evidence.calls[int(call["call"])], expected)
    return evidence.at_end(failure, expected, f"{violations[0]}; {evidence.last_words}")


def _unconfirmed(evidence: Evidence) -> FailureRecord:
    """The first write without the user's agreement."""
    check = evidence.checks.policy
    for text in (check.unconfirmed or ()) if check else ():
        call = _CALL.search(text)
        if call and int(call["call"]) < len(evidence.calls):
            write = evidence.calls[int(call["call"])]
            return evidence.at_call("unconfirmed_write", write, "the user's word before the call")
    return evidence.at_end("policy_violation", "what the policy asks")


def _unexplained(evidence: Evidence) -> FailureRecord:
    """Names the checks that failed, with the records of plug-ins' checks."""
    low = [name for name in evidence.basis if evidence.failed(name)]
    own = {name: check.model_dump_json() for name, check in evidence.checks.own.items()}
    failed = ", ".join(f"{name} {own[name]}" if name in own else name for name in low)
    return evidence.at_end("other", f"the checks that count: {', '.join(evidence.basis)}", f"failed: {failed}")
