"""How a trajectory ended before its work was done: an answer withheld, handed over, going in circles, run out."""

import json
from collections import Counter
from itertools import takewhile

from evaluator.execution import Step
from evaluator.explain.evidence import NO_MORE, Evidence
from evaluator.explain.text import call_text, made_text
from skillweave.schema.call import TRANSFER
from skillweave.schema.result import FailureRecord

REPEATED = 4
"""Calls alike, one after the other up to the end, that make a loop."""
REPEATED_AT_ALL = 5
"""Calls alike, wherever they stand, that make a loop where calls, turns or context ran out."""
_RAN_OUT = ("max_turns", "max_calls", "context_window")
_UNREADABLE = "could not be read"


def ending(evidence: Evidence, expected: str | None = None) -> FailureRecord | None:
    """The failure that lies in the end itself; None where nothing is to be said of it.

    `expected`: what was still to be done; without it the first missing golden call.
    """
    due = expected or _first_missing(evidence)
    error = evidence.trial.recorded.error
    if error is not None and error.kind == "agent":
        is_malformed = _UNREADABLE in error.message
        return evidence.at_end("malformed_call" if is_malformed else "withheld", due, error.message or "no answer")
    return _handed_over(evidence, due) or _circling(evidence, due) or _ran_out(evidence, due)


def _first_missing(evidence: Evidence) -> str:
    missing = evidence.missing
    return call_text(missing[0].tool, missing[0].arguments) if missing else NO_MORE


def _handed_over(evidence: Evidence, due: str) -> FailureRecord | None:
    if any(step.tool == TRANSFER for step in evidence.golden):
        return None
    made = next((step for step in evidence.made if step.tool == TRANSFER and step.ok), None)
    return evidence.at_call("gave_up_early", made, due) if made else None


def _circling(evidence: Evidence, due: str) -> FailureRecord | None:
    looks = [_look(step) for step in evidence.made]
    times = Counter(looks)
    at_last = sum(1 for _ in takewhile(lambda look: look == looks[-1], reversed(looks)))
    look = looks[-1] if at_last >= REPEATED else None
    if look is None and evidence.trial.recorded.stop_reason in _RAN_OUT:
        look = next((look for look, count in times.items() if count >= REPEATED_AT_ALL), None)
    if look is None:
        return None
    first = evidence.made[looks.index(look)]
    return evidence.at_call("loop", first, due, f"{times[look]} times {made_text(first)}")


def _ran_out(evidence: Evidence, due: str) -> FailureRecord | None:
    is_out = evidence.trial.recorded.stop_reason in _RAN_OUT
    return evidence.at_end("ran_out", due) if is_out else None


def _look(step: Step) -> str:
    """A call with what came of it."""
    error = step.result.error
    outcome = step.result.value if error is None else error.model_dump()
    return json.dumps([step.tool, step.arguments, step.is_malformed, outcome], sort_keys=True)
