"""Gaps of a history: what it lacks is brought about in its last hour by lawful calls and events.

A gap is a guard that is never the first to fail, or a tool that too few persons can call. Every attempt that does
not close the gap is undone, so that only lawful steps of the world are kept.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from random import Random

from skillweave.schema.contract import CallResult, Event, Guard, Tool
from skillweave.schema.record import Value
from skillweave.schema.reports import UnmetGuard
from skillweave.world.session import ContractSession
from skillweave.world.world import World
from synth.contracts.writes import affects, columns_read, columns_written
from synth.search.arguments import ArgumentSearch
from synth.search.values import DATETIME_FORMAT
from synth.simulation.coverage import LAWFUL_CALLS, RowVisibility
from synth.simulation.events import InvariantMonitor, apply_event, rows_for_event
from synth.simulation.people import follow_up_writes

MOST_PERSONS = 12
"""Persons with whom a gap is tried to be closed."""
MOST_CALLS = 5
"""Calls of one person in a row."""
MOST_EVENT_ROWS = 12
"""Rows to which one event is made to happen, one after another."""
MOST_ATTEMPTS = 240
"""Attempts of one filler in all."""
CONTINUES = 0.6
"""How often a call continues with a row that the call before has shown."""

Goal = Callable[[], bool]


@dataclass
class GapFiller:
    """Closes gaps of one history, in a session that holds the history's end."""

    world: World
    session: ContractSession
    callers: Sequence[str]
    random: Random
    minutes: int = 55
    """Minutes before the end at which the next step happens."""

    def __post_init__(self) -> None:
        self._monitor, self._visibility = InvariantMonitor(self.world.blueprint), RowVisibility(self.world.blueprint)
        self._attempts = 0
        blueprint = self.world.blueprint
        self._follow_ups = {
            tool.name: follow_up_writes(blueprint, tool) for tool in blueprint.tools if tool.kind == "write"
        }

    def meet(self, unmet: UnmetGuard) -> bool:
        """Bring about a state in which a guard is the first to fail for somebody. Returns whether it is reached."""
        tool = self.world.blueprint.tool(unmet.tool)
        place = next(number for number, guard in enumerate(tool.guards) if guard.rule == unmet.rule)

        def is_broken() -> bool:
            return self._breaks(tool, unmet.rule)

        # First what the guard itself reads; then what the guards before it read, which may refuse the call too early.
        own, earlier = tool.guards[place : place + 1], tool.guards[:place]
        return self._reaches(tool, own, is_broken) or self._reaches(tool, earlier, is_broken)

    def enable(self, tool: Tool) -> bool:
        """Enable one more person to call a tool on rows that they are shown. Returns whether somebody can."""
        return self._reaches(tool, tool.guards, lambda: self._can_call(tool), another_person=True)

    def _reaches(self, tool: Tool, guards: Sequence[Guard], goal: Goal, *, another_person: bool = False) -> bool:
        """Try calls and events that write what the guards read, until the goal is reached.

        Args:
            tool: Whose guards these are.
            guards: The guards to act on.
            goal: Whether the goal is reached for the session's caller.
            another_person: Pass over persons for whom the goal is reached already.
        """
        columns = frozenset().union(*(columns_read(guard.holds) for guard in guards))
        if tool.kind == "auth" or not columns:
            return False
        blueprint = self.world.blueprint
        writes = [
            other
            for other in blueprint.tools
            if other.kind == "write" and affects(columns_written([effect.sql for effect in other.effects]), columns)
        ]
        events = [event for event in blueprint.events if affects(columns_written(event.effects), columns)]
        persons = self.random.sample(list(self.callers), min(MOST_PERSONS, len(self.callers)))
        for person in persons:
            self.session.caller = person
            if another_person and self._holds_at_end(goal):
                continue
            if writes and self._is_kept(lambda: self._calls_reach(writes, goal)):
                return True
        return any(self._is_kept(lambda event=event: self._event_reaches(event, persons, goal)) for event in events)  # type: ignore[misc]

    def _is_kept(self, attempt: Goal) -> bool:
        """Make an attempt, and undo it unless it reaches its goal and breaks no invariant."""
        if self._attempts >= MOST_ATTEMPTS:
            return False
        self._attempts += 1
        mark = self.session.mark()
        self.session.now = self._moment()
        if attempt() and self._monitor.broken(self.session) is None:
            self.minutes = max(1, self.minutes - 1)
            return True
        self.session.forget(mark)
        return False

    def _calls_reach(self, writes: Sequence[Tool], goal: Goal) -> bool:
        tool, fixed = self.random.choice(writes), dict[str, Value]()
        for _ in range(MOST_CALLS):
            arguments = next(self._search(tool, self._moment(), fixed, soon=True).meeting(), None)
            result = self.session.call(tool.name, arguments) if arguments is not None else None
            if result is not None and result.ok and self._holds_at_end(goal):
                return True
            tool, fixed = self._next(tool, result, writes)
        return False

    def _next(self, tool: Tool, result: CallResult | None, writes: Sequence[Tool]) -> tuple[Tool, dict[str, Value]]:
        """The next call: mostly one about the rows that were just shown, else any of the writes."""
        value = result.value if result is not None and result.ok else None
        follow_ups = [
            (other, parameter, shown)
            for other, parameter, column in self._follow_ups[tool.name]
            if isinstance(value, dict) and isinstance(shown := value.get(column), str)
        ]
        if follow_ups and self.random.random() < CONTINUES:
            other, parameter, shown = self.random.choice(follow_ups)
            return other, {parameter: shown}
        return self.random.choice(writes), {}

    def _event_reaches(self, event: Event, persons: Sequence[str], goal: Goal) -> bool:
        for row in rows_for_event(self.session, event)[:MOST_EVENT_ROWS]:
            mark = self.session.mark()
            self.session.now = self._moment()
            persons_of_row = [value for value in row.values() if value in self.callers]
            if apply_event(self.session, event, row):
                for person in persons_of_row or persons:
                    self.session.caller = str(person)
                    if self._holds_at_end(goal):
                        return True
            self.session.forget(mark)
        return False

    def _holds_at_end(self, goal: Goal) -> bool:
        now, self.session.now = self.session.now, self.world.now
        reached = goal()
        self.session.now = now
        return reached

    def _breaks(self, tool: Tool, rule: str) -> bool:
        return next(self._search(tool, self.world.now).breaking(rule), None) is not None

    def _can_call(self, tool: Tool) -> bool:
        for arguments in islice(self._search(tool, self.world.now).meeting(), LAWFUL_CALLS):
            result = self.session.peek(tool.name, arguments)
            if result.ok and not result.violations and self._visibility.shows(self.session, tool, arguments):
                return True
        return False

    def _moment(self) -> str:
        return (datetime.strptime(self.world.now, DATETIME_FORMAT) - timedelta(minutes=self.minutes)).strftime(
            DATETIME_FORMAT
        )

    def _search(
        self, tool: Tool, now: str, fixed: dict[str, Value] | None = None, *, soon: bool = False
    ) -> ArgumentSearch:
        caller, blueprint = self.session.caller, self.world.blueprint
        return ArgumentSearch(blueprint, tool, self.session, caller, now, self.random, fixed or {}, nodes=60, soon=soon)
