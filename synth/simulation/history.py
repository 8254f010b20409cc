"""One history: simulated persons use the tools under a moving clock, and the back office's events happen.

Every row that a tool inserts comes about this way, so the data agree with the contract. Invariants are checked
throughout. One that breaks is a defect of the contract, and is reported with the call that broke it.
"""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from heapq import heapify, heappop, heappush
from random import Random
from typing import NamedTuple

from skillweave.base.progress import tell_progress
from skillweave.schema.contract import CallResult, Event
from skillweave.schema.record import Json, Row
from skillweave.world.session import ContractSession
from skillweave.world.world import World
from synth.contracts.writes import columns_written
from synth.search.arguments import ArgumentSearch
from synth.search.values import DATETIME_FORMAT
from synth.simulation.events import (
    DUE_WEIGHT,
    TOO_LONG,
    BackOffice,
    ContractBroken,
    ContractPart,
    InvariantMonitor,
    sql_failure,
)
from synth.simulation.people import SimulatedPeople, ToolRequest

OFFICE_HOURS = (8, 13, 18)
"""Hours of the day at which the back office does its work."""
TAKES_NEAREST = 0.3
"""How often somebody who books or orders takes what is nearest in time."""
LAST_HOUR = timedelta(hours=1)
"""The end of a history, in which nobody calls, so that its gaps can be closed then."""
RECENCY = 0.6
"""Exponent that spreads visits over the days; below 1 they become more frequent towards the end."""
FIRST_RETURN_NUMBER = 10**9
"""Number of the first occasion that comes up during the history; all planned ones have lower numbers."""
ATTEMPTS = 3
"""Tools that somebody tries before they give up."""
STEPS_A_VISIT = 400_000
"""Steps of SQLite that a visit may take in a history of `USUAL_VISITS` visits; sound contracts take 100,000 or so."""
USUAL_VISITS = 250


@dataclass(frozen=True)
class HistoryPlan:
    """How much happens in a history."""

    visits: int
    """Visits without an occasion; people also come back to what they began."""
    days: int
    """Days that the history lasts."""
    calls: int = 3
    """Calls of one visit at most."""
    events: float = 1.0
    """How readily events happen: a factor on the rate of each."""

    @property
    def most_steps(self) -> int:
        """Steps of SQLite that the whole history may take.

        They grow with the square of the visits, because each visit reads what all earlier ones have left. So a contract
        that is fast enough in a trial's short history is fast enough in a long one.
        """
        return STEPS_A_VISIT * max(self.visits, USUAL_VISITS) * max(self.visits, USUAL_VISITS) // USUAL_VISITS


@dataclass
class History:
    """What happened, and the rows that it left."""

    rows: dict[str, list[Row]] = field(default_factory=dict)
    """By table."""
    succeeded: dict[str, int] = field(default_factory=dict)
    """Write tool -> calls that succeeded."""
    effective: dict[str, list[int]] = field(default_factory=dict)
    """Tool -> for each effect, in how many calls it changed a row."""
    happened: dict[str, int] = field(default_factory=dict)
    """Event -> how often."""


class Occasion(NamedTuple):
    """A moment at which somebody visits or the back office works; ordered by time."""

    moment: datetime
    number: int
    """Unique, so that equal times have an order."""
    is_visit: bool
    caller: str | None = None
    requests: tuple[ToolRequest, ...] = ()
    """What a caller comes back for: the first of these that can be carried out."""


