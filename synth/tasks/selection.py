"""Selection: which instances a world's templates get, for which persons. Persons of two splits are different persons.

In a world of one domain as many are chosen as are wanted. In a fused world few persons have all that a story needs, so
*candidates* are found, in the order in which they are to be judged: rows that a person lacks are created for them, in
a patch of the task's own. The gates decide which of them are kept.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from itertools import count as numbers
from math import ceil
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
    STRICTEST_FIRST,
    SplitDemand,
    allot_persons,
    balanced_combinations,
    by_coverage,
    is_goal,
)

MOST_CREATED = 6
"""Persons for whom rows are created, where one candidate will do; half as many again where several are lacking."""
MOST_FRUITLESS = 3
"""A template gets no more created rows after so many persons in a row for whom nothing came of them."""

ENOUGH = "there are enough instances without it"
"""Why an instance of a template was not sought."""

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
    enough: int = 0
    """Instances of a world of one domain at which templates beside goals are not tried any more; 0: all are tried."""


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
    with world.sharing():
        selection = InstanceChooser(world, inputs, misfit, late_misfit).chosen()
    world.close()
    return selection


@dataclass
class InstanceChooser:
    """Seeks the instances of a single domain's templates."""

    world: World
    inputs: SelectionInput
    misfit: Misfit
    late_misfit: Misfit
    _lacking: dict[str, str] = field(default_factory=dict)
    """Template without an instance -> why."""

    def __post_init__(self) -> None:
        goals = [template for template in self.inputs.templates if is_goal(template)]
        others = [template for template in self.inputs.templates if not is_goal(template)]
        self._goals, self._others = goals, by_coverage(others, lambda template: template)
        self._most = {**self.inputs.most}
        self._half = ceil(self.inputs.enough / 2) or sum(self._most.values())
        """Instances of goals, and of others, that are enough."""
        for goal in goals:
            self._most[goal.id] = min(self._most[goal.id], ceil(self._half / len(goals)))

    def chosen(self) -> Selection:
        """The instances: of goals, and of as many others as are enough."""
        able = {template.id: self._tried(template) for template in told(self._contested(), "templates")}
        callers = self._allotted(able)
        fitting: dict[str, list[Combination]] = {}
        for template in chain(self._goals, self._others_in_turn(fitting)):
            own = callers[self.inputs.splits[template.id]]
            if template.id in able:
                fitting[template.id] = self._fitting(template, able[template.id], own)
            else:
                fitting[template.id] = self._sought(template, own, self._most[template.id], self._any_misfit)
        self._lacking |= {one.id: ENOUGH for one in self._others if one.id not in fitting}
        chosen = [template for template in self.inputs.templates if template.id in fitting]
        reasons = [(one.id, self._lacking[one.id]) for one in self.inputs.templates if one.id in self._lacking]
        return Selection(
            balanced_combinations(chosen, fitting, self._most),
            [TemplateWithoutTasks(template=name, reason=reason) for name, reason in reasons],
        )

    def _others_in_turn(self, fitting: Mapping[str, Sequence[Combination]]) -> Iterator[TaskTemplate]:
        """Templates beside goals, until `fitting` has enough of them: kinds in proportion to how many each has."""
        ahead: dict[str, list[TaskTemplate]] = {}
        for template in self._others:
            ahead.setdefault(template.kind, []).append(template)
        wanted = {kind: len(templates) for kind, templates in ahead.items()}
        found = dict.fromkeys(ahead, 0)
        while any(ahead.values()) and sum(found.values()) < self._half:
            kind = min((kind for kind in ahead if ahead[kind]), key=lambda kind: (found[kind] / wanted[kind], kind))
            template = ahead[kind].pop(0)
            yield template
            found[kind] += len(fitting[template.id])

    def _contested(self) -> list[TaskTemplate]:
        """Templates that are tried for everybody, before persons are shared out; the others take who is left."""
        first = self._others[: self._half * 3 // 2] if self.inputs.enough else self._others
        home = max(self.inputs.splits.values(), key=STRICTEST_FIRST.index, default=None) if self.inputs.enough else None
        wanted = {one.id for one in first if self.inputs.splits[one.id] != home} | {one.id for one in self._goals}
        return [template for template in self.inputs.templates if template.id in wanted]

    def _allotted(self, able: Mapping[str, Sequence[Combination]]) -> dict[Split, list[str]]:
        """The callers of each split. Of templates that were not tried it is not known who could have them."""
        demands = [
            SplitDemand(split, frozenset(one.caller for one in able.get(name, ())), self._most[name])
            for name, split in ((one.id, self.inputs.splits[one.id]) for one in self.inputs.templates)
        ]
        split_of = allot_persons(self.world.callers, demands)
        return {split: [one for one in self.world.callers if split_of[one] == split] for split in STRICTEST_FIRST}

    def _tried(self, template: TaskTemplate) -> list[Combination]:
        """More combinations of a template than are wanted, so that splits can share them out."""
        count = SPARE_FACTOR * self._most[template.id]
        return self._sought(template, self.world.callers, count, self.misfit)

    def _fitting(
        self, template: TaskTemplate, combinations: Sequence[Combination], callers: Collection[str]
    ) -> list[Combination]:
        """Those of a template's combinations that some callers may have.

        If there are misfits among them, the callers' instances are sought once more, past all misfits.
        """
        most = self._most[template.id] * (GOAL_FACTOR if is_goal(template) else 1)
        own = [one for one in combinations if one.caller in callers][:most]
        if combinations and not own:
            self._lacking[template.id] = "other splits have everybody who could have it"
        elif any(self.late_misfit(self.world, one) for one in own):
            return self._sought(template, callers, most, self._any_misfit)
        return own

    def _any_misfit(self, world: World, combination: Combination) -> str | None:
        return self.misfit(world, combination) or self.late_misfit(world, combination)

    def _sought(
        self, template: TaskTemplate, callers: Collection[str], count: int, misfit: Misfit
    ) -> list[Combination]:
        """Combinations of some callers; if there are none, the commonest reason is kept."""
        sought = partial(combinations_of, self.world, template, [*callers], count, self.inputs.seed)
        found = [*sought(misfit=lambda one: misfit(self.world, one))]
        combinations = [one for one in found if isinstance(one, Combination)]
        reasons = [str(one) for one in found if isinstance(one, NoInstance)]
        if reasons and not combinations:
            self._lacking[template.id] = _commonest(reasons)
        return combinations


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
