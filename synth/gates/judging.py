"""Judging: a combination goes through all gates in order, and comes out validated or rejected with a reason."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.call import RowChange
from skillweave.schema.combination import Combination, ValidatedTask
from skillweave.schema.record import Json
from skillweave.schema.reports import TemplateWithoutTasks
from skillweave.schema.task import Login, Split
from skillweave.schema.template import TaskTemplate
from skillweave.world.world import World
from synth.gates import GATES
from synth.gates.gate import JudgedCombination, gates_record
from synth.planner.problem import DEFAULT_BOUNDS, PlannerBounds
from synth.tasks.combinations import callers_of, combination_for
from synth.tasks.fixtures import FixtureBuilder
from synth.tasks.kinds import NoInstance
from synth.tasks.replay import Rejected
from synth.tasks.splits import SPARE_FACTOR, SplitDemand, allot_persons

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
)
"""Figures that come first in their field, in this order: ids of datasets depend on the bytes of their records."""


class CombinationJudge:
    """The gates of one world, through which its combinations go one after the other.

    What is the same for all tasks of a template is tried with the first of them that passes. Pure: the same
    combinations in the same order give the same figures.
    """

    def __init__(
        self,
        world: World,
        templates: Iterable[TaskTemplate],
        stated: Collection[str],
        bounds: PlannerBounds = DEFAULT_BOUNDS,
    ) -> None:
        """Args:
        templates: Those of the combinations to come.
        stated: Numbers of the rules that the policy states.
        bounds: How far the planner searches.
        """
        self._world = world
        self._templates = {template.id: template for template in templates}
        self._stated = stated
        self._bounds = bounds
        self._passed_templates: set[str] = set()

    def validated(self, combination: Combination) -> ValidatedTask:
        """The combination with its criteria and its gates' figures. Raises Rejected."""
        template = self._templates[combination.template]
        is_first = template.id not in self._passed_templates
        task = validate_combination(self._world, combination, template, self._stated, self._bounds, is_first=is_first)
        self._passed_templates.add(template.id)
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
        is_first: Whether to try also what is the same for all tasks of the template.

    Raises:
        Rejected: A gate does not let it pass.
    """
    judged = JudgedCombination(world, combination, stated, template=template, bounds=bounds, is_first=is_first)
    for gate in GATES.values():
        for name, figures in gate.check(judged).items():
            judged.figures.setdefault(name, {}).update(figures)
    gates = gates_record({name: _in_record_order(figures) for name, figures in judged.figures.items()})
    return ValidatedTask(combination=combination, criteria=judged.criteria, gates=gates)


def _in_record_order(figures: Mapping[str, Json]) -> dict[str, Json]:
    first = {name: figures[name] for name in RECORD_ORDER if name in figures}
    return {**first, **figures}


T = TypeVar("T")

MOST_CREATED = 6
"""Persons who are given a past, for one template."""


class JudgedInstances(NamedTuple):
    validated: list[ValidatedTask]
    fallen: list[tuple[str, str, str]]
    """What did not pass: id, reason, detail."""
    lacking: list[TemplateWithoutTasks]
    """For each template without an instance, the commonest reason."""
    created: int
    """How many stand on rows of their own."""


def judged_instances(
    blueprint: Blueprint,
    database: Path,
    now: str,
    templates: list[TaskTemplate],
    stated: Collection[str],
    most: Mapping[str, int],
    seed: str,
    splits: Mapping[str, Split] | None = None,
    bounds: PlannerBounds = DEFAULT_BOUNDS,
) -> JudgedInstances:
    """Up to `most` validated instances of each template, by its id; those of two splits are of different persons.

    Pure: the same arguments give the same instances.
    """
    world = World(blueprint, database, now=now)
    gauntlet = CombinationJudge(world, templates, stated, bounds)
    drawn = splits or dict.fromkeys((template.id for template in templates), "train")
    makers = [
        InstanceMaker(world, template, gauntlet.validated, most[template.id], seed)
        for template in templates
        if most[template.id]
    ]
    able = [maker.able() for maker in makers]
    wants = [
        SplitDemand(drawn[maker.template.id], found, maker.count) for maker, found in zip(makers, able, strict=True)
    ]
    place = allot_persons(world.callers, wants)
    found = JudgedInstances([], [], [], 0)
    for maker in makers:
        maker.make([caller for caller in world.callers if place[caller] == drawn[maker.template.id]])
        found.validated.extend(maker.passed)
        found.fallen.extend(maker.fallen)
        if not maker.passed:
            commonest = max(sorted(maker.reasons), key=maker.reasons.__getitem__, default="nobody is in all domains")
            found.lacking.append(TemplateWithoutTasks(template=maker.template.id, reason=commonest))
    world.close()
    return found._replace(created=sum(bool(one.combination.patch) for one in found.validated))


@dataclass
class InstanceMaker(Generic[T]):
    """Makes instances of one template until enough have passed."""

    world: World
    template: TaskTemplate
    judge: Callable[[Combination], T]
    """What an instance is kept as; Rejected where it is not."""
    count: int
    seed: str
    passed: list[T] = field(default_factory=list)
    fallen: list[tuple[str, str, str]] = field(default_factory=list)
    reasons: Counter[str] = field(default_factory=Counter)
    _tries: dict[str, Combination | NoInstance] = field(default_factory=dict)

    def able(self) -> frozenset[str]:
        """Who has an instance with what the data hold, more of them than are wanted."""
        found: list[str] = []
        for caller, login in callers_of(self.template, self.world.callers, self.seed):
            if len(found) < SPARE_FACTOR * self.count and isinstance(self._tried(caller, login), Combination):
                found.append(caller)
        return frozenset(found)

    def make(self, callers: Collection[str] | None = None) -> None:
        """With what the data hold, then with rows that are created; for these callers, by default for all."""
        without: list[tuple[str, Login, int]] = []
        for caller, login in callers_of(self.template, self.world.callers, self.seed):
            if len(self.passed) == self.count:
                return
            if callers is not None and caller not in callers:
                continue
            made = self._tried(caller, login)
            if isinstance(made, Combination):
                self._judge(self._numbered(made))
            else:
                self.reasons[str(made)] += 1
                without.append((caller, login, made.call))
        creation = FixtureBuilder(self.world, self.template, self.seed)
        # Whoever got furthest lacks least.
        for caller, login, stuck in sorted(without, key=lambda one: -one[2])[:MOST_CREATED]:
            if len(self.passed) == self.count:
                return
            creation.lead(caller, stuck, partial(self._reached, caller, login))

    def _reached(self, caller: str, login: Login, patch: list[RowChange]) -> int:
        """How many calls the template gets for a person with a patch; what passes the gates is kept."""
        whole = len(self.template.calls)
        try:
            made = self._combination(caller, login, patch)
        except NoInstance as reason:
            return reason.call
        return whole if self._judge(made) else whole - 1

    def _tried(self, caller: str, login: Login) -> Combination | NoInstance:
        """A caller's combination on the data as they are, sought once."""
        if caller not in self._tries:
            try:
                self._tries[caller] = self._combination(caller, login)
            except NoInstance as reason:
                self._tries[caller] = reason
        return self._tries[caller]

    def _numbered(self, made: Combination) -> Combination:
        return made.model_copy(update={"id": f"{self.template.id}/{len(self.passed) + len(self.fallen):03d}"})

    def _combination(self, caller: str, login: Login, patch: Sequence[RowChange] = ()) -> Combination:
        number = len(self.passed) + len(self.fallen)
        return combination_for(self.world, self.template, caller, login, self.seed, number=number, patch=patch)

    def _judge(self, combination: Combination) -> bool:
        try:
            self.passed.append(self.judge(combination))
        except Rejected as rejected:
            self.fallen.append((combination.id, rejected.reason, rejected.detail))
            self.reasons[rejected.reason] += 1
            return False
        return True
