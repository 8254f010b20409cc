"""The back office: what happens to records without anybody's call, a few times a day.

An event's weight is how readily it happens to each row that it could happen to: what is due comes about within days,
and what is rare stays rare, however many rows there are.
"""

import math
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import Event
from skillweave.schema.record import Row
from skillweave.world.interpreter import MOST_ROWS
from skillweave.world.session import ContractSession
from synth.history.invariants import Charged, ContractBroken, why

DAILY = 0.06
"""Rate, per day and row, at which an event of weight 1 happens."""


@dataclass
class Office:
    """The back office of one world."""

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
        charged: Charged,
    ) -> None:
        """Let happen what happens in so many days, each event in `charged`; `check` is called after it."""
        for event in self.blueprint.events:
            chance = 1 - math.exp(-event.weight * self.rate * DAILY * days)
            with charged("event", event.name):
                drawn = [row for row in candidates(session, event) if self.random.random() < chance]
            for row in drawn:
                with charged("event", event.name):
                    happened = row in candidates(session, event) and perform(session, event, row)
                if happened:
                    self.happened[event.name] += 1
                    check(session, event, row)


def perform(session: ContractSession, event: Event, row: Row) -> int:
    """Let an event happen to a picked row; how many rows it changed. ContractBroken where it cannot."""
    bound = [*row.items(), ("now", session.now)]
    changed = 0
    for sql in event.effects:
        try:
            changed += session.execute(sql, {name: value for name, value in bound if f":{name}" in sql})
        except sqlite3.Error as error:
            says = f"the event {event.name} of {row} cannot happen, and only what can happen may be picked: {sql!r}: "
            raise ContractBroken("event", event.name, says + why(error)) from error
    return changed


def candidates(session: ContractSession, event: Event) -> list[Row]:
    """The rows to which an event could happen now. ContractBroken where they cannot be told."""
    try:
        found = session.query(event.pick, {"now": session.now} if ":now" in event.pick else {})
        if len(found) <= MOST_ROWS:
            return sorted(found, key=repr)
        reason = f"it finds {len(found)} rows, more than {MOST_ROWS}"
    except sqlite3.Error as error:
        reason = why(error)
    raise ContractBroken("event", event.name, f"the event {event.name} cannot pick ({event.pick!r}): {reason}")
