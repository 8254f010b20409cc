"""Judging: run all gates on a combination in order; it is validated, or rejected with a reason."""

import json
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from skillweave.base.progress import told
from skillweave.schema.blueprint import Blueprint
from skillweave.schema.combination import Combination, TaskTemplate, ValidatedTask
from skillweave.schema.record import Json
from skillweave.schema.reports import TemplateWithoutTasks
from skillweave.world.world import World
from synth.gates import GATES
from synth.gates.gate import Figures, JudgedCombination, gates_record
from synth.gates.variants import conduct_of
from synth.planner.problem import DEFAULT_BOUNDS, PlannerBounds
from synth.tasks.replay import Rejected

RECORD_ORDER = (
    "arguments",
    "grounded",
    "user",
    "env",
    "call",
    "computed",
    "rows_alike",
    "readings_tried",
    "answers_weighed",
    "unique",
    "withheld",
    "varied",
    "read_again",
    "other_ways",
)
"""Figures to write first in their field, in this order, because the ids of datasets depend on the records' bytes."""


class CombinationJudge:
    """Judges the combinations of one world, one after the other.

    Checks that agree for all tasks of one conduct run until one of them passes. The same combinations in the same
    order give the same figures.
    """

    def __init__(
        self,
        world: World,
        templates: Iterable[TaskTemplate],
        stated: Collection[str],
        bounds: PlannerBounds = DEFAULT_BOUNDS,
    ) -> None:
        """Args:
        templates: The templates of the combinations to judge.
        stated: Numbers of the rules that the policy states.
        bounds: How far the planner searches.
        """
        self._world = world
        self._templates = {template.id: template for template in templates}
        self._stated = stated
        self._bounds = bounds
        self._tried: set[Hashable] = set()

    def validated(self, combination: Combination) -> ValidatedTask:
        """The combination with its criteria and its gates' figures. Raises Rejected if a gate rejects it."""
        template = self._templates[combination.template]
        conduct = conduct_of(combination, self._world.blueprint)
        is_first = conduct not in self._tried
        task = validate_combination(self._world, combination, template, self._stated, self._bounds, is_first=is_first)
        self._tried.add(conduct)
        return task


def validate_combination(
    world: World,
    combination: Combination,
    template: TaskTemplate,
    stated: Collection[str],
    bounds: PlannerBounds = DEFAULT_BOUNDS,
    *,
    is_first: bool = True,
) -> ValidatedTask:
    """The combination with its criteria and the figures of all gates.

    Args:
        stated: Numbers of the rules that the policy states.
        bounds: How far the planner searches.
        is_first: Whether to run the checks that agree for all tasks of one conduct too.

    Raises:
        Rejected: A gate rejects the combination.
    """
    judged = JudgedCombination(world, combination, stated, template=template, bounds=bounds, is_first=is_first)
    for gate_name in GATES:
        for name, figures in run_gate(gate_name, judged).items():
            judged.figures.setdefault(name, {}).update(figures)
    gates = gates_record({name: _in_record_order(figures) for name, figures in judged.figures.items()})
    return ValidatedTask(combination=combination, criteria=judged.criteria, gates=gates)


def run_gate(name: str, judged: JudgedCombination) -> Figures:
    """The figures of a gate. What a plug-in's gate raises or gives wrongly is a PluginError; it may raise Rejected."""
    gate = GATES[name]
    try:
        figures = GATES.call(name, gate.check, judged, passing=(Rejected,))
    except Rejected as rejected:
        if name in GATES.own and rejected.reason not in gate.reasons:
            raise GATES.fault(name, f"rejects for {rejected.reason!r}; it declares {list(gate.reasons)}") from rejected
        raise
    if name in GATES.own:
        try:
            json.dumps(figures[name], allow_nan=False)
        except (TypeError, ValueError, KeyError) as error:
            raise GATES.fault(name, f"gave {figures!r}; it must give {{{name!r}: {{figure: JSON value}}}}") from error
    return figures


def _in_record_order(figures: Mapping[str, Json]) -> dict[str, Json]:
    first = {name: figures[name] for name in RECORD_ORDER if name in figures}
    return {**first, **figures}


class JudgedCombinations(NamedTuple):
    validated: list[ValidatedTask]
    rejected: list[tuple[str, str, str]]
    """Id of a combination, reason, detail."""


def judge_combinations(
    blueprint: Blueprint,
    database: Path,
    now: str,
    templates: Sequence[TaskTemplate],
    combinations: Sequence[Combination],
    stated: Collection[str],
    quotas: Mapping[str, int],
    bounds: PlannerBounds = DEFAULT_BOUNDS,
    most: int = 0,
) -> JudgedCombinations:
    """Judge the combinations of a world in their order. Pure: the same arguments give the same tasks.

    Args:
        stated: Numbers of the rules that the policy states.
        quotas: Template -> number of tasks to keep, if its combinations are candidates: one for each person, with
            numbers in the order in which they are judged. Templates without a quota keep all that pass.
        bounds: How far the planner searches.
        most: Tasks to stop at; 0 judges all.
    """
    world = World(blueprint, database, now=now)
    judge = CombinationJudge(world, templates, stated, bounds)
    judgement = JudgedCombinations([], [])
    kept: dict[str, set[str]] = {}
    numbers: Counter[str] = Counter()
    with world.sharing():
        for combination in told(combinations, "combinations judged"):
            if most and len(judgement.validated) == most:
                break
            template = combination.template
            persons = kept.setdefault(template, set())
            if template in quotas:
                if len(persons) == quotas[template] or combination.caller in persons:
                    continue
                combination = combination.model_copy(update={"id": f"{template}/{numbers[template]:03d}"})
                numbers[template] += 1
            try:
                judgement.validated.append(judge.validated(combination))
                persons.add(combination.caller)
            except Rejected as rejected:
                judgement.rejected.append((combination.id, rejected.reason, rejected.detail))
    world.close()
    return judgement


def templates_without_tasks(
    validated: Sequence[ValidatedTask], rejected: Sequence[tuple[str, str, str]]
) -> list[TemplateWithoutTasks]:
    """Templates none of whose combinations passed, each with its most frequent reason."""
    kept = {task.combination.template for task in validated}
    reasons: dict[str, list[str]] = {}
    for identity, reason, _ in rejected:
        reasons.setdefault(identity.rpartition("/")[0], []).append(reason)
    return [
        TemplateWithoutTasks(template=template, reason=max(sorted(set(given)), key=given.count))
        for template, given in reasons.items()
        if template not in kept
    ]
