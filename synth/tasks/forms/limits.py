"""What people make something depend on: a value of a row, and limits, round amounts and days near it."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from random import Random
from typing import Literal

from skillweave.schema.combination import Condition
from skillweave.schema.record import Json
from skillweave.schema.template import TaskTemplate
from synth.tasks.facts import LEAST_CENTS, worthless
from synth.tasks.forms.form import FormSetting, ListedRow, is_amount, is_moment, is_settled, listed_row, noun_of
from synth.tasks.kinds import Instance, NoInstance
from synth.tasks.replay import Rejected

NOUNS = ("price", "fare", "fee", "rate", "total", "amount", "to_pay", "balance", "cost", "premium", "deposit")
"""Words of amounts on which people make something depend."""


_ENDING = frozenset({"cancel", "withdraw", "stop", "end", "leave", "remove", "return", "drop"})
"""First words of tools by which something is given up."""
STEPS = (500, 1000, 2000, 2500, 5000, 10000)
"""Limits are multiples of one of these amounts, in cents."""
DAYS = (2, 3, 5, 7, 10)
"""Days between a day and the limit."""
REASONS = [
    "I can't find my papers.",
    "I'm not sure yet whether it's worth it.",
    "I only want it if it makes sense.",
    "I have to see how it fits in with everything else.",
    "I've rather lost track.",
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


def is_ending(tool: str) -> bool:
    """Whether something is given up by a tool, by its name: `cancel_appointment`."""
    return tool.rpartition("__")[2].partition("_")[0] in _ENDING


def is_above(value: Json, limit: Json) -> bool:
    """Whether a value is above a limit; of a day, whether it is later."""
    if isinstance(value, str) and isinstance(limit, str):
        return value[: len(limit)] > limit
    if isinstance(value, (int, float)) and isinstance(limit, (int, float)):
        return value > limit
    raise Rejected("the condition decides nothing", f"{value!r} and {limit!r}")


def meets(value: Json, condition: Condition) -> bool:
    """Whether a value meets a condition."""
    return is_above(value, condition.limit) == (condition.holds == "above")


def decides(read: str, column: str, nouns: Mapping[tuple[str, str], object]) -> bool:
    """Whether people make something depend on a column: an amount, or a day that people ask for."""
    is_asked = (read, column) in nouns
    return (column.endswith("_cents") and (is_asked or any(noun in column for noun in NOUNS))) or (
        is_asked and column.endswith(("_on", "_at"))
    )


def nouns_of(goals: Sequence[TaskTemplate]) -> dict[tuple[str, str], tuple[str, list[str]]]:
    """Read and column -> what its values are called, and how people ask for one."""
    return {
        (goal.calls[wanted.call - 1].tool, wanted.column): (wanted.noun, wanted.ask)
        for goal in reversed(goals)
        for wanted in goal.tell
    }


def deciding_row(setting: FormSetting, instance: Instance, parameter: str, column: str) -> ListedRow:
    """The row that an instance's first call is about, whose value decides.

    Raises:
        NoInstance: It was not looked up, or could be taken for another one.
    """
    listed = listed_row(instance, instance.steps[0], parameter)
    if listed is None or column not in listed.row or column in listed.mention.columns:
        raise NoInstance("the value that decides is not looked up")
    if not is_one_value(instance, listed, column):
        raise NoInstance("the value that decides could be another one")
    if "due" in column.split("_") and is_settled(listed.row):
        raise NoInstance("nothing is due")
    return listed


def condition_on(
    instance: Instance, listed: ListedRow, column: str, setting: FormSetting, *, is_met: bool
) -> Condition:
    """A condition on a column of a row that is met, or is not.

    Raises:
        NoInstance: The value decides nothing, or another row of the call has one that decides otherwise.
    """
    value, random = listed.row[column], setting.random
    if worthless(listed.rows, listed.index, column):
        raise NoInstance("the value that decides is not worth telling")
    # People give something up because it is dear, and do not buy it for that.
    is_free = is_ending(setting.template.calls[0].tool) or is_moment(value)
    is_high = random.random() < 0.5 if is_free else not is_met
    limit = limit_beside(value, column, random, is_high=is_high)
    if is_high and is_moment(value) and str(limit) <= setting.world.now[:10] < str(value)[:10]:
        # Nobody asks whether what lies ahead was long ago.
        is_high = False
        limit = limit_beside(value, column, random, is_high=is_high)
    holds: Literal["above", "at_most"] = "above" if is_high == is_met else "at_most"
    noun = next((one.noun for one in setting.template.tell if one.column == column), noun_of(column))
    condition = Condition(
        parameter=listed.mention.parameter or "",
        column=column,
        noun=noun,
        holds=holds,
        limit=limit,
        then="do" if is_met else "leave",
    )
    if not all(meets(other, condition) == is_met for other in _beside(instance, listed, column)):
        raise NoInstance("the value that decides could be another one")
    return condition


def _beside(instance: Instance, listed: ListedRow, column: str) -> Iterator[Json]:
    """The values of that name of other rows that the call names: beside the booking that is moved, the new flight."""
    step = instance.steps[0]
    for row in instance.rows:
        other = listed_row(instance, step, row.parameter) if row.call == step and row.parameter else None
        if other and other.mention.key != listed.mention.key and other.row.get(column) is not None:
            yield other.row[column]


def is_one_value(instance: Instance, listed: ListedRow, column: str) -> bool:
    """Whether nobody could take another value for the one that decides.

    The call must show no other amount, or day, than the list; and the user must not have said the row's day.
    """
    value, result = listed.row[column], instance.results[instance.steps[0]].value
    shown = result if isinstance(result, dict) else {}
    if is_moment(value):
        said = any(is_moment(one) for row in instance.rows for one in row.columns.values())
        return not said and shown.get(column, value) == value
    amounts = [one for name, one in shown.items() if name.endswith("_cents") and one]
    return all(one == value for one in amounts)
