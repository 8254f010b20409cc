"""The planner's problem: what the user says, what the session provides, the goal, and what is known in a state.

The problem never contains the golden calls, so that the planner finds its own solution.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from pydantic import Field

from skillweave.schema.combination import Combination
from skillweave.schema.contract import CallResult, Parameter, RowChange, Tool
from skillweave.schema.criteria import Criteria, FactToTell
from skillweave.schema.record import Json, Value
from skillweave.world.canonical import prefix_of
from skillweave.world.session import ContractSession
from skillweave.world.world import World
from synth.contracts.wording import value_type
from synth.engine.step import Params
from synth.search.slots import Slot
from synth.tasks.criteria import KnownValue, said_by_user
from synth.tasks.replay import rows_of

Columns = Mapping[str, Json]
"""Columns of a row, with their values."""

Cell = tuple[str, type, Json]
"""Column, type and value."""


class PlannerBounds(NamedTuple):
    """Bounds of a search. Beyond `calls` the goal is `not_reached`; beyond `expansions` it is `undecided`."""

    calls: int = 6
    """Most writes of one plan."""
    expansions: int = 1500
    """Most calls made and guards looked up in one search."""


DEFAULT_BOUNDS = PlannerBounds()
WIDEST_BOUNDS = PlannerBounds(calls=20, expansions=100_000)
"""The largest bounds allowed, with which the search of one task takes minutes."""


class PlannerParams(Params):
    """How far each task's planner looks, for the steps that put tasks through the gates."""

    planner_calls: int = Field(default=DEFAULT_BOUNDS.calls, ge=1, le=WIDEST_BOUNDS.calls)
    """Writes of a plan that the planner looks for, at most."""
    planner_expansions: int = Field(default=DEFAULT_BOUNDS.expansions, ge=1, le=WIDEST_BOUNDS.expansions)
    """Calls that the planner makes, and guards that it looks up, for one task, at most; then it is undecided."""

    @property
    def bounds(self) -> PlannerBounds:
        """The parameters as bounds for the planner."""
        return PlannerBounds(self.planner_calls, self.planner_expansions)


class BudgetExhausted(Exception):
    """The search met the bound on expansions."""


@dataclass
class ExpansionBudget:
    """Counts expansions up to a bound."""

    most: int | None = None
    """None if there is no bound."""
    used: int = 0

    def spend(self) -> None:
        """Count one expansion. Raises BudgetExhausted if none is left."""
        if self.most is not None and self.used >= self.most:
            raise BudgetExhausted
        self.used += 1


@dataclass(frozen=True)
class PlanningProblem:
    world: World
    caller: str | None
    """Who the channel has signed in; None if the agent has to identify the user."""
    now: str
    patch: Sequence[RowChange]
    hidden: frozenset[str]
    credentials: Columns
    """The credentials that the user gives."""
    rows: tuple[Columns, ...]
    """The columns that the user knows of each row that they mention."""
    said: tuple[KnownValue, ...]
    """All values that the user states."""
    ends: tuple[Sequence[RowChange], ...]
    """The right end states, as differences from the initial state."""
    tell: tuple[FactToTell, ...]
    """The facts that the user wants to know."""

    @property
    def tools(self) -> list[Tool]:
        """The tools that are offered."""
        return [tool for tool in self.world.blueprint.tools if tool.name not in self.hidden]

    @cached_property
    def prefixes(self) -> dict[str, str]:
        """Prefix of a key -> its entity."""
        return {prefix_of(entity): entity.name for entity in self.world.blueprint.tables}

    def open(self) -> ContractSession:
        """Open a session as the task does."""
        return self.world.session(caller=self.caller, now=self.now, patch=self.patch, hidden=self.hidden)

    def meant(self, rows: Sequence[Columns]) -> list[Columns]:
        """The rows, all of the same columns, that may be ones that the user mentions."""
        shown: Columns = rows[0] if rows else {}
        known = [[(name, value) for name, value in columns.items() if name in shown] for columns in self.rows]
        known = [columns for columns in known if columns]
        return [row for row in rows if any(all(row[name] == value for name, value in columns) for columns in known)]


