"""The simulated persons: what each tends to do, and how one request leads to another.

People differ: some never pay, some book all the time. So the data hold debts, used-up quotas and loose ends. What
a write tool means to the rows that people made (it ends them, changes them, adds to them) is read off the contract.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random
from typing import Literal, NamedTuple

from sqlglot import exp

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.call import CallResult
from skillweave.schema.contract import Tool
from skillweave.schema.entity import Entity
from skillweave.schema.record import Value
from skillweave.world.sql import parse
from synth.contracts.visibility import keys_shown, subject_entity
from synth.search.slots import bound_names, table_of_column
from synth.search.values import day_of
from synth.simulation.generation import has_rows, visit_weight

RoleKind = Literal["goes on", "undoes", "ends", "changes", "adds", "settles"]


@dataclass(frozen=True)
class ToolRole:
    """What a write tool does in the course of rows."""

    kind: RoleKind = "goes on"
    """`undoes`: it ends a row that other tools would carry on; `ends`: it ends one that nothing carries on; `changes`:
    it changes a row that goes on; `adds`: it makes another row for one that stays as it is; `settles`: it changes what
    is on record of the caller; `goes on`: all else."""
    makers: tuple[str, ...] = ()
    """The tools that make the rows which it ends, changes or adds to."""


def tool_roles(blueprint: Blueprint) -> dict[str, ToolRole]:
    """The part of each write tool."""
    return _RoleReader(blueprint).parts()


class _RoleReader:
    def __init__(self, blueprint: Blueprint) -> None:
        self._blueprint = blueprint
        self._writes = [tool for tool in blueprint.tools if tool.kind == "write"]
        self._makes = {tool.name: self._made_by(tool) for tool in self._writes}

    def parts(self) -> dict[str, ToolRole]:
        return {tool.name: self._part(tool) for tool in self._writes}

    def _part(self, tool: Tool) -> ToolRole:
        made = self._makes[tool.name]
        for entity in self._about(tool):
            makers = self._makers(entity)
            if made or not makers:
                continue
            if self._ends(tool, entity):
                carried = any(self._makes[other.name] for other in self._onward(entity))
                return ToolRole("undoes" if carried else "ends", makers)
            if not self._sets(tool, entity):
                return ToolRole("changes", makers)
        if self._settles(tool):
            return ToolRole("settles")
        named = [self._blueprint.target(one.refers_to)[0] for one in tool.parameters if one.refers_to and one.required]
        about = [entity.name for entity in self._about(tool)]
        rows = [one for one in named if self._makers(one) and one.name not in about and not has_rows(one)]
        return ToolRole("adds", self._makers(rows[0])) if made and rows else ToolRole()

    def _makers(self, entity: Entity) -> tuple[str, ...]:
        return tuple(name for name, made in self._makes.items() if made == entity.name)

    def _made_by(self, tool: Tool) -> str | None:
        """The entity whose rows a tool is there to make: one that it inserts, and its result is about."""
        made = {parse(e.sql).target for e in tool.effects if isinstance(parse(e.sql).tree, exp.Insert)}
        about = subject_entity(self._blueprint, tool)
        return about if about and self._blueprint.entity(about).table in made else None

    def _about(self, tool: Tool) -> Iterator[Entity]:
        """The entities of which a tool writes a row that it is given the key of, or the caller's where it is given
        none."""
        named = {(parameter.refers_to or "").partition(".")[0] for parameter in tool.parameters if parameter.refers_to}
        written = {parse(effect.sql).target for effect in tool.effects if not _is_insert(effect.sql)}
        for entity in self._blueprint.tables:
            if (
                entity.table in written
                and entity.name != self._blueprint.core_entity
                and (entity.name in named or not named)
            ):
                yield entity

    def _onward(self, entity: Entity) -> list[Tool]:
        return [tool for tool in self._writes if entity in self._about(tool)]

    def _sets(self, tool: Tool, entity: Entity) -> set[str]:
        """The states to which a tool brings rows; `DELETE` where it removes them."""
        found: set[str] = set()
        for tree in (parse(effect.sql).tree for effect in tool.effects if parse(effect.sql).target == entity.table):
            if isinstance(tree, exp.Delete):
                found.add("DELETE")
            for change in tree.expressions if isinstance(tree, exp.Update) else ():
                states = _states(entity, change.left.name) if isinstance(change, exp.EQ) else set()
                found |= states & {*_texts(change.right)} if states else set()
        return found

    def _ends(self, tool: Tool, entity: Entity) -> bool:
        """Whether a tool brings a row as it was made to a state in which no tool that is given its key takes it."""
        states = self._sets(tool, entity)
        asked = self._asked(tool, entity)
        made = {text for maker in self._writes for text in self._made_in(maker, entity)}
        if not states or (asked and made and not asked & made):
            return False
        return not any(states & self._asked(other, entity) for other in self._onward(entity) if other is not tool)

    def _made_in(self, maker: Tool, entity: Entity) -> Iterator[str]:
        for statement in (parse(effect.sql) for effect in maker.effects):
            if statement.target == entity.table:
                for column, value in statement.inserted:
                    yield from _states(entity, column or "") & {*_texts(value)}

    def _asked(self, tool: Tool, entity: Entity) -> set[str]:
        """The states of the row that it is given the key of which a tool's guards ask for."""
        keys = {one.name for one in tool.parameters if (one.refers_to or "").partition(".")[0] == entity.name}
        found: set[str] = set()
        for guard in tool.guards:
            if keys and keys.isdisjoint(bound_names(guard.holds)):
                continue
            for test in parse(f"SELECT (\n{guard.holds}\n)").tree.find_all(exp.EQ, exp.In):
                if not isinstance(test.parent, exp.Not):
                    columns = (
                        column for column in test.find_all(exp.Column) if table_of_column(column) == entity.table
                    )
                    found |= set().union(*(_states(entity, column.name) for column in columns)) & {*_texts(test)}
        return found

    def _settles(self, tool: Tool) -> bool:
        """Whether a tool writes what it is told into the record of the caller."""
        return any(
            isinstance(change, exp.EQ) and isinstance(change.right.unnest(), exp.Placeholder)
            for tree in (parse(effect.sql).tree for effect in tool.effects)
            if isinstance(tree, exp.Update) and tree.this.name == self._blueprint.core.table
            for change in tree.expressions
        )


