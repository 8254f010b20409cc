"""Selection: which instances a world's templates get, for which persons. Persons of two splits are different persons.

In a world of one domain as many are chosen as are wanted. In a fused world few persons have all that a story needs, so
*candidates* are found, in the order in which they are to be judged: rows that a person lacks are created for them, in
a patch of the task's own. The gates decide which of them are kept.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from itertools import count as numbers
from pathlib import Path
from typing import NamedTuple

from skillweave.base.progress import told
from skillweave.schema.blueprint import Blueprint
from skillweave.schema.combination import Combination, TaskTemplate
from skillweave.schema.contract import RowChange
from skillweave.schema.reports import TemplateWithoutTasks
from skillweave.schema.task import Login, Split
from skillweave.world.world import World
from synth.tasks.combinations import FixtureBuilder, callers_of, combination_for, combinations_of
from synth.tasks.kinds import NoInstance
from synth.tasks.splits import (
    GOAL_FACTOR,
    SPARE_FACTOR,
    SplitDemand,
    allot_persons,
    balanced_combinations,
    is_goal,
)

MOST_CREATED = 6
"""Persons for whom rows are created, where one candidate will do; half as many again where several are lacking."""
MOST_FRUITLESS = 3
"""A template gets no more created rows after so many persons in a row for whom nothing came of them."""

Misfit = Callable[[World, Combination], str | None]
"""Why a combination cannot pass the gates; None if it may."""


@dataclass(frozen=True)
class SelectionInput:
    """A world with the templates that instances are chosen for."""

    blueprint: Blueprint
    database: Path
    now: str
    templates: Sequence[TaskTemplate]
    most: Mapping[str, int]
    """Template -> instances that are wanted of it."""
    splits: Mapping[str, Split]
    """Template -> its split."""
    seed: str


class Selection(NamedTuple):
    combinations: list[Combination]
    lacking: list[TemplateWithoutTasks]
    """Templates that have none, each with the commonest reason."""


def choose_instances(inputs: SelectionInput, misfit: Misfit, late_misfit: Misfit) -> Selection:
    """Choose the instances of a single domain's templates. Pure: the same arguments give the same instances.

    If the other kinds outnumber goals, goals get further instances, as far as there are any.

    Args:
        misfit: What is cheaper to see than by all gates; other combinations are then tried.
        late_misfit: The same, for what takes longer to see: only of combinations that are to be chosen.
    """
    world = World(inputs.blueprint, inputs.database, now=inputs.now)
    lacking: list[TemplateWithoutTasks] = []
    fitting: dict[str, list[Combination]] = {}
    with world.sharing():
        chooser = InstanceChooser(world, inputs, misfit, late_misfit)
        tried = {template.id: chooser.tried(template) for template in told(inputs.templates, "templates")}
        able = {name: [one for one in found if isinstance(one, Combination)] for name, found in tried.items()}
        demands = [
            SplitDemand(inputs.splits[name], frozenset(one.caller for one in combinations), inputs.most[name])
            for name, combinations in able.items()
        ]
        split_of = allot_persons(world.callers, demands)
        for template in inputs.templates:
            name = template.id
            callers = [caller for caller in world.callers if split_of[caller] == inputs.splits[name]]
            fitting[name], reasons = chooser.fitting(template, able[name], callers)
            reasons = reasons or [str(one) for one in tried[name] if isinstance(one, NoInstance)]
            if not fitting[name] and reasons:
                lacking.append(TemplateWithoutTasks(template=name, reason=_commonest(reasons)))
    world.close()
    return Selection(balanced_combinations(inputs.templates, fitting, inputs.most), lacking)


class InstanceChooser(NamedTuple):
    """Seeks the instances of a single domain's templates."""

    world: World
    inputs: SelectionInput
    misfit: Misfit
    late_misfit: Misfit

    def tried(self, template: TaskTemplate) -> list[Combination | NoInstance]:
        """More combinations of a template than are wanted, so that splits can share them out."""
        return self._sought(template, self.world.callers, SPARE_FACTOR * self.inputs.most[template.id], self.misfit)

    def fitting(
        self, template: TaskTemplate, combinations: Sequence[Combination], callers: Collection[str]
    ) -> tuple[list[Combination], list[str]]:
        """Those of a template's combinations that some callers may have, and if there are none, why.

        If there are misfits among them, the callers' instances are sought once more, past all misfits.
        """
        most = self.inputs.most[template.id] * (GOAL_FACTOR if is_goal(template) else 1)
        own = [one for one in combinations if one.caller in callers][:most]
        if combinations and not own:
            return [], ["other splits have everybody who could have it"]
        if not any(self.late_misfit(self.world, one) for one in own):
            return own, []
        found = self._sought(template, callers, most, lambda *one: self.misfit(*one) or self.late_misfit(*one))
        return (
            [one for one in found if isinstance(one, Combination)],
            [str(one) for one in found if isinstance(one, NoInstance)],
        )

    def _sought(
        self, template: TaskTemplate, callers: Collection[str], count: int, misfit: Misfit
    ) -> list[Combination | NoInstance]:
        found = combinations_of(
            self.world, template, [*callers], count, self.inputs.seed, misfit=lambda one: misfit(self.world, one)
        )
        return [*found]


def find_candidates(inputs: SelectionInput) -> Selection:
    """Find the candidates of a fused world's templates, each template's in the order in which they are to be judged.

    A person may have several on created rows, of which one is to be kept. Templates of which none is wanted are left
    out. Pure: the same arguments give the same candidates.
    """
    world = World(inputs.blueprint, inputs.database, now=inputs.now)
    with world.sharing():
        selection = _candidates(world, inputs)
    world.close()
    return selection


