"""Errors of the simulated user, so that blame is not mixed."""

from evaluator.trial import Trial
from skillweave.schema.score import UserCheck


def check_user(trial: Trial) -> UserCheck:
    """What the user said that it cannot know, or that contradicts its scenario."""
    return UserCheck(score=1.0)
