"""A problem for the planner: what the user says, what the session gives, and the goal; never the golden calls.

Made from a combination by leaving out all that says how it is done: the calls, their places, and the keys of rows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from pydantic import Field

from skillweave.schema.change import RowChange
from skillweave.schema.combination import Combination
from skillweave.schema.contract import Tool
from skillweave.schema.record import Json
from skillweave.schema.task import Criteria, FactToTell
from skillweave.world.ids import prefix_of
from skillweave.world.session import ContractSession
from skillweave.world.world import World
from synth.gates.known import Known, said_by_user
from synth.step import Params

Columns = Mapping[str, Json]
"""Columns of a row, with their values."""


class Bounds(NamedTuple):
    """How far the planner looks. What lies beyond `calls` is not reached; beyond `expansions` it is undecided."""

    calls: int = 6
    """Writes of one plan, at most."""
    expansions: int = 1500
    """Calls made and guards looked up in one search, at most."""


BOUNDS = Bounds()
MOST = Bounds(calls=20, expansions=100_000)
"""No search is wider, whoever asks for it: that of one task takes minutes then."""


class PlannerParams(Params):
    """How far each task's planner looks, for the steps that put tasks through the gates."""

    planner_calls: int = Field(default=BOUNDS.calls, ge=1, le=MOST.calls)
    """Writes of a plan that the planner looks for, at most."""
    planner_expansions: int = Field(default=BOUNDS.expansions, ge=1, le=MOST.expansions)
    """Calls that the planner makes, and guards that it looks up, for one task, at most; then it is undecided."""

    @property
    def bounds(self) -> Bounds:
        """As the planner takes them."""
        return Bounds(self.planner_calls, self.planner_expansions)


class Exhausted(Exception):
    """The bound on expansions is met."""


@dataclass
class Budget:
    """Expansions, counted."""

    most: int | None = None
    """None: no bound of its own."""
    used: int = 0

    def spend(self) -> None:
        """Count one; Exhausted where there is none left."""
        if self.most is not None and self.used >= self.most:
            raise Exhausted
        self.used += 1


@dataclass(frozen=True)
class Problem:
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
    said: tuple[Known, ...]
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


def problem_of(world: World, combination: Combination, criteria: Criteria) -> Problem:
    """The problem behind a combination."""
    rows = {repr(sorted(row.columns.items())): row.columns for row in combination.rows if row.columns}
    return Problem(
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


def _hashable(known: Known) -> Known:
    return known if isinstance(known.value, (str, int, float, bool)) else Known(known.name, str(known.value))
