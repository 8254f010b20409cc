"""Whether the end state is what the task demands: the whole difference, no more and no less."""

from collections.abc import Sequence

from skillweave.schema.contract import RowChange
from skillweave.schema.criteria import Criteria
from skillweave.schema.score import StateCheck
from skillweave.world.compare import ComparisonLookup, compare


def check_state(criteria: Criteria, changes: Sequence[RowChange], comparison: ComparisonLookup) -> StateCheck:
    """1 where the canonical `changes` are those of `criteria.state` or of one of `any_of`, else 0.

    What is missing and unexpected is told against the end state that is nearest.
    """
    found = [compare(demanded, changes, comparison) for demanded in [criteria.state, *criteria.any_of]]
    nearest = min(found, key=lambda difference: len(difference.missing) + len(difference.unexpected))
    return StateCheck.model_construct(
        score=float(nearest.is_empty), missing=nearest.missing, unexpected=nearest.unexpected
    )
