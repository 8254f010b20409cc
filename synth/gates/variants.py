"""Gate: wrong trajectories of a task all fail, and other right ones all pass.

Executing calls gives the variants, and the evaluator scores each like any trajectory. The gate draws a few variants of
each sort, seeded by the task's id, so that it tries every sort that applies.
"""

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from random import Random
from typing import NamedTuple

from evaluator.checks import CHECKS
from evaluator.kinds import KINDS
from evaluator.replay.trial import RecordedTrajectory
from evaluator.scoring.evaluate import CheckSettings, Evaluator, NotScoredError
from evaluator.scoring.selftest import recorded, variants_of
from evaluator.variants.conversation import Variant
from evaluator.variants.equivalents import reorderings
from evaluator.variants.executor import VariantExecutor
from skillweave.schema.blueprint import Blueprint
from skillweave.schema.combination import Combination, ValidatedTask
from skillweave.schema.contract import SESSION_TOOLS
from skillweave.schema.record import Json
from skillweave.schema.task import Gates, Task
from skillweave.world.world import World
from synth.gates.gate import Figures, Gate, JudgedCombination, gates_record
from synth.tasks.assembly import provisional_task
from synth.tasks.replay import Rejected

MUTANT_PASSES = "mutant passes"
EQUIVALENT_FAILS = "equivalent fails"
MOST = 2
"""Variants to score of each sort."""


class VariantFigures(NamedTuple):
    """The figures of the two parts of the gate."""

    mutants: dict[str, Json]
    """Wrong trajectories tried, how many were killed, how many there are of each sort, and whether they included the
    sorts that depend on the conduct alone (`conduct`)."""
    equivalents: dict[str, Json]
    """Other right trajectories tried, how many passed, and how many there are of each sort."""


class SingleTaskDataset:
    """A dataset of one task and its world, for an evaluator."""

    def __init__(self, world: World, task: Task) -> None:
        self.tasks: Mapping[str, Task] = {task.id: task}
        self.digest = ""
        self._world = world

    def world(self, which: Task) -> World:
        """The one world."""
        return self._world


GATE = Gate(
    name="variants",
    proves="Wrong trajectories fail, other right ones pass, and demanded calls have one order or any.",
    runs=(
        "Trajectories made from the golden one: wrong rows and values, writes left out, doubled or swapped, rules "
        "broken, nothing or another value told, nothing or another rule recorded as declined; and right ones with "
        "extra reads, other orders, failed calls before the right one, other forms of a value. The evaluator scores"
        " each as it scores any trajectory."
    ),
    figures={
        "mutants.made": "wrong trajectories",
        "mutants.killed": "those that fail: always all",
        "mutants.sorts": "wrong trajectories of each sort",
        "mutants.conduct": "whether the sorts that depend on the conduct alone were among them",
        "equivalents.made": "right trajectories",
        "equivalents.passed": "those that pass: always all",
        "equivalents.sorts": "right trajectories of each sort",
    },
    reasons=(
        "mutant passes",
        "equivalent fails",
        "second lawful order",
    ),
    of_conduct="How calls are written, what is written besides, when something is recorded or told, and who is asked.",
    check=lambda judged: _figures_of(judged),
)


def _figures_of(judged: JudgedCombination) -> Figures:
    gates = gates_record(judged.figures)
    task = provisional_task(judged.world, judged.combination, judged.template, judged.criteria, gates)
    figures = check_variants(judged.world, task, conduct=judged.is_first)
    return {"mutants": figures.mutants, "equivalents": figures.equivalents}


def check_variants(world: World, task: Task, most: int = MOST, *, conduct: bool = True) -> VariantFigures:
    """The gate's figures. Raises Rejected if a wrong trajectory passes or a right one fails.

    Args:
        conduct: Whether to try the sorts that depend on the conduct alone too.
    """
    task = _without_judge(task)
    _check_order(world, task)
    source = SingleTaskDataset(world, task)
    evaluator = Evaluator(source, source, _settings(task))
    counts: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}
    for number, variant in enumerate(draw_variants(task, variants_of(world, task, conduct=conduct), most)):
        passed, why = _word(evaluator, recorded(task, number, variant))
        if passed is not variant.passes:
            raise Rejected(EQUIVALENT_FAILS if variant.passes else MUTANT_PASSES, f"{variant.name}{why}")
        counts[variant.passes][variant.name] += 1
    if task.kind in KINDS and not counts[True]:
        raise Rejected(EQUIVALENT_FAILS, "the golden calls do not reach what the task demands")
    return VariantFigures({**_figures(counts[False], "killed"), "conduct": conduct}, _figures(counts[True], "passed"))


