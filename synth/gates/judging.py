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
from skillweave.schema.reports import TemplateWithoutTasks
from skillweave.schema.task import Gates, Login, Split
from skillweave.schema.template import TaskTemplate
from skillweave.world.world import World
from synth.gates.alternative_actions import check_alternative_actions
from synth.gates.clarification_needed import check_clarification
from synth.gates.declined import check_declined
from synth.gates.fresh_sources import check_fresh_sources
from synth.gates.golden import check_golden
from synth.gates.indirect_route import check_indirect_route
from synth.gates.interlock import check_interlock
from synth.gates.lawful import check_lawful
from synth.gates.minimal import check_minimal
from synth.gates.not_already_true import check_not_already_true
from synth.gates.observable import check_observable
from synth.gates.optional_arguments import check_optional_arguments
from synth.gates.unique import check_unique
from synth.gates.unreachable import check_unreachable
from synth.gates.variants import with_variant_figures
from synth.planner.problem import DEFAULT_BOUNDS, PlannerBounds
from synth.planner.solutions import check_reachable
from synth.tasks.combinations import callers_of, combination_for
from synth.tasks.criteria import criteria_of
from synth.tasks.fixtures import FixtureBuilder
from synth.tasks.kinds import NoInstance
from synth.tasks.replay import Rejected
from synth.tasks.splits import SPARE_FACTOR, SplitDemand, allot_persons


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
        """`stated` are the rules that the policy prints."""
        self._world = world
        self._templates = {template.id: template for template in templates}
        self._stated = stated
        self._bounds = bounds
        self._tried: set[str] = set()

    def validated(self, combination: Combination) -> ValidatedTask:
        """The combination with its criteria and its gates' figures."""
        template = self._templates[combination.template]
        conduct = template.id not in self._tried
        found = validate_combination(self._world, combination, template, self._stated, self._bounds, conduct=conduct)
        self._tried.add(template.id)
        return found


def validate_combination(
    world: World,
    combination: Combination,
    template: TaskTemplate,
    stated: Collection[str],
    bounds: PlannerBounds = DEFAULT_BOUNDS,
    *,
    conduct: bool = True,
) -> ValidatedTask:
    """The combination with its criteria and its gates' figures.

    Args:
        stated: The rules that the policy prints.
        conduct: Whether what is the same for all tasks of the template is tried as well.
    """
    made, replayed = check_golden(world, combination)
    kept = check_lawful(world, combination, made, stated)
    criteria = criteria_of(world, combination, made)
    # What has no source, or two meanings, is told before what is merely not needed.
    fixed = check_unique(world, combination, template, criteria, made)
    gates = Gates(
        golden=replayed,
        not_already_true=check_not_already_true(world, combination, criteria),
        minimal=check_minimal(world, combination, criteria, made),
        equivalents=check_optional_arguments(world, combination, template, criteria, made),
        grounded={
            **fixed,
            **check_clarification(world, combination, criteria),
            "varied": check_observable(world, combination, criteria),
            "read_again": check_fresh_sources(world, combination),
            "other_ways": check_alternative_actions(world, combination, criteria),
        },
        lawful={
            **kept,
            **check_declined(world, combination),
            **check_unreachable(world, combination, criteria),
            **check_indirect_route(world, combination),
        },
        planner=check_reachable(world, combination, criteria, bounds),
        interlock=check_interlock(world, combination) if len(world.blueprint.roles) > 1 else {},
    )
    gates = with_variant_figures(world, combination, template, criteria, gates, conduct=conduct)
    return ValidatedTask(combination=combination, criteria=criteria, gates=gates)


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
