"""The simulated persons of a history: what each tends to do, and how one request leads to another.

People differ: some never pay, some book all the time. So the data hold debts, used-up quotas and unfinished business.
What a write tool does to the rows that people made (it ends them, changes them, adds to them) is read off the contract:
a state is a column with a list of values, and a tool that sets it moves the row on.
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

RoleKind = Literal["continues", "cancels", "ends", "changes", "adds", "updates_caller"]


@dataclass(frozen=True)
class ToolRole:
    """What a write tool does to the rows that people made."""

    kind: RoleKind = "continues"
    """`cancels`: it ends a row that other tools would continue. `ends`: it ends a row that no other tool continues.
    `changes`: it changes a row that stays open. `adds`: it makes another row for one that stays as it is.
    `updates_caller`: it changes what is on record of the caller. `continues`: everything else."""
    makers: tuple[str, ...] = ()
    """The tools that make the rows that it ends, changes or adds to."""


def tool_roles(blueprint: Blueprint) -> dict[str, ToolRole]:
    """Write tool -> its role, read off the contract."""
    return _RoleReader(blueprint).roles()


class _RoleReader:
    """Reads the roles of one blueprint's write tools off their SQL."""

    def __init__(self, blueprint: Blueprint) -> None:
        self._blueprint = blueprint
        self._writes = [tool for tool in blueprint.tools if tool.kind == "write"]
        self._made_by_tool = {tool.name: self._entity_made(tool) for tool in self._writes}

    def roles(self) -> dict[str, ToolRole]:
        return {tool.name: self._role(tool) for tool in self._writes}

    def _role(self, tool: Tool) -> ToolRole:
        made_entity = self._made_by_tool[tool.name]
        for entity in self._entities_changed(tool):
            makers = self._makers(entity)
            if made_entity or not makers:
                continue
            if self._ends_rows(tool, entity):
                is_continued = any(self._made_by_tool[other.name] for other in self._writes_about(entity))
                return ToolRole("cancels" if is_continued else "ends", makers)
            if not self._states_set(tool, entity):
                return ToolRole("changes", makers)
        if self._updates_caller(tool):
            return ToolRole("updates_caller")
        references = [
            parameter.refers_to for parameter in tool.parameters if parameter.refers_to and parameter.required
        ]
        named = [self._blueprint.target(reference)[0] for reference in references]
        changed = [entity.name for entity in self._entities_changed(tool)]
        parents = [
            entity for entity in named if self._makers(entity) and entity.name not in changed and not has_rows(entity)
        ]
        return ToolRole("adds", self._makers(parents[0])) if made_entity and parents else ToolRole()

    def _makers(self, entity: Entity) -> tuple[str, ...]:
        return tuple(name for name, made in self._made_by_tool.items() if made == entity.name)

    def _entity_made(self, tool: Tool) -> str | None:
        """The entity whose rows a tool makes: it inserts them, and its result is about them."""
        inserted_tables = {
            parse(effect.sql).target for effect in tool.effects if isinstance(parse(effect.sql).tree, exp.Insert)
        }
        subject = subject_entity(self._blueprint, tool)
        return subject if subject and self._blueprint.entity(subject).table in inserted_tables else None

    def _entities_changed(self, tool: Tool) -> Iterator[Entity]:
        """The entities of which a tool changes the row whose key it is given; without a key, the caller's rows."""
        named = {(parameter.refers_to or "").partition(".")[0] for parameter in tool.parameters if parameter.refers_to}
        written = {parse(effect.sql).target for effect in tool.effects if not _is_insert(effect.sql)}
        for entity in self._blueprint.tables:
            if (
                entity.table in written
                and entity.name != self._blueprint.core_entity
                and (entity.name in named or not named)
            ):
                yield entity

    def _writes_about(self, entity: Entity) -> list[Tool]:
        return [tool for tool in self._writes if entity in self._entities_changed(tool)]

    def _states_set(self, tool: Tool, entity: Entity) -> set[str]:
        """The states to which a tool sets rows; `DELETE` if it removes them."""
        states_set: set[str] = set()
        for tree in (parse(effect.sql).tree for effect in tool.effects if parse(effect.sql).target == entity.table):
            if isinstance(tree, exp.Delete):
                states_set.add("DELETE")
            for change in tree.expressions if isinstance(tree, exp.Update) else ():
                states = _states(entity, change.left.name) if isinstance(change, exp.EQ) else set()
                states_set |= states & {*_texts(change.right)} if states else set()
        return states_set

    def _ends_rows(self, tool: Tool, entity: Entity) -> bool:
        """Whether a tool sets a row, as it was made, to a state in which no other tool accepts it."""
        states_set = self._states_set(tool, entity)
        required = self._states_required(tool, entity)
        made_states = {text for maker in self._writes for text in self._states_made(maker, entity)}
        if not states_set or (required and made_states and not required & made_states):
            return False
        return not any(
            states_set & self._states_required(other, entity)
            for other in self._writes_about(entity)
            if other is not tool
        )

    def _states_made(self, maker: Tool, entity: Entity) -> Iterator[str]:
        for statement in (parse(effect.sql) for effect in maker.effects):
            if statement.target == entity.table:
                for column, value in statement.inserted:
                    yield from _states(entity, column or "") & {*_texts(value)}

    def _states_required(self, tool: Tool, entity: Entity) -> set[str]:
        """The states in which a tool's guards accept the row whose key it is given."""
        keys = {
            parameter.name
            for parameter in tool.parameters
            if (parameter.refers_to or "").partition(".")[0] == entity.name
        }
        required: set[str] = set()
        for guard in tool.guards:
            if keys and keys.isdisjoint(bound_names(guard.holds)):
                continue
            for test in parse(f"SELECT (\n{guard.holds}\n)").tree.find_all(exp.EQ, exp.In):
                if not isinstance(test.parent, exp.Not):
                    columns = (
                        column for column in test.find_all(exp.Column) if table_of_column(column) == entity.table
                    )
                    required |= set().union(*(_states(entity, column.name) for column in columns)) & {*_texts(test)}
        return required

    def _updates_caller(self, tool: Tool) -> bool:
        """Whether a tool writes an argument into the record of the caller."""
        return any(
            isinstance(change, exp.EQ) and isinstance(change.right.unnest(), exp.Placeholder)
            for tree in (parse(effect.sql).tree for effect in tool.effects)
            if isinstance(tree, exp.Update) and tree.this.name == self._blueprint.core.table
            for change in tree.expressions
        )


