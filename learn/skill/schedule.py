"""How many edits a step may make: by a schedule, or by what the optimizer says."""

import math
import re
from typing import NamedTuple

from learn.config import LrScheduler
from skillweave.base.errors import ConfigError
from skillweave.schema.record import Json

NO_LIMIT = 999
"""The budget of `autonomous`: the optimizer says how many edits a step makes."""


def budget_at(step: int, total_steps: int, *, scheduler: LrScheduler, most: int, least: int) -> int:
    """The most edits of a step.

    Args:
        step: From 1; beyond the last step the budget stays as it is there.
        total_steps: Steps of the whole training. A single step gets `most`.
        scheduler: constant, linear, cosine (half a cosine, slow at both ends) or autonomous (no limit).
        most: The budget that a schedule decays from. The first step has already decayed.
        least: The budget of the last step.

    Raises:
        ConfigError: There is no such schedule.
    """
    if scheduler == "autonomous":
        return NO_LIMIT
    if scheduler not in ("constant", "linear", "cosine"):
        raise ConfigError(f"unknown schedule {scheduler!r}; should be constant, linear, cosine or autonomous")
    if scheduler == "constant" or total_steps <= 1:
        return most
    done = min(step, total_steps) / total_steps
    if scheduler == "linear":
        return max(least, round(most + (least - most) * done))
    return max(least, round(least + 0.5 * (most - least) * (1 + math.cos(math.pi * done))))


class AutonomousBudget(NamedTuple):
    """A number of edits that the optimizer chose."""

    budget: int
    """What is applied: at most what there is."""
    chosen: int
    """What the optimizer said; 0 if it said no number."""
    is_fallback: bool
    """Whether it said no number."""


def autonomous_budget(chosen: int | None, available: int) -> AutonomousBudget:
    """The budget by the optimizer's decision; no number is no edit.

    Args:
        chosen: What it said; None for nothing that can be read.
        available: Edits that there are.
    """
    wanted = max(0, chosen or 0)
    return AutonomousBudget(min(wanted, available), wanted, chosen is None)


def read_count(value: Json) -> int | None:
    """The number of edits that a model wrote: a number, or the first whole number of a text; None without one."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, float):
        return max(0, int(value)) if math.isfinite(value) else None
    digits = re.search(r"-?\d{1,9}", str(value))
    return max(0, int(digits[0])) if digits else None
