"""The planner's problem: what the user says, what the session provides, the goal, and what is known in a state.

The problem never contains the golden calls, so that the planner finds its own solution.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from pydantic import Field

from skillweave.schema.combination import Combination
from skillweave.schema.contract import CallResult, Parameter, RowChange, Tool
from skillweave.schema.record import Json, Value
from skillweave.schema.task import Criteria, FactToTell
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

    def is_meant(self, row: Columns) -> bool:
        """Whether a row of a result may be one that the user mentions."""
        return any(
            any(column in row for column in columns)
            and all(row[column] == value for column, value in columns.items() if column in row)
            for columns in self.rows
        )


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
        tell=tuple(criteria.communicate),
    )


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
        self.rows = rows_of(result)
        is_one = not isinstance(result.value, list)
        self.meant = [row for row in self.rows if is_one or problem.is_meant(row)]
        """Rows that the user mentions, or the only row of a result."""

    @cached_property
    def near(self) -> list[KnownValue]:
        """The cells of the rows that the user may mean."""
        return [KnownValue(name, value) for row in self.meant for name, value in row.items() if value is not None]

    @cached_property
    def cells(self) -> list[KnownValue]:
        """The cells of all rows."""
        return [KnownValue(name, value) for row in self.rows for name, value in row.items() if value is not None]

    @cached_property
    def meant_keys(self) -> dict[tuple[str, str], None]:
        """Entity and key of each key in the rows that the user may mean, in order."""
        return self._keys(self.near)

    @cached_property
    def keys(self) -> dict[tuple[str, str], None]:
        """Entity and key of each key in all rows, in order."""
        return self._keys(self.cells)

    def _keys(self, cells: Sequence[KnownValue]) -> dict[tuple[str, str], None]:
        texts = dict.fromkeys(known.value for known in cells if isinstance(known.value, str))
        entities = ((self._prefixes.get(text.rpartition("-")[0]), text) for text in texts)
        return {(entity, text): None for entity, text in entities if entity is not None}

    def shows(self, value: Json, *, meant: bool = False) -> bool:
        """Whether a row holds the value, or a time on that day; `meant` looks only at rows that the user may mean."""
        return any(_gives(known.value, value) for known in (self.near if meant else self.cells))


def _gives(shown: Json, value: Json) -> bool:
    if isinstance(shown, bool) or isinstance(value, bool):
        return shown is value
    if shown == value:
        return True
    return (
        isinstance(shown, str) and isinstance(value, str) and value_type(value) == "date" and shown[:11] == f"{value} "
    )


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
        return _by_entity([*self._meant_keys, *(reading.keys for reading in self.readings)])

    @cached_property
    def meant(self) -> dict[str, dict[str, None]]:
        """Entity -> keys of the rows that the user may mean, and of rows that writes returned."""
        return _by_entity(self._meant_keys)

    @property
    def _meant_keys(self) -> list[Iterable[tuple[str, str]]]:
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
        shown = [known for known in self._near if _may_give(known, parameter)]
        values = [_as(known.value, parameter) for known in (*named, *said, *shown)]
        if parameter.type in ("integer", "number"):
            values += [int(number) if number == int(number) else number for number in slot.literals]
        return list({(type(value), value): value for value in values if value is not None}.values())

    @cached_property
    def _near(self) -> list[KnownValue]:
        """The values most likely to be used, once each: results of writes, then rows that the user may mean."""
        cells = [known for result in self.results for known in result.cells]
        near = [*cells, *(known for reading in self.readings for known in reading.near)]
        return [*{(known.name, type(known.value), known.value): known for known in near}.values()]


def _by_entity(keys: Iterable[Iterable[tuple[str, str]]]) -> dict[str, dict[str, None]]:
    by_entity: dict[str, dict[str, None]] = {}
    for entity, key in chain.from_iterable(keys):
        by_entity.setdefault(entity, {})[key] = None
    return by_entity


def _may_give(known: KnownValue, parameter: Parameter) -> bool:
    """Whether a returned value fits a parameter: amounts of money fit each other, other numbers only by name."""
    match parameter.type:
        case "integer" | "number":
            both = known.name.endswith("_cents") and parameter.name.endswith("_cents")
            return both or known.name == parameter.name
        case "string" | "date" | "datetime":
            return isinstance(known.value, str)
        case _:
            return False


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