def _states(entity: Entity, column: str) -> set[str]:
    return {text for one in entity.attributes if one.name == column for text in one.enum or ()}


def _texts(tree: exp.Expr) -> Iterator[str]:
    return (str(literal.this) for literal in tree.find_all(exp.Literal) if literal.is_string)


def _is_insert(sql: str) -> bool:
    return isinstance(parse(sql).tree, exp.Insert)


LEANING = 1.1
"""How much persons differ in what they use (deviation of the logarithm of a tool's weight)."""
USES = 0.75
"""Share of the tools that one person uses at all; what nobody has touched is there for tasks."""
AGAIN = 0.2
"""How often somebody asks for the same once more."""
ONWARD = 0.5
"""How often somebody goes on with what a call has just shown: pays what was booked, uses what was granted."""
RETURNS = 0.6
"""How often somebody comes back to it within days."""
WITHIN_HOURS = (2, 80)
"""When, after the first call."""
DUE = 0.9
"""How often somebody comes back on the day that a call has shown: to collect, to begin, to give back."""
LATE_HOURS = 36
"""Until when: on the day or the next; for a time of day it is as long before."""
SHARE = {"undoes": 0.12, "ends": 0.12, "changes": 0.3, "adds": 0.6, "settles": 0.3}
"""Of the rows that people make, or of the people: how many meet with what one tool does, by its part ..."""
SELDOM = 0.03
"""... and how often somebody wants it beyond that."""
RESTLESS = 0.15
"""Share of the people who do so readily, until it has been done twice as often: they meet the limits of rules."""
CARELESS, CARE = 0.25, 0.5
"""Share of the people who come back to what they began so much more rarely."""
ONCE_MORE = 0.15
"""How often what is on record of somebody is changed a second time; a third time is rarer by as much."""


class ToolRequest(NamedTuple):
    """A tool that somebody wants, with the arguments that are settled."""

    tool: Tool
    fixed: Mapping[str, Value]


