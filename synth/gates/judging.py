"""Judging: run all gates on a combination in order; it is validated, or rejected with a reason."""

import json
from collections import Counter, deque
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from skillweave.base.progress import tell_progress
from skillweave.config.sections import DifficultyConfig
from skillweave.schema.blueprint import Blueprint
from skillweave.schema.combination import Combination, ValidatedTask
from skillweave.schema.record import Json
from skillweave.schema.reports import TemplateWithoutTasks
from skillweave.schema.task import Split
from skillweave.schema.template import TaskTemplate
from skillweave.world.world import World
from synth.gates import GATES
from synth.gates.gate import Figures, JudgedCombination, gates_record
from synth.gates.variants import conduct_of
from synth.planner.problem import DEFAULT_BOUNDS, PlannerBounds
from synth.tasks.difficulty import difficulty_of
from synth.tasks.replay import Rejected
from synth.tasks.turns import Turns

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


@dataclass(frozen=True)
class WantedTasks:
    """Which tasks of a world are kept."""

    quotas: Mapping[str, int] = field(default_factory=dict)
    """Template -> number of tasks to keep, if its combinations are candidates: one for each person, with numbers in the
    order in which they are judged. Templates without a quota keep all that pass."""
    levels: Mapping[int, float] = field(default_factory=lambda: DifficultyConfig().shares)
    """Level -> share of the tasks, as far as it can be had."""
    most: int = 0
    """Tasks to stop at; 0 judges all."""
    splits: Mapping[str, Split] | None = None
    """Template -> its split; each gets its share, as far as it can be had. None: all are in one."""


class JudgingOrder:
    """The order in which combinations are judged: lanes and levels in turn, each template's in their order."""

    def __init__(
        self, world: World, templates: Sequence[TaskTemplate], combinations: Sequence[Combination], wanted: WantedTasks
    ) -> None:
        self._turns = Turns(templates, wanted.levels, wanted.splits)
        self._most = wanted.most
        self._levels = {one.id: difficulty_of(world, one).level for one in combinations}
        self._waiting: dict[str, deque[Combination]] = {}
        for one in combinations:
            self._waiting.setdefault(one.template, deque()).append(one)

    def __iter__(self) -> Iterator[Combination]:
        while True:
            ahead = {name: self._levels[waiting[0].id] for name, waiting in self._waiting.items() if waiting}
            name = self._turns.next(ahead, self._open_lanes())
            if name is None:
                return
            yield self._waiting[name].popleft()

    def settle(self, combination: Combination, *, passed: bool) -> None:
        """Say of a combination whether it has passed, before the next is taken."""
        self._turns.settle(combination.template, [self._levels[combination.id]] if passed else [])

    def _open_lanes(self) -> list[str]:
        """Lanes of goals, and others up to their share."""
        return [
            lane
            for lane, share in self._turns.shares.items()
            if not self._most or lane in self._turns.goals or self._turns.found[lane] < share * self._most
        ]


def judge_combinations(
    blueprint: Blueprint,
    database: Path,
    now: str,
    templates: Sequence[TaskTemplate],
    combinations: Sequence[Combination],
    stated: Collection[str],
    wanted: WantedTasks,
    bounds: PlannerBounds = DEFAULT_BOUNDS,
) -> JudgedCombinations:
    """Judge the combinations of a world in turn. Pure: the same arguments give the same tasks.

    Args:
        stated: Numbers of the rules that the policy states.
        bounds: How far the planner searches.
    """
    world = World(blueprint, database, now=now)
    judge = CombinationJudge(world, templates, stated, bounds)
    judgement = JudgedCombinations([], [])
    kept: dict[str, set[str]] = {}
    numbers: Counter[str] = Counter()
    order = JudgingOrder(world, templates, combinations, wanted)
    with world.sharing():
        for place, combination in enumerate(order):
            tell_progress(place, len(combinations), "combinations judged")
            template = combination.template
            persons, own = kept.setdefault(template, set()), combination
            if template in wanted.quotas:
                if len(persons) == wanted.quotas[template] or combination.caller in persons:
                    continue
                own = combination.model_copy(update={"id": f"{template}/{numbers[template]:03d}"})
                numbers[template] += 1
            before = len(judgement.validated)
            try:
                judgement.validated.append(judge.validated(own))
                persons.add(own.caller)
            except Rejected as rejected:
                judgement.rejected.append((own.id, rejected.reason, rejected.detail))
            order.settle(combination, passed=len(judgement.validated) > before)
            if len(judgement.validated) == wanted.most:
                break
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
