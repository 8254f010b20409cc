"""Instances of a joined world's templates: each is built, gated by execution, and kept or replaced by the next.

Where a person cannot have one because rows are lacking, the rows are created in a patch of the task's own.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.change import RowChange
from skillweave.schema.combination import Combination, ValidatedTask
from skillweave.schema.coverage import Lacking
from skillweave.schema.task import Login, Split
from skillweave.schema.template import TaskTemplate
from skillweave.world.world import World
from synth.gates.gauntlet import Gauntlet
from synth.gates.rejection import Rejected
from synth.planner.problem import BOUNDS, Bounds
from synth.tasks.combine import callers_of, combination_for
from synth.tasks.creation import Creation
from synth.tasks.instance import NoInstance
from synth.tasks.persons import SPARE, Want, allotted

T = TypeVar("T")

GIVEN = 6
"""Persons who are given a past, for one template."""


class Made(NamedTuple):
    validated: list[ValidatedTask]
    fallen: list[tuple[str, str, str]]
    """What did not pass: id, reason, detail."""
    lacking: list[Lacking]
    """For each template without an instance, the commonest reason."""
    created: int
    """How many stand on rows of their own."""


def instances(
    blueprint: Blueprint,
    database: Path,
    now: str,
    templates: list[TaskTemplate],
    stated: Collection[str],
    most: Mapping[str, int],
    seed: str,
    splits: Mapping[str, Split] | None = None,
    bounds: Bounds = BOUNDS,
) -> Made:
    """Up to `most` validated instances of each template, by its id; those of two splits are of different persons.

    Pure: the same arguments give the same instances.
    """
    world = World(blueprint, database, now=now)
    gauntlet = Gauntlet(world, templates, stated, bounds)
    drawn = splits or dict.fromkeys((template.id for template in templates), "train")
    makers = [
        Maker(world, template, gauntlet.validated, most[template.id], seed)
        for template in templates
        if most[template.id]
    ]
    able = [maker.able() for maker in makers]
    wants = [Want(drawn[maker.template.id], found, maker.count) for maker, found in zip(makers, able, strict=True)]
    place = allotted(world.callers, wants)
    found = Made([], [], [], 0)
    for maker in makers:
        maker.make([caller for caller in world.callers if place[caller] == drawn[maker.template.id]])
        found.validated.extend(maker.passed)
        found.fallen.extend(maker.fallen)
        if not maker.passed:
            commonest = max(sorted(maker.reasons), key=maker.reasons.__getitem__, default="nobody is in all domains")
            found.lacking.append(Lacking(template=maker.template.id, reason=commonest))
    world.close()
    return found._replace(created=sum(bool(one.combination.patch) for one in found.validated))


@dataclass
class Maker(Generic[T]):
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
            if len(found) < SPARE * self.count and isinstance(self._tried(caller, login), Combination):
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
        creation = Creation(self.world, self.template, self.seed)
        # Whoever got furthest lacks least.
        for caller, login, stuck in sorted(without, key=lambda one: -one[2])[:GIVEN]:
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
