"""Selection: which instances a world's templates get, for which persons. Persons of two splits are different persons.

In a world of one domain as many are chosen as are wanted. In a fused world few persons have all that a story needs, so
*candidates* are found, in the order in which they are to be judged: rows that a person lacks are created for them, in
a patch of the task's own. The gates decide which of them are kept.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import ceil
from pathlib import Path
from typing import NamedTuple

from skillweave.base.progress import told
from skillweave.config.sections import DifficultyConfig
from skillweave.schema.blueprint import Blueprint
from skillweave.schema.combination import Combination
from skillweave.schema.fusion import Fusion
from skillweave.schema.reports import TemplateWithoutTasks
from skillweave.schema.task import Split
from skillweave.schema.template import TaskTemplate
from skillweave.world.world import World
from synth.tasks.candidates import CandidateFinder
from synth.tasks.combinations import combinations_of
from synth.tasks.difficulty import difficulty_of, level_expected
from synth.tasks.kinds import NoInstance
from synth.tasks.splits import SPARE_FACTOR, STRICTEST_FIRST, SplitDemand, allot_persons, person_name, relatives_of
from synth.tasks.turns import TemplateTurns, Turns, is_goal

ENOUGH = "there are enough instances without it"
"""Why an instance of a template was not sought."""

TAKEN = "other splits have everybody who could have it"
"""Why nobody is left for a template."""
ONE_WAY = 8
"""A story in which some domain is needed by no other gets one of so many instances."""
OTHER_LEVEL = "its tasks are of a level that is not wanted"
"""Why the instances of a template were not chosen."""

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
    """Instances of the world that are shared out among its lanes: a lane that has its share gets no further template.
    0: every template is tried."""
    levels: Mapping[int, float] = field(default_factory=lambda: DifficultyConfig().shares)
    """Level -> share of the instances that is wanted; of others there are none."""
    split_of_customer: Callable[[str], Split] | None = None
    """Name of a person -> their split in all worlds; None: each world allots its persons by what its templates need."""

    def expected(self) -> dict[str, int]:
        """Template of which instances are wanted -> about the level of its tasks."""
        writes = {tool.name for tool in self.blueprint.tools if tool.kind == "write"}
        return {
            one.id: level_expected(one, sum(call.tool in writes for call in one.calls))
            for one in self.templates
            if self.most[one.id]
        }


def allotted_persons(world: World, inputs: SelectionInput, demands: Sequence[SplitDemand]) -> dict[str, Split]:
    """The split of each person of a world."""
    split_of = inputs.split_of_customer
    if split_of is None:
        return allot_persons(world.callers, demands)
    rows = {caller: world.original(world.people.table, caller) or {} for caller in world.callers}
    return {caller: split_of(person_name(row)) for caller, row in rows.items()}


class Selection(NamedTuple):
    combinations: list[Combination]
    lacking: list[TemplateWithoutTasks]
    """Templates that have none, each with the commonest reason."""


def fewer_one_way(most: Mapping[str, int], templates: Sequence[TaskTemplate], fusion: Fusion) -> dict[str, int]:
    """Of a story in which some domain is needed by no other, an eighth of the instances, and none in a form."""
    both_ways = {
        f"{fusion.name}/{story}"
        for story, links in fusion.proofs.items()
        if {link.source for link in links} == {*fusion.domains}
    }
    one_way = [one for one in templates if is_goal(one) and not both_ways & {one.id, *relatives_of(one)}]
    fewer = {one.id: 0 if one.forms else ceil(most[one.id] / ONE_WAY) for one in one_way}
    return {**most, **fewer}


def choose_instances(inputs: SelectionInput, misfit: Misfit, late_misfit: Misfit) -> Selection:
    """Choose the instances of a single domain's templates. Pure: the same arguments give the same instances.

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

    def chosen(self) -> Selection:
        """The instances: template by template in turn, until every lane has enough."""
        known = {template.id: template for template in self.inputs.templates}
        able = {name: self._tried(known[name]) for name in told(self._contested(), "templates")}
        callers = self._allotted(able)
        lanes = self._turns()
        fitting: dict[str, list[Combination]] = {}
        for name in lanes:
            own, before = callers[self.inputs.splits[name]], fitting.get(name, [])
            most = len(before) + self.inputs.most[name]
            if name in able:
                found = self._fitting(known[name], able[name], own, most)
            else:
                found = self._sought(known[name], own, most, self._any_misfit)
            levels = _levels(self.world, self.inputs, found)
            fitting[name] = [one for one in found if one.id in levels]
            if found and not levels:
                self._lacking[name] = OTHER_LEVEL
            lanes.settle(name, [*levels.values()][len(before) :])
        return _selection(self.inputs, fitting, self._lacking | dict.fromkeys(lanes.ahead, ENOUGH))

    def _turns(self) -> TemplateTurns:
        turns = Turns(self.inputs.templates, self.inputs.levels, self.inputs.splits)
        return TemplateTurns(turns, self.inputs.expected(), self.inputs.most, self.inputs.enough)

    def _contested(self) -> list[str]:
        """Templates that are tried for everybody, before persons are shared out; the others take who is left.

        They are those outside the largest split that will be tried if each gives what is wanted of it.
        """
        home = max(self.inputs.splits.values(), key=STRICTEST_FIRST.index, default=None)
        lanes, expected, planned = self._turns(), self.inputs.expected(), set[str]()
        for name in lanes:
            lanes.settle(name, [expected[name]] * self.inputs.most[name])
            planned.add(name)
        return [name for name, split in self.inputs.splits.items() if name in planned and split != home]

    def _allotted(self, able: Mapping[str, Sequence[Combination]]) -> dict[Split, list[str]]:
        """The callers of each split. Of templates that were not tried it is not known who could have them."""
        demands = [
            SplitDemand(split, frozenset(one.caller for one in able.get(name, ())), self.inputs.most[name])
            for name, split in ((one.id, self.inputs.splits[one.id]) for one in self.inputs.templates)
        ]
        split_of = allotted_persons(self.world, self.inputs, demands)
        return {split: [one for one in self.world.callers if split_of[one] == split] for split in STRICTEST_FIRST}

    def _tried(self, template: TaskTemplate) -> list[Combination]:
        """More combinations of a template than are wanted, so that splits can share them out."""
        count = SPARE_FACTOR * self.inputs.most[template.id]
        return self._sought(template, self.world.callers, count, self.misfit)

    def _fitting(
        self, template: TaskTemplate, combinations: Sequence[Combination], callers: Collection[str], most: int
    ) -> list[Combination]:
        """Those of a template's combinations that some callers may have.

        If there are misfits among them, the callers' instances are sought once more, past all misfits.
        """
        own = [one for one in combinations if one.caller in callers][:most]
        if combinations and not own:
            self._lacking[template.id] = TAKEN
        elif any(self.late_misfit(self.world, one) for one in own):
            return self._sought(template, callers, most, self._any_misfit)
        return own

    def _any_misfit(self, world: World, combination: Combination) -> str | None:
        return self.misfit(world, combination) or self.late_misfit(world, combination)

    def _sought(
        self, template: TaskTemplate, callers: Collection[str], count: int, misfit: Misfit
    ) -> list[Combination]:
        """Combinations of some callers; if there are none, the commonest reason is kept."""
        persons = [one for one in callers if one in template.persons or not template.persons]
        sought = partial(combinations_of, self.world, template, persons, count, self.inputs.seed)
        found = [*sought(misfit=lambda one: misfit(self.world, one))]
        combinations = [one for one in found if isinstance(one, Combination)]
        reasons = [str(one) for one in found if isinstance(one, NoInstance)]
        if not combinations:
            self._lacking[template.id] = _commonest(reasons) if reasons else TAKEN
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
    finders = {
        template.id: CandidateFinder(world, template, inputs.most[template.id], inputs.seed)
        for template in inputs.templates
        if inputs.most[template.id]
    }
    demands = [
        SplitDemand(inputs.splits[name], one.able_callers(), one.count)
        for name, one in finders.items()
        if not one.template.forms
    ]
    split_of = allotted_persons(world, inputs, demands)
    turns = Turns(inputs.templates, inputs.levels, inputs.splits)
    expected = {name: level for name, level in inputs.expected().items() if name in finders}
    lanes = TemplateTurns(turns, expected, inputs.most, inputs.enough, is_fused=True)
    found: dict[str, list[Combination]] = {}
    lacking: dict[str, str] = {}
    for name in lanes:
        callers = [caller for caller in world.callers if split_of[caller] == inputs.splits[name]]
        tried = list(finders[name].enough(callers))
        candidates = [one for one in tried if isinstance(one, Combination)]
        levels = _levels(world, inputs, candidates)
        found[name] = [one for one in candidates if one.id in levels]
        if not levels:
            reasons = [str(one) for one in tried if isinstance(one, NoInstance)] or ["nobody is in all domains"]
            lacking[name] = OTHER_LEVEL if candidates else _commonest(reasons)
        lanes.settle(name, [*levels.values()][: inputs.most[name]])
    return _selection(inputs, found, lacking | dict.fromkeys(lanes.ahead, ENOUGH))


def _levels(world: World, inputs: SelectionInput, combinations: Sequence[Combination]) -> dict[str, int]:
    """Id of a combination -> the level of its task, without those of levels that are not wanted."""
    levels = {one.id: difficulty_of(world, one).level for one in combinations}
    return {name: level for name, level in levels.items() if level in inputs.levels}


def _selection(
    inputs: SelectionInput, found: Mapping[str, Sequence[Combination]], lacking: Mapping[str, str]
) -> Selection:
    """What was found and what was not, in the order of the templates."""
    names = [template.id for template in inputs.templates]
    return Selection(
        [one for name in names for one in found.get(name, ())],
        [TemplateWithoutTasks(template=name, reason=lacking[name]) for name in names if name in lacking],
    )


def _commonest(reasons: Sequence[str]) -> str:
    return max(sorted(set(reasons)), key=reasons.count)