def _states(entity: Entity, column: str) -> set[str]:
    return {text for attribute in entity.attributes if attribute.name == column for text in attribute.enum or ()}


def _texts(tree: exp.Expr) -> Iterator[str]:
    return (str(literal.this) for literal in tree.find_all(exp.Literal) if literal.is_string)


def _is_insert(sql: str) -> bool:
    return isinstance(parse(sql).tree, exp.Insert)


PREFERENCE_SPREAD = 1.1
"""How much persons differ in what they use: the standard deviation of the logarithm of a tool's weight."""
TOOLS_USED = 0.75
"""Share of the tools that one person uses at all, so that something untouched is left for tasks."""
REPEATS = 0.2
"""How often somebody asks for the same again."""
CONTINUES = 0.5
"""How often somebody goes on with what a call has just shown: pays what was booked, uses what was granted."""
RETURNS = 0.6
"""How often somebody comes back within days to what a call has shown."""
WITHIN_HOURS = (2, 80)
"""When they come back: hours after the first call, at least and at most."""
RETURNS_WHEN_DUE = 0.9
"""How often somebody comes back on the day that a call has shown: to collect, to begin, to give back."""
MOST_HOURS_LATE = 36
"""How many hours after the day that was shown they come at most; before it, if a time of day was shown."""
SHARE_OF_ROWS = {"cancels": 0.12, "ends": 0.12, "changes": 0.3, "adds": 0.6, "updates_caller": 0.3}
"""Role of a tool -> share of the rows (or of the people) to which it happens in the end."""
BEYOND_SHARE = 0.03
"""How often somebody asks for such a tool although that share is reached."""
EAGER = 0.15
"""Share of the people for whom that share is doubled: they meet the limits of rules."""
CARELESS, CARE = 0.25, 0.5
"""Share of the people who come back more rarely, and the factor by which they do."""
ANOTHER_UPDATE = 0.15
"""How often what is on record of somebody is changed a second time; each further time is rarer by this factor."""


