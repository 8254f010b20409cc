"""History: simulated persons use the tools under a moving clock, and the back office does what only it can do.

Every row that a tool inserts comes about this way, so the data hang together as the contract says. After each change
the invariants are checked: one that breaks is a defect of the contract, told with the call that broke it.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import Event, Tool
from skillweave.schema.record import Row
from skillweave.world.session import ContractSession
from skillweave.world.world import World
from synth.history.population import activity
from synth.planner.search import Search
from synth.planner.values import CLOCK


class InvariantBroken(Exception):
    """A call or an event made something true that must never be."""


@dataclass(frozen=True)
class Plan:
    """How much happens in a history."""

    visits: int
    days: int
    calls: int = 3
    """Calls of one visit at most."""
    events: float = 1.0
    """Events for each visit, on average."""


@dataclass
class History:
    """What happened."""

    rows: dict[str, list[Row]] = field(default_factory=dict)
    succeeded: dict[str, int] = field(default_factory=dict)
    effective: dict[str, list[int]] = field(default_factory=dict)
    """Tool -> for each effect, in how many calls it changed a row."""
    happened: dict[str, int] = field(default_factory=dict)
    """Event -> how often."""


@dataclass
class Simulation:
    world: World
    callers: list[str]
    """Keys of the persons, the most active first."""
    plan: Plan
    random: Random
    history: History = field(default_factory=History)

    def run(self) -> History:
        """The history, up to the world's own `now`. InvariantBroken where the contract does not keep its word."""
        blueprint = self.world.blueprint
        writes = [tool for tool in blueprint.tools if tool.kind == "write"]
        self.history.succeeded = {tool.name: 0 for tool in writes}
        self.history.effective = {tool.name: [0] * len(tool.effects) for tool in writes}
        self.history.happened = {event.name: 0 for event in blueprint.events}
        with self.world.session() as session:
            self._check(session, "the reference rows")
            for moment in self._moments():
                session.now = moment
                self._visit(session, writes)
                for _ in range(self._number(self.plan.events)):
                    self._happen(session)
            self.history.rows = {entity.table: session.rows(entity.table) for entity in blueprint.tables}
        return self.history

    def _moments(self) -> list[str]:
        """The times of all visits, ascending, at hours when people are up."""
        end = datetime.strptime(self.world.now, CLOCK)
        start = end - timedelta(days=self.plan.days)
        found = []
        for _ in range(self.plan.visits):
            moment = start + timedelta(days=self.random.uniform(0, self.plan.days))
            moment = moment.replace(hour=self.random.randint(7, 21), minute=self.random.randrange(60), second=0)
            found.append(min(moment, end - timedelta(minutes=5)).strftime(CLOCK))
        return sorted(found)

    def _number(self, average: float) -> int:
        return int(average) + (self.random.random() < average % 1)

    def _visit(self, session: ContractSession, writes: list[Tool]) -> None:
        weights = [activity(place) for place in range(1, len(self.callers) + 1)]
        session.caller = self.random.choices(self.callers, weights)[0]
        for _ in range(self.random.randint(1, self.plan.calls)):
            # Tools that have rarely come about are tried more often, so that no corner of the contract stays unused.
            rare = [1 / (1 + self.history.succeeded[tool.name]) ** 0.5 for tool in writes]
            self._use(session, self.random.choices(writes, rare)[0])

    def _use(self, session: ContractSession, tool: Tool) -> None:
        search = Search(self.world.blueprint, tool, session, session.caller, session.now, self.random, nodes=80)
        arguments = next(search.meeting(), None)
        if arguments is None:
            return
        result = session.call(tool.name, arguments)
        if not result.ok:
            return
        self._check(session, f"{tool.name}({arguments})")
        self.history.succeeded[tool.name] += 1
        for place, rows in enumerate(result.changed):
            self.history.effective[tool.name][place] += rows > 0

    def _happen(self, session: ContractSession) -> None:
        events = self.world.blueprint.events
        if not events:
            return
        event = self.random.choices(events, [event.weight for event in events])[0]
        picked = session.query(event.pick, {"now": session.now} if ":now" in event.pick else {})
        if picked:
            row = self.random.choice(sorted(picked, key=repr))
            if perform(session, event, row):
                self.history.happened[event.name] += 1
                self._check(session, f"event {event.name}({row})")

    def _check(self, session: ContractSession, what: str) -> None:
        broken = broken_invariant(session, self.world.blueprint)
        if broken:
            raise InvariantBroken(f"{broken} after {what}")


def broken_invariant(session: ContractSession, blueprint: Blueprint) -> str | None:
    """The first invariant that does not hold in a session's state, with a row that shows it; None where all hold."""
    for invariant in blueprint.invariants:
        rows = session.query(f"SELECT * FROM ({invariant.never}) LIMIT 1")
        if rows:
            return f"invariant {invariant.id} is broken ({rows[0]})"
    return None


def perform(session: ContractSession, event: Event, row: Row) -> int:
    """Let an event happen to a picked row; how many rows it changed."""
    return sum(
        session.execute(sql, {name: value for name, value in [*row.items(), ("now", session.now)] if f":{name}" in sql})
        for sql in event.effects
    )