def problem_of(world: World, combination: Combination, criteria: Criteria) -> PlanningProblem:
    """The planning problem of a combination."""
    rows = {repr(sorted(row.columns.items())): row.columns for row in combination.rows if row.columns}
    return PlanningProblem(
        world=world,
        caller=combination.caller if combination.login == "session" else None,
        now=combination.now,
        patch=combination.patch,
        hidden=frozenset(combination.hidden),
        credentials=combination.credentials,
        rows=tuple(rows[text] for text in sorted(rows)),
        said=tuple(sorted(set(map(_hashable, said_by_user(combination))), key=repr)),
        ends=(criteria.state, *criteria.any_of),
        tell=tuple(part for fact in criteria.communicate for part in _shown_parts(fact)),
    )


def _shown_parts(fact: FactToTell) -> list[FactToTell]:
    """What results have to show for a fact, as facts of their own: what it is computed from, or its value."""
    return [fact.model_copy(update={"values": values, "parts": []}) for values in fact.shown]


def _hashable(known: KnownValue) -> KnownValue:
    return known if isinstance(known.value, (str, int, float, bool)) else KnownValue(known.name, str(known.value))


MOST_KEYS = 400
"""Most keys of one entity to try for an argument."""
MOST_VALUES = 300
"""Most values to try for an argument that is no key."""


class ShownResult:
    """The result of one call."""

    def __init__(self, problem: PlanningProblem, result: CallResult) -> None:
        self._prefixes = problem.prefixes
        self.tool = result.call.tool
        self.arguments = result.call.arguments
        self.rows: Sequence[Columns] = rows_of(result)
        self.meant = problem.meant(self.rows) if isinstance(result.value, list) else self.rows
        """Rows that the user mentions, or the only row of a result."""

    @cached_property
    def near(self) -> dict[Cell, None]:
        """The different cells of the rows that the user may mean, in order."""
        return _different_cells(self.meant)

    @cached_property
    def cells(self) -> list[KnownValue]:
        """The cells of all rows."""
        return [KnownValue(name, value) for row in self.rows for name, value in row.items() if value is not None]

    @cached_property
    def meant_keys(self) -> dict[str, dict[str, None]]:
        """Entity -> the keys in the rows that the user may mean, in order."""
        return self._keys(self.meant)

    @cached_property
    def keys(self) -> dict[str, dict[str, None]]:
        """Entity -> the keys in all rows, in order."""
        return self._keys(self.rows)

    def _keys(self, rows: Sequence[Columns]) -> dict[str, dict[str, None]]:
        by_entity: dict[str, dict[str, None]] = {}
        for text in dict.fromkeys(value for row in rows for value in row.values() if isinstance(value, str)):
            entity = self._prefixes.get(text.rpartition("-")[0])
            if entity is not None:
                by_entity.setdefault(entity, {})[text] = None
        return by_entity

    def shows(self, value: Json, *, meant: bool = False) -> bool:
        """Whether a row holds the value, or a time on that day; `meant` looks only at rows that the user may mean."""
        shown, days = self._meant_values if meant else self._values
        if isinstance(value, (list, dict)):
            return False
        return (isinstance(value, bool), value) in shown or (value in days and value_type(value) == "date")

    @cached_property
    def _values(self) -> tuple[Container[object], Container[object]]:
        return _values_and_days(self.rows)

    @cached_property
    def _meant_values(self) -> tuple[Container[object], Container[object]]:
        return _values_and_days(self.meant)


def _values_and_days(rows: Sequence[Columns]) -> tuple[Container[object], Container[object]]:
    """The values in rows, each with whether it is true or false, and what stands before the times in them."""
    values = {(isinstance(value, bool), value) for row in rows for value in row.values() if value is not None}
    return values, {text[:10] for _, text in values if isinstance(text, str) and text[10:11] == " "}


