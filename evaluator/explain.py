"""Explains a failure: its class, and the first point where it left the golden path."""

from evaluator.trial import Scored
from skillweave.schema.result import Divergence, FailureRecord


def explain(scored: Scored) -> FailureRecord:
    """Why a trial that did not pass did not."""
    return FailureRecord(
        class_="other", first_divergence=Divergence(turn=None, message=None, call=None, expected="", got="")
    )
