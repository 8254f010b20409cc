"""The back office: what happens to records without anybody's call, a few times a day.

An event's weight is how readily it happens to each row that it could happen to: what is due comes about within days,
and what is rare stays rare, however many rows there are.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import exp
from random import Random

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import Event
from skillweave.schema.record import Row
from skillweave.world.session import ContractSession

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

    def work(self, session: ContractSession, days: float, check: Callable[[ContractSession, Event, Row], None]) -> None:
        """Let happen what happens in so many days; `check` is called after each event."""
        for event in self.blueprint.events:
            chance = 1 - exp(-event.weight * self.rate * DAILY * days)
            for row in [row for row in candidates(session, event) if self.random.random() < chance]:
                if row in candidates(session, event) and perform(session, event, row):
                    self.happened[event.name] += 1
                    check(session, event, row)


def perform(session: ContractSession, event: Event, row: Row) -> int:
    """Let an event happen to a picked row; how many rows it changed."""
    return sum(
        session.execute(sql, {name: value for name, value in [*row.items(), ("now", session.now)] if f":{name}" in sql})
        for sql in event.effects
    )


def candidates(session: ContractSession, event: Event) -> list[Row]:
    """The rows to which an event could happen now."""
    found = session.query(event.pick, {"now": session.now} if ":now" in event.pick else {})
    return sorted(found, key=repr)
