"""Explains a failure: its class, and the first point where it left the golden path.

A wrong end state comes first, for all else rests on it; then a broken rule, then what was not told, then how it was
declined. Only checks that count in the task's reward are looked at. Everything follows from the calls made again and
from the words, never from what the trajectory says of itself.
"""

from evaluator.explain.conduct import broken_rule, misconduct, missing_fact
from evaluator.explain.evidence import Evidence, ending
from evaluator.explain.writes import wrong_state
from evaluator.replay.trial import ScoredTrial
from skillweave.schema.result import FailureRecord


def explain(scored: ScoredTrial) -> FailureRecord:
    """Why a trial that did not pass did not."""
    evidence = Evidence(scored)
    if evidence.failed("state"):
        return wrong_state(evidence)
    found = broken_rule(evidence) if evidence.failed("policy") else None
    if found is None and evidence.failed("communicate"):
        found = missing_fact(evidence)
    if found is None and evidence.failed("policy"):
        found = misconduct(evidence)
    return found or ending(evidence) or _unexplained(evidence)


def _unexplained(evidence: Evidence) -> FailureRecord:
    low = [name for name in evidence.basis if evidence.failed(name)]
    own = {name: check.model_dump_json() for name, check in evidence.checks.own.items()}
    failed = ", ".join(f"{name} {own[name]}" if name in own else name for name in low)
    return evidence.at_end("other", f"the checks that count: {', '.join(evidence.basis)}", f"failed: {failed}")
