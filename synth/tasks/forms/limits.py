"""Limits on which people make something depend: round amounts, and days near the one that decides."""

from datetime import date, timedelta
from random import Random

from skillweave.schema.record import Json
from synth.tasks.facts import LEAST_CENTS
from synth.tasks.forms.form import is_amount, is_moment
from synth.tasks.kinds import NoInstance
from synth.tasks.replay import Rejected

STEPS = (500, 1000, 2000, 2500, 5000, 10000)
"""Limits are multiples of one of these amounts, in cents."""
DAYS = (2, 3, 5, 7, 10)
"""Days between a day and the limit."""
REASONS = [
    "It depends on something that I do not have before me.",
    "I am not sure yet whether it is worth it to me.",
    "I only want it if it makes sense for me.",
    "I have to see how it fits in with the rest of my plans.",
    "I would rather not decide that without a look at your records.",
]
"""Why people make something depend on a look at the records."""


def limit_beside(value: Json, column: str, random: Random, *, is_high: bool) -> Json:
    """A round limit below a value that is to be above it, or at least as high."""
    if is_amount(column, value) and isinstance(value, int) and value >= LEAST_CENTS:
        step = random.choice([one for one in STEPS if one <= max(value // 2, STEPS[0])])
        below = (value - 1) // step * step
        limits = [below, below - step] if is_high else [below + step, below + 2 * step]
        return random.choice([limit for limit in limits if limit > 0 and limit != value])
    if is_moment(value):
        days = random.choice(DAYS) * (-1 if is_high else 1)
        return (date.fromisoformat(str(value)[:10]) + timedelta(days=days)).isoformat()
    raise NoInstance("the value that decides is no amount and no day")


def is_above(value: Json, limit: Json) -> bool:
    """Whether a value is above a limit; of a day, whether it is later."""
    if isinstance(value, str) and isinstance(limit, str):
        return value[: len(limit)] > limit
    if isinstance(value, (int, float)) and isinstance(limit, (int, float)):
        return value > limit
    raise Rejected("the condition decides nothing", f"{value!r} and {limit!r}")
