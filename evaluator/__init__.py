"""Says what trajectories are worth: checks of state, words and rules, composed into scores."""

from evaluator.scoring.score import score

__all__ = ["score"]
