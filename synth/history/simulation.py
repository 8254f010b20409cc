"""History: simulated persons use the tools under a moving clock, and the back office does what only it can do.

Every row that a tool inserts comes about this way, so the data hang together as the contract says. The invariants are
checked throughout: one that breaks is a defect of the contract, told with the call that broke it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random
from typing import NamedTuple

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.call import CallResult
from skillweave.schema.contract import Event, Tool
from skillweave.schema.record import Row, Value
from skillweave.world.session import ContractSession
from skillweave.world.world import World
from synth.graph.columns import keys_shown
from synth.graph.edges import columns_written
from synth.history.invariants import InvariantBroken, Watch
from synth.history.office import Office
from synth.history.population import activity
from synth.planner.search import Search
from synth.planner.values import CLOCK

OFFICE_HOURS = (8, 13, 18)
"""When the back office does its work."""
LEANING = 1.1
"""How much persons differ in what they use (deviation of the logarithm of a tool's weight)."""
AGAIN = 0.25
"""How often somebody asks for the same once more."""
ONWARD = 0.5
"""How often somebody goes on with what a call has just shown: pays what was booked, uses what was granted."""
USES = 0.7
"""Share of the tools that one person uses at all; what nobody has touched is there for tasks."""
SOON = 0.5
"""How often somebody who books or orders takes what is nearest in time."""
LAST_HOUR = timedelta(hours=1)
"""The end of a history, in which nobody calls: what it still lacks may be made up for then."""
RECENT = 0.6
"""Below 1, visits become more frequent towards the end."""
ATTEMPTS = 3
"""Tools that somebody tries before they give up."""


class Request(NamedTuple):
    """A tool that somebody wants, with the arguments that are settled."""

    tool: Tool
    fixed: Mapping[str, Value]


@dataclass(frozen=True)
class Plan:
    """How much happens in a history."""

    visits: int
    days: int
    calls: int = 3
    """Calls of one visit at most."""
    events: float = 1.0
    """How readily events happen: a factor on the rate of each."""


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
    every: int = 1
    """Changes between two checks of the invariants; only 1 tells which change broke one."""
    history: History = field(default_factory=History)

    def run(self) -> History:
        """The history, up to the world's own `now`. InvariantBroken where the contract does not keep its word."""
        blueprint = self.world.blueprint
        writes = [tool for tool in blueprint.tools if tool.kind == "write"]
        self.history.succeeded = {tool.name: 0 for tool in writes}
        self.history.effective = {tool.name: [0] * len(tool.effects) for tool in writes}
        self.history.happened = {event.name: 0 for event in blueprint.events}
        self._watch = Watch(blueprint)
        self._unchecked: list[str] = []
        self._changes = 0
        # People differ: some never pay, some book all the time. So the data hold debts, quotas used up, and loose ends.
        self._leanings = {
            caller: [self.random.lognormvariate(0, LEANING) * (self.random.random() < USES) for _ in writes]
            for caller in self.callers
        }
        self._makers = {tool.name for tool in writes if any(_inserts(effect.sql) for effect in tool.effects)}
        self._onward = {tool.name: onward(blueprint, tool) for tool in writes}
        office = Office(blueprint, self.random, self.history.happened, self.plan.events)
        with self.world.session() as session:
            self._check(session, "the reference rows")
            for moment, is_visit in self._moments():
                session.now = moment
                if is_visit:
                    self._visit(session, writes)
                else:
                    office.work(session, 1 / len(OFFICE_HOURS), self._event_done)
            self._check(session, "the last change")
            self.history.rows = {entity.table: session.rows(entity.table) for entity in blueprint.tables}
        return self.history

    def _moments(self) -> list[tuple[str, bool]]:
        """The times of all visits, at hours when people are up, and of the back office's work, ascending."""
        end = datetime.strptime(self.world.now, CLOCK) - LAST_HOUR
        start = end - timedelta(days=self.plan.days)
        found = []
        for _ in range(self.plan.visits):
            # More of late than long ago: what is still open in the end is what people come to ask about.
            day = start + timedelta(days=round(self.plan.days * self.random.random() ** RECENT))
            moment = day.replace(hour=self.random.randint(7, 21), minute=self.random.randrange(60), second=0)
            found.append((moment, True))
        for days in range(self.plan.days + 1):
            for hour in OFFICE_HOURS:
                day = start + timedelta(days=days)
                found.append((day.replace(hour=hour, minute=self.random.randrange(60), second=0), False))
        late = timedelta(days=1)
        inside = [(moment if moment < end else moment - late, is_visit) for moment, is_visit in found]
        return [(moment.strftime(CLOCK), is_visit) for moment, is_visit in sorted(inside)]

    def _visit(self, session: ContractSession, writes: list[Tool]) -> None:
        weights = [activity(place) for place in range(1, len(self.callers) + 1)]
        caller = session.caller = self.random.choices(self.callers, weights)[0]
        request: Request | None = None
        for _ in range(self.random.randint(1, self.plan.calls)):
            for _ in range(ATTEMPTS):
                request = self._request(request, writes, self._leanings[caller])
                result = self._use(session, request)
                if result is not None:
                    request = self._next(request, result)
                    break
                request = None

    def _request(self, asked: Request | None, writes: list[Tool], leaning: list[float]) -> Request:
        """What somebody asks for: what they were about to, or whatever they lean to."""
        if asked is not None:
            return asked
        # Tools that have rarely come about are tried more often, so that no corner stays unused.
        rare = [1 / (1 + self.history.succeeded[tool.name]) ** 0.5 for tool in writes]
        weights = [a * b for a, b in zip(rare, leaning, strict=True)]
        return Request(self.random.choices(writes, weights if any(weights) else rare)[0], {})

    def _next(self, request: Request, result: CallResult) -> Request | None:
        """One thing leads to another: the same once more, or something about the rows that a result shows."""
        if self.random.random() < AGAIN:
            return Request(request.tool, {})
        if self.random.random() >= ONWARD or not isinstance(result.value, dict):
            return None
        onward = [
            Request(tool, {parameter: result.value[column]})
            for tool, parameter, column in self._onward[request.tool.name]
            if isinstance(result.value.get(column), str)
        ]
        return self.random.choice(onward) if onward else None

    def _use(self, session: ContractSession, request: Request) -> CallResult | None:
        tool = request.tool
        search = Search(
            self.world.blueprint,
            tool,
            session,
            session.caller,
            session.now,
            self.random,
            request.fixed,
            nodes=80,
            soon=tool.name in self._makers and self.random.random() < SOON,
        )
        arguments = next(search.meeting(), None)
        if arguments is None:
            return None
        result = session.call(tool.name, arguments)
        if not result.ok:
            return None
        self._changed(session, [effect.sql for effect in tool.effects], f"{tool.name}({arguments})")
        self.history.succeeded[tool.name] += 1
        for place, rows in enumerate(result.changed):
            self.history.effective[tool.name][place] += rows > 0
        return result

    def _event_done(self, session: ContractSession, event: Event, row: Row) -> None:
        self._changed(session, event.effects, f"event {event.name}({row})")

    def _changed(self, session: ContractSession, statements: list[str], what: str) -> None:
        self._unchecked += statements
        self._changes += 1
        if self._changes % self.every == 0:
            self._check(session, what, self._unchecked)
            self._unchecked = []

    def _check(self, session: ContractSession, what: str, written: list[str] | None = None) -> None:
        broken = self._watch.broken(session, written)
        if broken:
            raise InvariantBroken(f"{broken} after {what}")


def _inserts(statement: str) -> bool:
    return any(column is None for _, column in columns_written([statement]))


def onward(blueprint: Blueprint, tool: Tool) -> list[tuple[Tool, str, str]]:
    """(tool, parameter, column): writes that can go on with a row which the tool's result shows."""
    shown = keys_shown(blueprint, tool)
    return [
        (other, parameter.name, column)
        for other in blueprint.tools
        if other.kind == "write" and other.name != tool.name
        for parameter in other.parameters
        if parameter.refers_to
        for column in sorted(shown.get(parameter.refers_to.partition(".")[0], set()))
    ]
