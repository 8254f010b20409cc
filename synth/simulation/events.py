"""The parts of a contract that nobody calls: invariants, and the events of the back office.

An event's weight is how readily it happens to each row that it could happen to. So what is due comes about within
days, and what is rare stays rare, however many rows there are.
"""

import math
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from random import Random
from typing import Literal, NamedTuple

from sqlglot import exp

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import Event, Invariant
from skillweave.schema.record import Row
from skillweave.world.interpreter import MAX_ROWS
from skillweave.world.session import ContractSession
from skillweave.world.sql import parse
from skillweave.world.world import World

TOO_LONG = "its SQL takes far too long, as joins do that no condition ties together; let it look at fewer rows"
ContractPart = Literal["tool", "invariant", "event"]
StepAccount = Callable[[ContractPart, str], AbstractContextManager[object]]
"""Given a part of a contract and its name: a context in which SQL runs whose steps count for that part."""


def _uncounted(_part: ContractPart, _name: str) -> AbstractContextManager[object]:
    return nullcontext()


class BrokenInvariant(NamedTuple):
    """An invariant that does not hold, or whose query fails."""

    invariant: str
    """Its id."""
    says: str
    """What is wrong, in words for its author."""

    def __str__(self) -> str:
        return self.says


class ContractBroken(Exception):
    """A contract is broken: an invariant does not hold, or a part of the contract cannot be run."""

    def __init__(self, part: ContractPart, name: str, says: str) -> None:
        super().__init__(says)
        self.part = part
        self.name = name


@dataclass
class InvariantMonitor:
    """Checks the invariants of one blueprint; after some statements only those that read what they wrote."""

    blueprint: Blueprint
    _read: dict[str, frozenset[str]] = field(init=False)
    """Invariant -> the tables that it reads."""

    def __post_init__(self) -> None:
        self._read = {
            invariant.id: self._behind(table.name for table in parse(invariant.never).tree.find_all(exp.Table))
            for invariant in self.blueprint.invariants
        }

    def _behind(self, names: Iterable[str]) -> frozenset[str]:
        """The tables, and those that views among them consist of."""
        known = frozenset(names)
        return known.union(*((view.own, view.shared) for view in self.blueprint.views if view.entity.table in known))

    def broken(
        self, session: ContractSession, written: Iterable[str] | None = None, account: StepAccount = _uncounted
    ) -> BrokenInvariant | None:
        """The first invariant that does not hold, or whose SQL fails; None if all hold.

        Args:
            session: The state to check.
            written: Statements that have run since all invariants held. None: anything may have changed.
            account: The context in which each invariant's query runs.
        """
        tables = None if written is None else self._behind(parse(sql).target or "" for sql in written)
        for invariant in self.blueprint.invariants:
            if tables is None or self._read[invariant.id] & tables:
                with account("invariant", invariant.id):
                    broken = _broken(session, invariant)
                if broken:
                    return broken
        return None


def _broken(session: ContractSession, invariant: Invariant) -> BrokenInvariant | None:
    says = f" ({invariant.says!r})" if invariant.says else ""
    try:
        rows = session.query(f"SELECT * FROM (\n{invariant.never}\n) LIMIT 1")
    except sqlite3.Error as error:
        return BrokenInvariant(invariant.id, f"invariant {invariant.id}{says} cannot be asked: {sql_failure(error)}")
    if not rows:
        return None
    fault = f"invariant {invariant.id}{says} is broken: its query must find no row and finds {rows[0]}"
    return BrokenInvariant(invariant.id, fault)


def sql_failure(error: sqlite3.Error) -> str:
    """Why SQL failed while it ran, in words for its author."""
    return TOO_LONG if str(error) == "interrupted" else f"its SQL fails: {error}"


def first_broken_invariant(session: ContractSession, blueprint: Blueprint) -> BrokenInvariant | None:
    """The first invariant that does not hold in a session's state; None if all hold."""
    return InvariantMonitor(blueprint).broken(session)


def broken_invariants(state: sqlite3.Connection, blueprint: Blueprint) -> list[BrokenInvariant]:
    """Every invariant that does not hold in this database, whose foreign keys are sound."""
    world = World(blueprint, state, now="2000-01-01 00:00:00")  # Invariants do not read the clock.
    with world.session() as session:
        return [broken for invariant in blueprint.invariants if (broken := _broken(session, invariant))]


DAILY_RATE = 0.06
"""Rate, per day and row, at which an event of weight 1 happens."""
DUE_WEIGHT = 100.0
"""Weight from which an event is due as soon as it can happen: a hold lapses, a credit expires."""


@dataclass
class BackOffice:
    """The back office of one world: it lets the contract's events happen."""

    blueprint: Blueprint
    random: Random
    happened: dict[str, int]
    """Event -> how often."""
    rate: float = 1.0
    """Factor on all rates."""

    def work(
        self,
        session: ContractSession,
        days: float,
        check: Callable[[ContractSession, Event, Row], None],
        account: StepAccount,
        *,
        least: float = 0.0,
    ) -> None:
        """Let events happen as they would in some days.

        Args:
            session: The state that they change.
            days: How much time has passed.
            check: Called after each event that changed a row, with the session, the event and the row picked.
            account: The context in which an event's SQL runs.
            least: The weight that an event must have.

        Raises:
            ContractBroken: An event cannot pick its rows, or cannot happen to a row that it picked.
        """
        for event in (event for event in self.blueprint.events if event.weight >= least):
            chance = 1 - math.exp(-event.weight * self.rate * DAILY_RATE * days)
            with account("event", event.name):
                drawn = [row for row in rows_for_event(session, event) if self.random.random() < chance]
            for row in drawn:
                with account("event", event.name):
                    happened = row in rows_for_event(session, event) and apply_event(session, event, row)
                if happened:
                    self.happened[event.name] += 1
                    check(session, event, row)


def apply_event(session: ContractSession, event: Event, row: Row) -> int:
    """Let an event happen to a row that it picked.

    Returns:
        How many rows it changed.

    Raises:
        ContractBroken: One of its effects fails.
    """
    bound = [*row.items(), ("now", session.now)]
    changed = 0
    for sql in event.effects:
        try:
            changed += session.execute(sql, {name: value for name, value in bound if f":{name}" in sql})
        except sqlite3.Error as error:
            says = f"the event {event.name} of {row} cannot happen, and only what can happen may be picked: {sql!r}: "
            raise ContractBroken("event", event.name, says + sql_failure(error)) from error
    return changed


def rows_for_event(session: ContractSession, event: Event) -> list[Row]:
    """The rows to which an event could happen now, in a fixed order.

    Raises:
        ContractBroken: The event's query fails, or finds too many rows.
    """
    try:
        rows = session.query(event.pick, {"now": session.now} if ":now" in event.pick else {})
        if len(rows) <= MAX_ROWS:
            return sorted(rows, key=repr)
        reason = f"it finds {len(rows)} rows, more than {MAX_ROWS}"
    except sqlite3.Error as error:
        reason = sql_failure(error)
    raise ContractBroken("event", event.name, f"the event {event.name} cannot pick ({event.pick!r}): {reason}")