@dataclass
class SimulatedPeople:
    """The persons of one world."""

    blueprint: Blueprint
    callers: Sequence[str]
    """Their keys, the most active first."""
    random: Random
    succeeded: Mapping[str, int]
    """Write tool -> calls that succeeded so far."""
    writes: list[Tool] = field(init=False)
    _settled: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Caller and tool -> calls that changed what is on record of them."""

    def __post_init__(self) -> None:
        self._parts = tool_roles(self.blueprint)
        self.writes = [tool for tool in self.blueprint.tools if tool.kind == "write"]
        self._leanings = {
            caller: [self.random.lognormvariate(0, LEANING) * (self.random.random() < USES) for _ in self.writes]
            for caller in self.callers
        }
        self._onward = {tool.name: follow_up_writes(self.blueprint, tool) for tool in self.writes}
        self._restless = {*self.random.sample(self.callers, round(RESTLESS * len(self.callers)))}
        self._careless = {*self.random.sample(self.callers, round(CARELESS * len(self.callers)))}

    def visitor(self) -> str:
        """Somebody who gets in touch."""
        return self.random.choices(self.callers, [visit_weight(place) for place in range(1, len(self.callers) + 1)])[0]

    def request(self, caller: str) -> ToolRequest | None:
        """What somebody asks for out of the blue; None where they think better of it."""
        # Tools that have rarely come about are tried more often, and those that lead to them: no corner stays unused.
        rare = [
            max(self._rarity(tool), *(self._rarity(ahead) / 2 for ahead, _, _ in self._onward[tool.name]), 0.0)
            for tool in self.writes
        ]
        weights = [weight * leaning for weight, leaning in zip(rare, self._leanings[caller], strict=True)]
        tool = self.random.choices(self.writes, weights if any(weights) else rare)[0]
        return ToolRequest(tool, {}) if self._wants(caller, tool) else None

    def next(self, caller: str, request: ToolRequest, result: CallResult) -> list[ToolRequest]:
        """What somebody asks for in the same visit after a call that succeeded: the first of these that can be had."""
        if self._parts[request.tool.name].kind == "settles":
            self._settled[caller, request.tool.name] += 1
        if self.random.random() < AGAIN:
            return [ToolRequest(request.tool, {})] if self._wants(caller, request.tool) else []
        return self._goes_on(caller, request, result) if self.random.random() < ONWARD else []

    def returns(
        self, caller: str, request: ToolRequest, result: CallResult, now: datetime, *, has_more: bool
    ) -> Iterator[tuple[datetime, list[ToolRequest]]]:
        """When somebody comes back to what a call has shown, and for what."""
        care = CARE if caller in self._careless else 1.0
        if not has_more and self.random.random() < RETURNS * care:
            later = now + timedelta(minutes=self.random.randint(*(60 * hours for hours in WITHIN_HOURS)))
            yield later, self._goes_on(caller, request, result)
        days = sorted(_ahead(result, now))
        if days and self.random.random() < DUE * care:
            first, is_time = days[0]
            late = timedelta(minutes=self.random.randint(0, 60 * LATE_HOURS))
            moment = first - late if is_time else first + late
            yield moment, self._goes_on(caller, request, result, is_over=moment >= days[-1][0])

    def _wants(self, caller: str, tool: Tool, after: Tool | None = None, *, is_over: bool = False) -> bool:
        """Whether somebody does want it: few end what they have begun, or change it; what is over, ends."""
        part = self._parts[tool.name]
        if part.kind == "goes on" or (part.kind == "ends" and is_over and after and self._is_of_same(after, part)):
            return True
        if self.random.random() >= ONCE_MORE ** self._settled[caller, tool.name]:
            return False
        rows = sum(self.succeeded[maker] for maker in part.makers) if part.makers else len(self.callers)
        most = SHARE[part.kind] * rows * (2 if caller in self._restless else 1)
        return self.succeeded[tool.name] < most or self.random.random() < SELDOM

    def _is_of_same(self, tool: Tool, part: ToolRole) -> bool:
        """Whether the rows that a tool makes or changes are those of which this is a part."""
        return tool.name in part.makers or self._parts[tool.name].makers == part.makers

    def _goes_on(
        self, caller: str, request: ToolRequest, result: CallResult, *, is_over: bool = False
    ) -> list[ToolRequest]:
        found = []
        for tool, parameter, column in self._onward[request.tool.name]:
            value = result.value.get(column) if isinstance(result.value, dict) else None
            if isinstance(value, str) and self._wants(caller, tool, request.tool, is_over=is_over):
                # The smaller, the earlier: a weighted order without repeats.
                found.append((self.random.expovariate(self._rarity(tool)), tool.name, parameter, tool, value))
        return [
            ToolRequest(tool, {parameter: value}) for _, _, parameter, tool, value in sorted(found, key=lambda f: f[:3])
        ]

    def _rarity(self, tool: Tool) -> float:
        return float((1 + self.succeeded[tool.name]) ** -0.5)


def _ahead(result: CallResult, now: datetime) -> Iterator[tuple[datetime, bool]]:
    """The days and times to come that a result shows, each with whether it is a time of day."""
    for value in result.value.values() if isinstance(result.value, dict) else ():
        day = day_of(value) if isinstance(value, str) else None
        if day is not None and day > now:
            yield day, len(str(value)) > 10


def follow_up_writes(blueprint: Blueprint, tool: Tool) -> list[tuple[Tool, str, str]]:
    """(tool, parameter, column): writes that can go on with a row which the tool's result shows."""
    shown = keys_shown(blueprint, tool)
    return [
        (other, parameter.name, column)
        for other in blueprint.tools
        if other.kind == "write" and other.name != tool.name
        for parameter in other.parameters
        if parameter.refers_to
        for column in sorted(shown.get(parameter.refers_to.partition(".")[0], set()))
    ]
