"""Invariants while a history is lived: only those that read what was just written are asked again.

An invariant that held before can only have been broken by a change of a table that it reads, so nothing is missed.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from sqlglot import exp

from skillweave.schema.blueprint import Blueprint
from skillweave.world.session import ContractSession
from skillweave.world.sql import parse


class Broken(NamedTuple):
    """An invariant that does not hold."""

    invariant: str
    """Its id."""
    says: str

    def __str__(self) -> str:
        return self.says


class InvariantBroken(Exception):
    """A call or an event made something true that must never be."""

    def __init__(self, invariant: str, says: str) -> None:
        super().__init__(says)
        self.invariant = invariant


@dataclass
class Watch:
    """Watches the invariants of one blueprint."""

    blueprint: Blueprint
    _read: dict[str, frozenset[str]] = field(init=False)
    _queries: dict[frozenset[str], tuple[str, list[str]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._read = {
            invariant.id: frozenset(table.name for table in parse(invariant.never).tree.find_all(exp.Table))
            for invariant in self.blueprint.invariants
        }

    def broken(self, session: ContractSession, written: Iterable[str] | None = None) -> Broken | None:
        """An invariant that does not hold, with a row that shows it; None where all hold.

        `written`: statements that have run since all held; None: anything may have changed.
        """
        tables = None if written is None else frozenset(parse(sql).target or "" for sql in written)
        query, asked = self._query(tables)
        if not asked:
            return None
        answers = session.query(query)[0]
        for invariant in self.blueprint.invariants:
            if invariant.id in asked and answers[invariant.id]:
                row = session.query(f"SELECT * FROM ({invariant.never}) LIMIT 1")[0]
                says = f" ({invariant.says!r})" if invariant.says else ""
                found = f"invariant {invariant.id}{says} is broken: its query must find no row and finds {row}"
                return Broken(invariant.id, found)
        return None

    def _query(self, tables: frozenset[str] | None) -> tuple[str, list[str]]:
        key = frozenset({"*"}) if tables is None else tables
        if key not in self._queries:
            asked = [one for one in self.blueprint.invariants if tables is None or self._read[one.id] & tables]
            columns = ", ".join(f"EXISTS ({one.never}) AS {one.id}" for one in asked)
            self._queries[key] = f"SELECT {columns}", [one.id for one in asked]
        return self._queries[key]


def broken_invariant(session: ContractSession, blueprint: Blueprint) -> Broken | None:
    """The first invariant that does not hold in a session's state, with a row that shows it; None where all hold."""
    return Watch(blueprint).broken(session)
