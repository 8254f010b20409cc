"""A gate: one property that a task must have, shown by execution before the task is kept.

A gate raises `Rejected` with one of its fixed reasons, or it returns figures for the task's record. It is a pure
function of what it judges: `python -m synth verify` calls it again and compares the figures. A plug-in adds a gate:

    from synth.gates import GATES
    from synth.gates.gate import Gate

    GATES.register("short", Gate(name="short", proves=..., runs=..., figures=..., reasons=..., check=check))
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from skillweave.schema.combination import Combination
from skillweave.schema.criteria import Criteria
from skillweave.schema.record import Json
from skillweave.schema.task import Gates, Task
from skillweave.schema.template import TaskTemplate
from skillweave.world.world import World
from synth.planner.problem import DEFAULT_BOUNDS, PlannerBounds
from synth.tasks.criteria import KnownValue, criteria_of
from synth.tasks.replay import GoldenRun, run_golden

_FIELDS = tuple(name for name in Gates.model_fields if name != "own")

Figures = Mapping[str, dict[str, Json]]
"""Field of a task's `gates` -> figure -> value. A gate of a plug-in has one field: its own name."""


@dataclass
class JudgedTask:
    """The input of a gate, from a task's own record: its combination, its world, and the rules of its policy."""

    world: World
    combination: Combination
    stated: Collection[str]
    """Numbers of the rules that the policy states."""
    said: Sequence[KnownValue] | None = None
    """All that the user knows; None takes it from the combination's rows and values."""
    recorded: Criteria | None = None
    """The criteria on the record of a finished task; None computes them from the golden run."""
    noisy: Task | None = None
    """The finished task, if it has planted faults; the combination is that of the task without them."""

    @cached_property
    def golden(self) -> GoldenRun:
        """The golden calls, run in a fresh session."""
        return run_golden(self.world, self.combination)

    @cached_property
    def criteria(self) -> Criteria:
        """The criteria that the checks compare an outcome with."""
        return self.recorded or criteria_of(self.world, self.combination, self.golden)


@dataclass(kw_only=True)
class JudgedCombination(JudgedTask):
    """The input of a gate for a combination that is not a task yet."""

    template: TaskTemplate
    bounds: PlannerBounds = DEFAULT_BOUNDS
    """How far the planner searches."""
    is_first: bool = True
    """Whether to run the checks that give the same answer for all combinations of one conduct; one run is enough."""
    figures: dict[str, dict[str, Json]] = field(default_factory=dict)
    """The figures of the gates before this one."""


@dataclass(frozen=True, kw_only=True)
class Gate:
    """One gate, with its description for the documentation and its check for verification."""

    name: str
    proves: str
    """The property, in one sentence."""
    runs: str
    """What the gate executes to show it, in one sentence."""
    figures: Mapping[str, str]
    """`field.figure` of the record -> its meaning."""
    reasons: tuple[str, ...]
    """The fixed reasons of its rejections."""
    of_conduct: str = ""
    """What the gate checks once for tasks of one conduct, because they agree in it; empty if there is no such part."""
    check: Callable[[JudgedCombination], Figures]
    """Returns the figures of a combination that passes, else raises Rejected."""


@dataclass(frozen=True, kw_only=True)
class TaskGate(Gate):
    """A gate that `verify` can repeat from a finished task alone, without its combination."""

    check: Callable[[JudgedTask], Figures]


def gates_record(figures: Figures) -> Gates:
    """The record of the gates that a task has passed. The field `own` holds the figures of plug-ins.

    Args:
        figures: As gates return them, in any order of the fields; fields of gates that have not run yet stay empty.
    """
    builtin = {name: values for name, values in figures.items() if name in _FIELDS}
    own = {name: values for name, values in figures.items() if name not in _FIELDS}
    required: dict[str, dict[str, Json]] = {
        name: {} for name, field in Gates.model_fields.items() if field.is_required()
    }
    return Gates.model_validate({**required, **builtin, "own": own})


def figures_of(gates: Gates) -> Figures:
    """The figures of a record by field, including those of plug-ins: the inverse of `gates_record`."""
    builtin = {name: getattr(gates, name) for name in _FIELDS}
    return {**builtin, **gates.own}