def _candidates(world: World, inputs: SelectionInput) -> Selection:
    finders = [
        CandidateFinder(world, template, inputs.most[template.id], inputs.seed)
        for template in inputs.templates
        if inputs.most[template.id]
    ]
    demands = [SplitDemand(inputs.splits[one.template.id], one.able_callers(), one.count) for one in finders]
    split_of = allot_persons(world.callers, demands)
    selection = Selection([], [])
    for finder in told(finders, "templates"):
        name = finder.template.id
        callers = [caller for caller in world.callers if split_of[caller] == inputs.splits[name]]
        found = list(finder.enough(callers))
        candidates = [one for one in found if isinstance(one, Combination)]
        selection.combinations.extend(candidates)
        if not candidates:
            reasons = [str(one) for one in found] or ["nobody is in all domains"]
            selection.lacking.append(TemplateWithoutTasks(template=name, reason=_commonest(reasons)))
    return selection


class _Stuck(NamedTuple):
    """A caller without an instance on the data as they are."""

    call: int
    """The template's call, counted from 0, that cannot be made."""
    caller: str
    login: Login


@dataclass
class CandidateFinder:
    """Finds candidates for instances of one template, lazily: who has enough of them asks for no more."""

    world: World
    template: TaskTemplate
    count: int
    """Instances that are wanted."""
    seed: str
    _on_data: dict[str, Combination | NoInstance] = field(default_factory=dict)

    def able_callers(self) -> frozenset[str]:
        """Callers who have an instance on the data as they are, up to more of them than are wanted."""
        callers: list[str] = []
        for caller, login in callers_of(self.template, self.world.callers, self.seed):
            if len(callers) < SPARE_FACTOR * self.count and isinstance(self._found(caller, login), Combination):
                callers.append(caller)
        return frozenset(callers)

    def candidates(self) -> Iterator[Combination | NoInstance]:
        """Candidates of everybody on the data as they are, and a reason for each caller who has none; then on created
        rows."""
        stuck: list[_Stuck] = []
        created = chain.from_iterable(self._created_of(stuck, MOST_CREATED))
        yield from self._numbered(chain(self._on_data_of(self.world.callers, stuck), created))

    def enough(self, callers: Collection[str]) -> Iterator[Combination | NoInstance]:
        """Candidates of some callers, on created rows only as far as the data have too few instances.

        Rows are created for twice as many persons as are lacking, since gates reject some. A template is given up
        after `MOST_FRUITLESS` persons in a row for whom nothing came of it.
        """
        stuck: list[_Stuck] = []
        found = [*self._on_data_of(callers, stuck)]
        lacking = 2 * (self.count - sum(isinstance(one, Combination) for one in found))
        fruitless = 0
        for created in self._created_of(stuck, 3 * MOST_CREATED // 2) if lacking > 0 else ():
            of_person = [*created]
            found += of_person
            lacking -= bool(of_person)
            fruitless = 0 if of_person else fruitless + 1
            if lacking <= 0 or fruitless == MOST_FRUITLESS:
                break
        return self._numbered(found)

    def _numbered(self, found: Iterable[Combination | NoInstance]) -> Iterator[Combination | NoInstance]:
        number = numbers()
        for one in found:
            if isinstance(one, Combination):
                yield one.model_copy(update={"id": f"{self.template.id}/{next(number):03d}"})
            else:
                yield one

    def _on_data_of(self, callers: Collection[str], stuck: list[_Stuck]) -> Iterator[Combination | NoInstance]:
        """Of each caller a candidate, or the reason why there is none; who has none is added to `stuck`."""
        for caller, login in callers_of(self.template, self.world.callers, self.seed):
            if caller in callers:
                found = self._found(caller, login)
                if isinstance(found, NoInstance):
                    stuck.append(_Stuck(found.call, caller, login))
                yield found

    def _created_of(self, stuck: Sequence[_Stuck], most: int) -> Iterator[Iterator[Combination]]:
        """Candidates on created rows, by person. `stuck` is read with the first: whoever got furthest lacks least."""
        fixtures = FixtureBuilder(self.world, self.template, self.seed)
        for one in sorted(stuck, key=lambda one: -one.call)[:most]:
            yield self._created(fixtures, one.caller, one.login, one.call)

    def _created(self, fixtures: FixtureBuilder, caller: str, login: Login, stuck: int) -> Iterator[Combination]:
        """Combinations of a caller on created rows."""
        found: list[Combination] = []

        def calls_reached(patch: list[RowChange]) -> int:
            try:
                found.append(self._combination(caller, login, patch))
            except NoInstance as reason:
                return reason.call
            return len(self.template.calls)

        for _ in fixtures.patches(caller, stuck, calls_reached):
            yield found[-1]

    def _found(self, caller: str, login: Login) -> Combination | NoInstance:
        """A caller's combination on the data as they are, sought once."""
        if caller not in self._on_data:
            try:
                self._on_data[caller] = self._combination(caller, login)
            except NoInstance as reason:
                self._on_data[caller] = reason
        return self._on_data[caller]

    def _combination(self, caller: str, login: Login, patch: Sequence[RowChange] = ()) -> Combination:
        return combination_for(self.world, self.template, caller, login, self.seed, number=0, patch=patch)


def _commonest(reasons: Sequence[str]) -> str:
    return max(sorted(set(reasons)), key=reasons.count)