def _different_cells(rows: Sequence[Columns]) -> dict[Cell, None]:
    cells = ((name, type(value), value) for row in rows for name, value in row.items() if value is not None)
    return dict.fromkeys(cells)


@dataclass(frozen=True)
class Knowledge:
    """All that an agent knows in a state."""

    problem: PlanningProblem
    readings: Sequence[ShownResult]
    """The results of reads so far."""
    results: Sequence[ShownResult] = ()
    """The results of the writes so far."""

    @cached_property
    def keys(self) -> dict[str, dict[str, None]]:
        """Entity -> keys that calls have shown; rows that the user may mean come first."""
        return _together([*self._meant_keys, *(reading.keys for reading in self.readings)])

    @cached_property
    def meant(self) -> dict[str, dict[str, None]]:
        """Entity -> keys of the rows that the user may mean, and of rows that writes returned."""
        return _together(self._meant_keys)

    @property
    def _meant_keys(self) -> list[dict[str, dict[str, None]]]:
        return [*(result.keys for result in self.results), *(reading.meant_keys for reading in self.readings)]

    def values(self, slot: Slot) -> list[Value]:
        """Values to try for a parameter; None comes first if the parameter is optional."""
        parameter = slot.parameter
        candidates: Iterable[Value]
        if parameter.refers_to:
            candidates = list(self.keys.get(parameter.refers_to.partition(".")[0], {}))[:MOST_KEYS]
        elif parameter.enum:
            candidates = parameter.enum
        elif parameter.type == "boolean":
            candidates = (True, False)
        else:
            candidates = self._plain(slot)[:MOST_VALUES]
        return list(dict.fromkeys([*(() if parameter.required else (None,)), *candidates]))

    def _plain(self, slot: Slot) -> list[Value]:
        parameter = slot.parameter
        said = self.problem.said
        named = [known for known in said if known.name == parameter.name]
        shown = self._texts if parameter.type in ("string", "date", "datetime") else self._numbers(parameter)
        values = [_as(value, parameter) for value in (*(known.value for known in (*named, *said)), *shown)]
        if parameter.type in ("integer", "number"):
            values += [int(number) if number == int(number) else number for number in slot.literals]
        return list({(type(value), value): value for value in values if value is not None}.values())

    def _numbers(self, parameter: Parameter) -> list[Json]:
        return [value for name, _, value in self._near if _may_give(name, parameter)]

    @cached_property
    def _texts(self) -> Iterable[Json]:
        """The different texts among the values most likely to be used."""
        return dict.fromkeys(value for _, kind, value in self._near if kind is str)

    @cached_property
    def _near(self) -> dict[Cell, None]:
        """The values most likely to be used, once each: results of writes, then rows that the user may mean."""
        near: dict[Cell, None] = {}
        for result in self.results:
            near |= _different_cells(result.rows)
        for reading in self.readings:
            near |= reading.near
        return near


def _together(keys: Iterable[dict[str, dict[str, None]]]) -> dict[str, dict[str, None]]:
    together: dict[str, dict[str, None]] = {}
    for by_entity in keys:
        for entity, found in by_entity.items():
            together.setdefault(entity, {}).update(found)
    return together


def _may_give(name: str, parameter: Parameter) -> bool:
    """Whether a returned value fits a number: amounts of money fit each other, other numbers only by name."""
    both = name.endswith("_cents") and parameter.name.endswith("_cents")
    return parameter.type in ("integer", "number") and (both or name == parameter.name)


def _as(value: Json, parameter: Parameter) -> Value:
    """The value as an argument; None if its type does not fit."""
    kind = value_type(value)
    if isinstance(value, (list, dict)) or value is None:
        return None
    match parameter.type:
        case "date":
            return str(value)[:10] if kind in ("date", "datetime") else None
        case "datetime" | "integer":
            return value if kind == parameter.type else None
        case "number":
            return value if kind in ("integer", "number") else None
        case "string":
            return value if isinstance(value, str) else None
        case _:
            return None
