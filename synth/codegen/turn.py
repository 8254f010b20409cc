"""What a move has turned: whether a guard of the tool, a rule of the agent, or what happens is no longer as it was."""

from skillweave.schema.record import Json
from synth.codegen.moves import Move, between
from synth.codegen.trial import Outcome, Trial


def are_neighbours(old: Json, new: Json) -> bool:
    """Whether two values are neighbours among numbers."""
    plain = not isinstance(old, bool) and not isinstance(new, bool)
    return plain and isinstance(old, int | float) and isinstance(new, int | float)


def moved(base: Trial, move: Move, value: Json) -> Trial:
    """The move with another value."""
    if move.trial.arguments != base.arguments:
        name = move.about
        return base.with_argument(name, value)
    edit = move.trial.edits[-1]
    cell = value if isinstance(value, str | int | float) or value is None else None
    return base.with_edit(type(edit)(edit.table, edit.key, edit.column, cell))


def level_of(start: Outcome, outcome: Outcome, move: Move) -> int | None:
    """What a move has turned: 0 a guard of the tool, 1 a rule of the agent, 2 what happens; None where nothing.

    3 is for a moved time: numbers in the result, since fees come in steps.
    """
    timed = isinstance(move.new, str) and between(move.old, move.new) is not None
    return next((level for level in range(4 if timed else 3) if not alike(start, outcome, level)), None)


def alike(start: Outcome, outcome: Outcome, level: int) -> bool:
    """Whether two outcomes are the same, as far as the level goes."""
    parts = ((o.broken, o.agent, o.counts, o.numbers)[: level + 1] for o in (start, outcome))
    return next(parts) == next(parts)
