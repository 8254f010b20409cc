"""Invariants while a history is lived: only those that read what was just written are asked again.

An invariant that held before can only have been broken by a change of a table that it reads, so nothing is missed.
"""

import sqlite3
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from sqlglot import exp

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import Invariant
from skillweave.world.session import ContractSession
from skillweave.world.sql import parse
from skillweave.world.world import World

TOO_LONG = "its SQL takes far too long, as joins do that no condition ties together; let it look at fewer rows"
Part = Literal["tool", "invariant", "event"]
Charged = Callable[[Part, str], AbstractContextManager[object]]
"""In it SQL is run for that part of a contract, of that name."""


def _free(_part: Part, _name: str) -> AbstractContextManager[object]:
    return nullcontext()


class Broken(NamedTuple):
    """An invariant that does not hold, or cannot be asked."""

    invariant: str
    """Its id."""
    says: str

    def __str__(self) -> str:
        return self.says


class ContractBroken(Exception):
    """A blueprint does not keep its word: something is true that must never be, or a part of it cannot be run."""

    def __init__(self, part: Part, name: str, says: str) -> None:
        super().__init__(says)
        self.part = part
        self.name = name


@dataclass
class Watch:
    """Watches the invariants of one blueprint."""

    blueprint: Blueprint
    _read: dict[str, frozenset[str]] = field(init=False)

    def __post_init__(self) -> None:
        self._read = {
            invariant.id: frozenset(table.name for table in parse(invariant.never).tree.find_all(exp.Table))
            for invariant in self.blueprint.invariants
        }

    def broken(
        self, session: ContractSession, written: Iterable[str] | None = None, charged: Charged = _free
    ) -> Broken | None:
        """An invariant that does not hold, with a row that shows it, or whose SQL fails; None where all hold.

        `written`: statements that have run since all held; None: anything may have changed. Each is asked in `charged`.
        """
        tables = None if written is None else frozenset(parse(sql).target or "" for sql in written)
        for invariant in self.blueprint.invariants:
            if tables is None or self._read[invariant.id] & tables:
                with charged("invariant", invariant.id):
                    broken = _broken(session, invariant)
                if broken:
                    return broken
        return None


def _broken(session: ContractSession, invariant: Invariant) -> Broken | None:
    says = f" ({invariant.says!r})" if invariant.says else ""
    try:
        rows = session.query(f"SELECT * FROM (\n{invariant.never}\n) LIMIT 1")
    except sqlite3.Error as error:
        return Broken(invariant.id, f"invariant {invariant.id}{says} cannot be asked: {why(error)}")
    if not rows:
        return None
    found = f"invariant {invariant.id}{says} is broken: its query must find no row and finds {rows[0]}"
    return Broken(invariant.id, found)


def why(error: sqlite3.Error) -> str:
    """Why SQL failed while it ran, in words for its author."""
    return TOO_LONG if str(error) == "interrupted" else f"its SQL fails: {error}"


def broken_invariant(session: ContractSession, blueprint: Blueprint) -> Broken | None:
    """The first invariant that does not hold in a session's state, with a row that shows it; None where all hold."""
    return Watch(blueprint).broken(session)


def all_broken(state: sqlite3.Connection, blueprint: Blueprint) -> list[Broken]:
    """Every invariant that does not hold of these rows, whose references are sound."""
    world = World(blueprint, state, now="2000-01-01 00:00:00")  # Invariants do not ask for the time.
    with world.session() as session:
        return [broken for one in blueprint.invariants if (broken := _broken(session, one))]
