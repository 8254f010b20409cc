"""A sign-in that never succeeded: all that comes after it fails because of it."""

from evaluator.execution import Step
from evaluator.explain.attempts import aimed_at, is_unreadable
from evaluator.explain.endings import ending
from evaluator.explain.evidence import Evidence
from evaluator.explain.text import call_text
from skillweave.schema.result import FailureClass, FailureRecord


def sign_in_due(evidence: Evidence) -> Step | None:
    """The golden sign-in, where nobody was ever signed in."""
    if evidence.trial.made.caller is not None:
        return None
    sign_ins = evidence.trial.world.sign_ins
    return next((step for step in evidence.missing if step.tool in sign_ins), None)


def failed_sign_in(evidence: Evidence) -> FailureRecord | None:
    """The first attempt to sign in, where none succeeded."""
    wanted = sign_in_due(evidence)
    attempts = aimed_at(evidence, wanted) if wanted else []
    if wanted is None or not attempts:
        return None
    left = ending(evidence)
    failure: FailureClass = "loop" if left is not None and left.class_ == "loop" else "wrong_argument"
    if all(map(is_unreadable, attempts)):
        failure = "malformed_call"
    return evidence.at_call(failure, attempts[0], call_text(wanted.tool, wanted.arguments))
