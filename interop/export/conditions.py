"""Conditions on what is exported: `--where 'FIELD OP VALUE'` over a flat set of fields of tasks and trajectories."""

import math
import operator
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from skillweave.base.errors import ConfigError
from skillweave.config.load import nearest
from skillweave.schema.task import Task

FieldKind = Literal["number", "truth", "text", "texts"]
ALL = "all"
"""The condition that turns the default one off."""


class ExportField(NamedTuple):
    """A field that conditions may name."""

    kind: FieldKind
    of: Literal["task", "trajectory"]


FIELDS: Mapping[str, ExportField] = {
    "task": ExportField("text", "task"),
    "world": ExportField("text", "task"),
    "split": ExportField("text", "task"),
    "kind": ExportField("text", "task"),
    "forms": ExportField("texts", "task"),
    "level": ExportField("number", "task"),
    "golden_calls": ExportField("number", "task"),
    "reward": ExportField("number", "trajectory"),
    "passed": ExportField("truth", "trajectory"),
    "trial": ExportField("number", "trajectory"),
    "calls": ExportField("number", "trajectory"),
    "turns": ExportField("number", "trajectory"),
    "agent": ExportField("text", "trajectory"),
    "user": ExportField("text", "trajectory"),
    "stop_reason": ExportField("text", "trajectory"),
    "failure": ExportField("text", "trajectory"),
    "differs": ExportField("number", "trajectory"),
}
"""`calls` and `turns` are of the agent in this trajectory, `golden_calls` of the task's reference. `differs` is the
number of recorded results that are not the replay's."""
OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}
_FORM = re.compile(r"\s*([A-Za-z_]+)\s*(==|!=|<=|>=|<|>)\s*(.*?)\s*", re.DOTALL)
_TRUTHS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


@dataclass(frozen=True)
class ExportCondition:
    """One condition."""

    field: str
    operator: str
    value: float | bool | str

    @property
    def of(self) -> Literal["task", "trajectory"]:
        """What it is a condition on."""
        return FIELDS[self.field].of

    def holds(self, values: Mapping[str, Any]) -> bool:
        """Whether it holds for these values of the fields. An unknown value is only unequal."""
        value = values.get(self.field)
        if isinstance(value, tuple):
            return (self.value in value) == (self.operator == "==")
        if value is None:
            return self.operator == "!="
        return OPERATORS[self.operator](value, self.value)

    def __str__(self) -> str:
        value = str(self.value).lower() if isinstance(self.value, bool) else self.value
        return f"{self.field}{self.operator}{f'{value:g}' if isinstance(value, float) else value}"


PASSES = ExportCondition("reward", "==", 1.0)
"""The condition of trajectory formats, if none names reward or passed."""
UNALTERED = ExportCondition("differs", "==", 0.0)
"""The condition of what takes trajectories, if none names differs: their results are those of the replay."""


def conditions_of(texts: Sequence[str], takes: Literal["tasks", "trajectories", "pairs"]) -> list[ExportCondition]:
    """Read conditions.

    Args:
        texts: As they were written.
        takes: What the format takes. Trajectories have to pass, and to hold the results of the replay, if no condition
            speaks of that.

    Raises:
        ConfigError: A field, an operator or a value is wrong.
    """
    every = any(text.strip().lower() == ALL for text in texts)
    read = [_condition(text, takes) for text in texts if text.strip().lower() != ALL]
    named = {condition.field for condition in read}
    if takes == "tasks" or every:
        return read
    passes = [PASSES] if takes == "trajectories" and not named & {"reward", "passed"} else []
    return [*passes, *([] if "differs" in named else [UNALTERED]), *read]


def _condition(text: str, takes: str) -> ExportCondition:
    form = _FORM.fullmatch(text)
    if form is None:
        raise ConfigError(f"--where {text!r} is no condition; write FIELD OP VALUE, such as 'reward==1', or 'all'")
    name, sign, written = form.groups()
    allowed = [field for field, known in FIELDS.items() if known.of == "task" or takes != "tasks"]
    if name not in allowed:
        raise ConfigError(f"--where {text!r}: unknown field {name!r}; {nearest(name, allowed)} {_listed(allowed)}")
    kind = FIELDS[name].kind
    if kind != "number" and sign not in ("==", "!="):
        raise ConfigError(f"--where {text!r}: {name} is compared with == or !=, not with {sign}")
    return ExportCondition(name, sign, _value(text, name, kind, written.strip("'\"")))


def _listed(names: Sequence[str]) -> str:
    return f"(fields: {', '.join(names)})"


def _value(text: str, name: str, kind: FieldKind, written: str) -> float | bool | str:
    if kind == "truth":
        if written.lower() not in _TRUTHS:
            raise ConfigError(f"--where {text!r}: {name} is true or false, not {written!r}")
        return _TRUTHS[written.lower()]
    if kind == "number":
        try:
            number = float(written)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise ConfigError(f"--where {text!r}: {name} is a number, and {written!r} is none")
        return number
    if not written:
        raise ConfigError(f"--where {text!r} gives no value; write one, such as 'world==CityHotel'")
    return written


def refuse_unknown_values(conditions: Sequence[ExportCondition], known: Mapping[str, Collection[str]]) -> None:
    """Raise ConfigError for a condition with a value that no task of the dataset has."""
    for condition in conditions:
        names = known.get(condition.field)
        if names is not None and condition.value not in names:
            raise ConfigError(
                f"--where {str(condition)!r}: no task has the {condition.field} {condition.value!r}; "
                f"{nearest(str(condition.value), names)}"
            )


def task_values(task: Task) -> dict[str, Any]:
    """The fields of a task."""
    return {
        "task": task.id,
        "world": task.world,
        "split": task.split,
        "kind": task.kind,
        "forms": tuple(form.name for form in task.forms),
        "level": task.difficulty.level,
        "golden_calls": task.difficulty.calls,
    }