class ToolRequest(NamedTuple):
    """A tool that somebody wants to use, with the arguments that are fixed."""

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
    _updates: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Caller and tool -> calls that changed what is on record of them."""

    def __post_init__(self) -> None:
        self._roles = tool_roles(self.blueprint)
        self.writes = [tool for tool in self.blueprint.tools if tool.kind == "write"]
        self._preferences = {
            caller: [
                self.random.lognormvariate(0, PREFERENCE_SPREAD) * (self.random.random() < TOOLS_USED)
                for _ in self.writes
            ]
            for caller in self.callers
        }
        self._follow_ups = {tool.name: follow_up_writes(self.blueprint, tool) for tool in self.writes}
        self._eager = {*self.random.sample(self.callers, round(EAGER * len(self.callers)))}
        self._careless = {*self.random.sample(self.callers, round(CARELESS * len(self.callers)))}

    def visitor(self) -> str:
        """Somebody who gets in touch."""
        return self.random.choices(self.callers, [visit_weight(place) for place in range(1, len(self.callers) + 1)])[0]

    def request(self, caller: str) -> ToolRequest | None:
        """What somebody asks for without an occasion; None if they decide against it."""
        # Rarely used tools, and tools that lead to them, are tried more often, so that every tool is used.
        rarities = [
            max(
                self._rarity(tool),
                *(self._rarity(follow_up) / 2 for follow_up, _, _ in self._follow_ups[tool.name]),
                0.0,
            )
            for tool in self.writes
        ]
        weights = [weight * preference for weight, preference in zip(rarities, self._preferences[caller], strict=True)]
        tool = self.random.choices(self.writes, weights if any(weights) else rarities)[0]
        return ToolRequest(tool, {}) if self._wants(caller, tool) else None

    def next(self, caller: str, request: ToolRequest, result: CallResult) -> list[ToolRequest]:
        """What somebody asks for next in the same visit.

        Args:
            caller: Their key.
            request: What they asked for.
            result: Of the call, which succeeded.

        Returns:
            Requests in order of preference; the first that can be carried out is meant.
        """
        if self._roles[request.tool.name].kind == "updates_caller":
            self._updates[caller, request.tool.name] += 1
        if self.random.random() < REPEATS:
            return [ToolRequest(request.tool, {})] if self._wants(caller, request.tool) else []
        return self._continuations(caller, request, result) if self.random.random() < CONTINUES else []

    def returns(
        self, caller: str, request: ToolRequest, result: CallResult, now: datetime, *, has_more: bool
    ) -> Iterator[tuple[datetime, list[ToolRequest]]]:
        """When somebody comes back to what a call has shown, and for what.

        Args:
            caller: Their key.
            request: What they asked for.
            result: Of the call, which succeeded.
            now: The moment of the call.
            has_more: Whether they ask for more in the same visit.

        Returns:
            Moments, each with requests in order of preference.
        """
        care = CARE if caller in self._careless else 1.0
        if not has_more and self.random.random() < RETURNS * care:
            later = now + timedelta(minutes=self.random.randint(*(60 * hours for hours in WITHIN_HOURS)))
            yield later, self._continuations(caller, request, result)
        times = sorted(_future_times(result, now))
        if times and self.random.random() < RETURNS_WHEN_DUE * care:
            first, is_time = times[0]
            delay = timedelta(minutes=self.random.randint(0, 60 * MOST_HOURS_LATE))
            moment = first - delay if is_time else first + delay
            yield moment, self._continuations(caller, request, result, is_last=moment >= times[-1][0])

    def _wants(self, caller: str, tool: Tool, after: Tool | None = None, *, is_last: bool = False) -> bool:
        """Whether somebody does want a tool: few end or change what they began, but all end what is over.

        Args:
            caller: Their key.
            tool: The tool.
            after: The tool that they used before it.
            is_last: Whether the last of the times that it showed has come.
        """
        role = self._roles[tool.name]
        if role.kind == "continues" or (
            role.kind == "ends" and is_last and after and self._concerns_same_rows(after, role)
        ):
            return True
        if self.random.random() >= ANOTHER_UPDATE ** self._updates[caller, tool.name]:
            return False
        rows = sum(self.succeeded[maker] for maker in role.makers) if role.makers else len(self.callers)
        most = SHARE_OF_ROWS[role.kind] * rows * (2 if caller in self._eager else 1)
        return self.succeeded[tool.name] < most or self.random.random() < BEYOND_SHARE

    def _concerns_same_rows(self, tool: Tool, role: ToolRole) -> bool:
        """Whether a tool makes or changes the rows that a role is about."""
        return tool.name in role.makers or self._roles[tool.name].makers == role.makers

    def _continuations(
        self, caller: str, request: ToolRequest, result: CallResult, *, is_last: bool = False
    ) -> list[ToolRequest]:
        ordered = []
        for tool, parameter, column in self._follow_ups[request.tool.name]:
            value = result.value.get(column) if isinstance(result.value, dict) else None
            if isinstance(value, str) and self._wants(caller, tool, request.tool, is_last=is_last):
                # Sorting by exponential draws gives a weighted random order without repeats.
                ordered.append((self.random.expovariate(self._rarity(tool)), tool.name, parameter, tool, value))
        return [
            ToolRequest(tool, {parameter: value})
            for _, _, parameter, tool, value in sorted(ordered, key=lambda entry: entry[:3])
        ]

    def _rarity(self, tool: Tool) -> float:
        return float((1 + self.succeeded[tool.name]) ** -0.5)


def _future_times(result: CallResult, now: datetime) -> Iterator[tuple[datetime, bool]]:
    """The days and times after `now` that a result shows, each with whether it has a time of day."""
    for value in result.value.values() if isinstance(result.value, dict) else ():
        day = day_of(value) if isinstance(value, str) else None
        if day is not None and day > now:
            yield day, len(str(value)) > 10


def follow_up_writes(blueprint: Blueprint, tool: Tool) -> list[tuple[Tool, str, str]]:
    """The writes that can continue with a row that a tool's result shows.

    Returns:
        (write, its parameter, the result's column with that parameter's value).
    """
    shown = keys_shown(blueprint, tool)
    return [
        (other, parameter.name, column)
        for other in blueprint.tools
        if other.kind == "write" and other.name != tool.name
        for parameter in other.parameters
        if parameter.refers_to
        for column in sorted(shown.get(parameter.refers_to.partition(".")[0], set()))
    ]