@dataclass
class Simulation:
    """The simulation of one history in one world."""

    world: World
    callers: list[str]
    """Keys of the persons, the most active first."""
    plan: HistoryPlan
    random: Random
    every: int = 1
    """Changes between two checks of the invariants. Only 1 shows which change broke one."""
    history: History = field(default_factory=History)
    _spent: dict[tuple[ContractPart, str], int] = field(default_factory=dict)
    """Steps of SQLite by the part of the contract that took them."""

    def run(self) -> History:
        """Simulate the history up to the world's own `now`.

        Raises:
            ContractBroken: An invariant does not hold, an event cannot happen, or SQL fails or takes too long.
        """
        blueprint = self.world.blueprint
        writes = [tool for tool in blueprint.tools if tool.kind == "write"]
        self.history.succeeded = {tool.name: 0 for tool in writes}
        self.history.effective = {tool.name: [0] * len(tool.effects) for tool in writes}
        self.history.happened = {event.name: 0 for event in blueprint.events}
        self._monitor = InvariantMonitor(blueprint)
        self._unchecked: list[str] = []
        self._changes = self._returns = 0
        self._makers = {tool.name for tool in writes if any(_inserts(effect.sql) for effect in tool.effects)}
        self._people = SimulatedPeople(blueprint, self.callers, self.random, self.history.succeeded)
        self._end = datetime.strptime(self.world.now, DATETIME_FORMAT) - LAST_HOUR
        self._occasions = self._planned()
        office = BackOffice(blueprint, self.random, self.history.happened, self.plan.events)
        try:
            self._live(office)
        except sqlite3.OperationalError:
            # A query outside of all parts of the contract may be the first to run out of steps.
            if not self.world.pool.meter.is_spent:
                raise
            raise self._too_long() from None
        return self.history

    def _live(self, office: BackOffice) -> None:
        with self.world.session() as session:
            self._check(session, "the reference rows")
            while self._occasions:
                occasion = heappop(self._occasions)
                tell_progress(self.plan.days - (self._end - occasion.moment).days, self.plan.days, "days of history")
                session.now = occasion.moment.strftime(DATETIME_FORMAT)
                if occasion.is_visit:
                    self._visit(session, occasion)
                else:
                    office.work(session, 1 / len(OFFICE_HOURS), self._event_done, self._account)
            # What is due has happened by now: no hold or offer outlives its end.
            session.now = self.world.now
            office.work(session, 1 / len(OFFICE_HOURS), self._event_done, self._account, least=DUE_WEIGHT)
            self._check(session, "the last change")
            tables = [entity.table for entity in self.world.blueprint.tables]
            self.history.rows = {table: session.rows(table) for table in tables}

    def _planned(self) -> list[Occasion]:
        """All visits, at hours when people are awake, and the back office's work, as a heap."""
        start = self._end - timedelta(days=self.plan.days)
        moments = []
        for _ in range(self.plan.visits if self.callers else 0):
            # Recent days have more visits, because tasks are about what is still open at the end.
            day = start + timedelta(days=round(self.plan.days * self.random.random() ** RECENCY))
            moment = day.replace(hour=self.random.randint(7, 21), minute=self.random.randrange(60), second=0)
            moments.append((moment, True))
        for days in range(self.plan.days + 1):
            for hour in OFFICE_HOURS:
                day = start + timedelta(days=days)
                moments.append((day.replace(hour=hour, minute=self.random.randrange(60), second=0), False))
        late = timedelta(days=1)
        occasions = [
            Occasion(moment if moment < self._end else moment - late, number, is_visit)
            for number, (moment, is_visit) in enumerate(moments)
        ]
        heapify(occasions)
        return occasions

    def _visit(self, session: ContractSession, occasion: Occasion) -> None:
        caller = session.caller = occasion.caller or self._people.visitor()
        requests = list(occasion.requests)
        for _ in range(self.random.randint(1, self.plan.calls)):
            for _ in range(ATTEMPTS):
                request = requests.pop(0) if requests else self._people.request(caller)
                result = self._use(session, request) if request else None
                if request and result is not None:
                    requests = self._people.next(caller, request, result)
                    self._plan_returns(caller, request, result, occasion, has_more=bool(requests))
                    break

    def _plan_returns(
        self, caller: str, request: ToolRequest, result: CallResult, occasion: Occasion, *, has_more: bool
    ) -> None:
        for later, requests in self._people.returns(caller, request, result, occasion.moment, has_more=has_more):
            # Nobody visits at night.
            moment = later.replace(hour=min(max(later.hour, 7), 21))
            if requests and occasion.moment < moment < self._end:
                self._returns += 1
                number = FIRST_RETURN_NUMBER + self._returns
                heappush(self._occasions, Occasion(moment, number, True, caller, tuple(requests)))

    @contextmanager
    def _account(self, part: ContractPart, name: str) -> Iterator[None]:
        """Count steps for a part of the contract; if none are left, blame the part that took most of them."""
        spent_before, failure = self.world.pool.meter.spent, None
        try:
            yield
        except ContractBroken as broken:
            failure = broken
        except sqlite3.Error as error:
            failure = ContractBroken(part, name, f"{part} {name}: {sql_failure(error)}")
        spent = self.world.pool.meter.spent - spent_before
        self._spent[part, name] = self._spent.get((part, name), 0) + spent
        if self.world.pool.meter.is_spent:
            raise self._too_long()
        if failure is not None:
            raise failure

    def _too_long(self) -> ContractBroken:
        """The failure of the part that took most of the steps."""
        part, name = max(self._spent, key=lambda part_and_name: self._spent[part_and_name])
        return ContractBroken(part, name, f"{part} {name}: {TOO_LONG}")

    def _use(self, session: ContractSession, request: ToolRequest) -> CallResult | None:
        with self._account("tool", request.tool.name):
            result = self._called(session, request)
        if result is None:
            return None
        tool = request.tool
        self._changed(
            session,
            [effect.sql for effect in tool.effects],
            f"the lawful call {tool.name}({_arguments_text(result.call.arguments)}) at {session.now}",
        )
        self.history.succeeded[tool.name] += 1
        for place, rows in enumerate(result.changed):
            self.history.effective[tool.name][place] += rows > 0
        return result

    def _called(self, session: ContractSession, request: ToolRequest) -> CallResult | None:
        """The result of a lawful call; None if no lawful call is found, or it fails."""
        tool = request.tool
        search = ArgumentSearch(
            self.world.blueprint,
            tool,
            session,
            session.caller,
            session.now,
            self.random,
            request.fixed,
            nodes=80,
            soon=tool.name in self._makers and self.random.random() < TAKES_NEAREST,
        )
        arguments = next(search.meeting(), None)
        if arguments is None:
            return None
        result = session.call(tool.name, arguments)
        return result if result.ok else None

    def _event_done(self, session: ContractSession, event: Event, row: Row) -> None:
        self._changed(session, event.effects, f"the event {event.name} of {row}")

    def _changed(self, session: ContractSession, statements: list[str], what: str) -> None:
        self._unchecked += statements
        self._changes += 1
        if self._changes % self.every == 0:
            self._check(session, what, self._unchecked)
            self._unchecked = []

    def _check(self, session: ContractSession, what: str, written: list[str] | None = None) -> None:
        broken = self._monitor.broken(session, written, self._account)
        if broken:
            raise ContractBroken("invariant", broken.invariant, f"after {what} {broken}")


def _arguments_text(arguments: Mapping[str, Json]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in arguments.items())


def _inserts(statement: str) -> bool:
    return any(column is None for _, column in columns_written([statement]))