def tried_conduct(gates: Gates) -> bool:
    """Whether the gate tried the sorts that depend on the conduct alone with this task."""
    return gates.mutants.get("conduct") is True


def conduct_of(combination: Combination, blueprint: Blueprint) -> Hashable:
    """What a task asks of an agent's conduct: its kind, the tools that write, what sorts of values are told and left
    out, and who holds the rule that forbids it. Tasks that agree in all of it are alike for the sorts of variants that
    need none of a task's values."""
    called, asked = [call.tool for call in combination.golden if call.tool not in SESSION_TOOLS], combination.asked
    guards = blueprint.tool(asked.tool).guards if asked and combination.forbidden else []
    left_out = [one.parameter for one in combination.withheld]
    return (
        combination.kind,
        tuple(form.name for form in combination.forms),
        frozenset(name for name in called if blueprint.tool(name).kind == "write"),
        tuple((fact.type, fact.unit, bool(fact.rivals)) for fact in combination.communicate),
        tuple(
            (one.type, one.refers_to)
            for name in called
            for one in blueprint.tool(name).parameters
            if one.name in left_out
        ),
        frozenset(guard.enforced_by for guard in guards if guard.rule == combination.forbidden[0]),
    )


def keeping_conduct(passed: Sequence[ValidatedTask], left_out: Collection[str], blueprint: Blueprint) -> set[str]:
    """The tasks to leave out, as many as `left_out`: of tasks of one conduct, the one with which it was tried is kept
    before others."""
    chosen = {*left_out}
    kept = {
        conduct_of(one.combination, blueprint): one.combination.id
        for one in reversed(passed)
        if one.combination.id not in left_out
    }
    for one in passed:
        other = kept.get(conduct_of(one.combination, blueprint))
        if one.combination.id in left_out and tried_conduct(one.gates) and other is not None:
            chosen ^= {one.combination.id, other}
    return chosen


def _settings(task: Task) -> CheckSettings:
    return CheckSettings(checks=tuple(task.criteria.reward_basis), floors=False, prune=False)


def _check_order(world: World, task: Task) -> None:
    """Check that demanded calls have one order, or one outcome in any order, because the user names no order."""
    if all(call.demanded_by is None for call in task.golden):
        return
    executor = VariantExecutor(world, task)
    for calls in reorderings(executor):
        writes = [call.golden for call in calls if call.golden in executor.writes]
        asked = [place for place in writes if place is not None and task.golden[place].demanded_by is None]
        outcome = executor.execute(calls) if asked == sorted(asked) else None
        if outcome and outcome.is_lawful and not outcome.unexecuted and not executor.reaches_goal(outcome.changes):
            raise Rejected("second lawful order", f"{', '.join(task.golden[place or 0].tool for place in writes)}")


def draw_variants(task: Task, variants: Iterable[Variant], most: int) -> list[Variant]:
    """Draw at most `most` variants of each sort, and keep their order."""
    listed = list(variants)
    random = Random(f"{task.id} trials")
    places: dict[tuple[str, bool], list[int]] = {}
    for place, variant in enumerate(listed):
        places.setdefault((variant.name, variant.passes), []).append(place)
    drawn = [place for group in places.values() for place in random.sample(group, min(most, len(group)))]
    return [listed[place] for place in sorted(drawn)]


def _without_judge(task: Task) -> Task:
    """The task with a reward that needs no judge."""
    basis = [name for name in task.criteria.reward_basis if not CHECKS[name].needs_judge]
    return task.model_copy(update={"criteria": task.criteria.model_copy(update={"reward_basis": basis})})


def _word(evaluator: Evaluator, trajectory: RecordedTrajectory) -> tuple[bool | None, str]:
    """Whether the evaluator passes a trajectory; None, with the reason, if it does not score it."""
    try:
        return evaluator.scored(trajectory).passed, ""
    except NotScoredError as error:
        return None, f", not scored: {error}"


def _figures(sorts: Counter[str], word: str) -> dict[str, Json]:
    """The figures of variants that all got the right verdict; a wrong verdict rejects the task before."""
    return {"made": sorts.total(), word: sorts.total(), "sorts": dict(sorted(sorts.items()))}
