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

from skillweave.schema.combination import Combination, TaskTemplate
from skillweave.schema.record import Json
from skillweave.schema.task import Criteria, Gates, Task
from skillweave.world.world import World
from synth.planner.problem import DEFAULT_BOUNDS, PlannerBounds
from synth.tasks.criteria import KnownValue, criteria_of
from synth.tasks.replay import GoldenRun, run_golden

_FIELDS = tuple(name for name in Gates.model_fields if name != "own")

Figures = Mapping[str, dict[str, Json]]
"""Field of a task's `gates` -> figure -> value. A gate of a plug-in has one field: its own name."""


@dataclass
class JudgedTask:
    """What a gate can know from a task's own record: its combination, its world, and the rules of its policy."""

    world: World
    combination: Combination
    stated: Collection[str]
    """Numbers of the rules that the policy states."""
    said: Sequence[KnownValue] | None = None
    """All that the user knows; None: what the combination's rows and values say."""
    recorded: Criteria | None = None
    """The criteria on the record of a finished task; None: those that the golden run meets."""
    noisy: Task | None = None
    """The finished task, if faults are planted in it; the combination is that of the task without them."""

    @cached_property
    def golden(self) -> GoldenRun:
        """What the golden calls do in a fresh session."""
        return run_golden(self.world, self.combination)

    @cached_property
    def criteria(self) -> Criteria:
        """What the task's outcome is compared with."""
        return self.recorded or criteria_of(self.world, self.combination, self.golden)


@dataclass(kw_only=True)
class JudgedCombination(JudgedTask):
    """What a gate can know of a combination before it is a task."""

    template: TaskTemplate
    bounds: PlannerBounds = DEFAULT_BOUNDS
    """How far the planner searches."""
    is_first: bool = True
    """Whether to try also what is the same for all combinations of the template: the first that passes shows it."""
    figures: dict[str, dict[str, Json]] = field(default_factory=dict)
    """The figures of the gates before this one."""


@dataclass(frozen=True, kw_only=True)
class Gate:
    """One gate, with all that documentation and verification need to know of it."""

    name: str
    proves: str
    """The property, in one sentence."""
    runs: str
    """What is executed to show it, in one sentence."""
    figures: Mapping[str, str]
    """`field.figure` of the record -> its meaning."""
    reasons: tuple[str, ...]
    """The fixed reasons of its rejections."""
    of_template: str = ""
    """What is the same for all tasks of a template, and tried with the first that passes; empty: nothing."""
    check: Callable[[JudgedCombination], Figures]
    """The figures of a combination that passes. Raises Rejected."""


@dataclass(frozen=True, kw_only=True)
class TaskGate(Gate):
    """A gate that `verify` can repeat from a finished task alone, without the combination that it was made from."""

    check: Callable[[JudgedTask], Figures]


def gates_record(figures: Figures) -> Gates:
    """The record of the gates that a task has passed; the figures of plug-ins stand in its field `own`.

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
    """The figures of a record by field, those of plug-ins among them: the reverse of `gates_record`."""
    builtin = {name: getattr(gates, name) for name in _FIELDS}
    return {**builtin, **gates.own}
