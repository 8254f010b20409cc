"""Says what trajectories are worth: checks of state, words and rules, composed into scores."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evaluator.scoring.score import score

__all__ = ["score"]


def __getattr__(name: str) -> Any:
    """Load `score` when it is asked for: it needs everything, and `--help` nothing of it."""
    if name != "score":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from evaluator.scoring.score import score

    return score
