"""The planner's problem: what the user says, what the session gives, the goal, and what is known at a moment.

The problem never contains the golden calls: the planner has to find its own way.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from pydantic import Field

from skillweave.schema.call import CallResult, RowChange
from skillweave.schema.combination import Combination
from skillweave.schema.contract import Parameter, Tool
from skillweave.schema.record import Json, Value
from skillweave.schema.task import Criteria, FactToTell
from skillweave.world.ids import prefix_of
from skillweave.world.session import ContractSession
from skillweave.world.world import World
from synth.contracts.wording import value_type
from synth.engine.step import Params
from synth.search.slots import Slot
from synth.tasks.knowledge import KnownValue, said_by_user
from synth.tasks.replay import rows_of

Columns = Mapping[str, Json]
"""Columns of a row, with their values."""


class PlannerBounds(NamedTuple):
    """How far the planner looks. What lies beyond `calls` is not reached; beyond `expansions` it is undecided."""

    calls: int = 6
    """Writes of one plan, at most."""
    expansions: int = 1500
    """Calls made and guards looked up in one search, at most."""


DEFAULT_BOUNDS = PlannerBounds()
WIDEST_BOUNDS = PlannerBounds(calls=20, expansions=100_000)
"""No search is wider, whoever asks for it: that of one task takes minutes then."""


class PlannerParams(Params):
    """How far each task's planner looks, for the steps that put tasks through the gates."""

    planner_calls: int = Field(default=DEFAULT_BOUNDS.calls, ge=1, le=WIDEST_BOUNDS.calls)
    """Writes of a plan that the planner looks for, at most."""
    planner_expansions: int = Field(default=DEFAULT_BOUNDS.expansions, ge=1, le=WIDEST_BOUNDS.expansions)
    """Calls that the planner makes, and guards that it looks up, for one task, at most; then it is undecided."""

    @property
    def bounds(self) -> PlannerBounds:
        """As the planner takes them."""
        return PlannerBounds(self.planner_calls, self.planner_expansions)


class BudgetExhausted(Exception):
    """The bound on expansions is met."""


@dataclass
class ExpansionBudget:
    """Expansions, counted."""

    most: int | None = None
    """None: no bound of its own."""
    used: int = 0

    def spend(self) -> None:
        """Count one; Exhausted where there is none left."""
        if self.most is not None and self.used >= self.most:
            raise BudgetExhausted
        self.used += 1


@dataclass(frozen=True)
class PlanningProblem:
    world: World
    caller: str | None
    """Who the channel has signed in; None: the user has to be identified."""
    now: str
    patch: Sequence[RowChange]
    hidden: frozenset[str]
    credentials: Columns
    """What the user gives to be identified."""
    rows: tuple[Columns, ...]
    """What the user knows of each row that they speak of."""
    said: tuple[KnownValue, ...]
    """All that the user says."""
    ends: tuple[Sequence[RowChange], ...]
    """End states that are right, as differences."""
    tell: tuple[FactToTell, ...]
    """What is to be found out."""

    @property
    def tools(self) -> list[Tool]:
        """The tools that are offered."""
        return [tool for tool in self.world.blueprint.tools if tool.name not in self.hidden]

    @cached_property
    def prefixes(self) -> dict[str, str]:
        """What a key begins with -> the entity of which it is a key."""
        return {prefix_of(entity): entity.name for entity in self.world.blueprint.tables}

    def open(self) -> ContractSession:
        """A session as the task will open it."""
        return self.world.session(caller=self.caller, now=self.now, patch=self.patch, hidden=self.hidden)

    def is_meant(self, row: Columns) -> bool:
        """Whether a row shown may be one that the user speaks of."""
        return any(
            any(column in row for column in columns)
            and all(row[column] == value for column, value in columns.items() if column in row)
            for columns in self.rows
        )


def problem_of(world: World, combination: Combination, criteria: Criteria) -> PlanningProblem:
    """The problem behind a combination."""
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
"""Keys of one entity that an argument ranges over."""
MOST_VALUES = 300
"""Values that an argument which is no key ranges over."""


class ShownResult:
    """What one call returned."""

    def __init__(self, problem: PlanningProblem, result: CallResult) -> None:
        self.tool = result.call.tool
        self.arguments = result.call.arguments
        self.rows = rows_of(result)
        is_one = not isinstance(result.value, list)
        self.meant = [row for row in self.rows if is_one or problem.is_meant(row)]
        """Rows that the user speaks of, and the one row of a result that has only one."""

    @cached_property
    def near(self) -> list[KnownValue]:
        """The cells of the rows that are meant."""
        return [KnownValue(name, value) for row in self.meant for name, value in row.items() if value is not None]

    @cached_property
    def cells(self) -> list[KnownValue]:
        """All cells."""
        return [KnownValue(name, value) for row in self.rows for name, value in row.items() if value is not None]

    def shows(self, value: Json, *, meant: bool = False) -> bool:
        """Whether a row, of those meant or of all, holds the value, or the moment on a day that is asked for."""
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
    """All that is known at a moment."""

    problem: PlanningProblem
    readings: Sequence[ShownResult]
    """What reads show, or have shown."""
    results: Sequence[ShownResult] = ()
    """What the writes on the way returned."""

    @cached_property
    def keys(self) -> dict[str, dict[str, None]]:
        """Entity -> keys that calls have shown, those of rows that are meant first."""
        keys: dict[str, dict[str, None]] = {}
        for known in [*self._near, *(known for reading in self.readings for known in reading.cells)]:
            entity = self._entity_of(known.value)
            if entity is not None:
                keys.setdefault(entity, {})[str(known.value)] = None
        return keys

    @cached_property
    def meant(self) -> dict[str, dict[str, None]]:
        """The same of rows that are meant, and of what writes returned."""
        keys: dict[str, dict[str, None]] = {}
        for known in self._near:
            entity = self._entity_of(known.value)
            if entity is not None:
                keys.setdefault(entity, {})[str(known.value)] = None
        return keys

    def values(self, slot: Slot) -> list[Value]:
        """What a parameter ranges over; NULL first where it may be left out."""
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
        """What is at hand: what writes returned, then rows that are meant."""
        cells = [known for result in self.results for known in result.cells]
        return [*cells, *(known for reading in self.readings for known in reading.near)]

    def _entity_of(self, value: Json) -> str | None:
        if not isinstance(value, str):
            return None
        return self.problem.prefixes.get(value.rpartition("-")[0])


def _may_give(known: KnownValue, parameter: Parameter) -> bool:
    """Whether a value that a call returned may be meant by a parameter: money is money, other numbers have names."""
    match parameter.type:
        case "integer" | "number":
            both = known.name.endswith("_cents") and parameter.name.endswith("_cents")
            return both or known.name == parameter.name
        case "string" | "date" | "datetime":
            return isinstance(known.value, str)
        case _:
            return False


def _as(value: Json, parameter: Parameter) -> Value:
    """The value as an argument; None where its type does not fit."""
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
