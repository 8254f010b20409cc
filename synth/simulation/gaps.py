"""Gaps of a history: what it lacks is brought about in its last hour by lawful calls and events.

A gap is a guard that is never the first to fail, or a tool that too few persons can call. Every attempt that does
not close the gap is undone, so that only lawful steps of the world are kept.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from random import Random

from skillweave.schema.call import CallResult
from skillweave.schema.contract import Event, Guard, Tool
from skillweave.schema.record import Value
from skillweave.schema.reports import UnmetGuard
from skillweave.world.session import ContractSession
from skillweave.world.world import World
from synth.contracts.dependencies import affects, columns_read, columns_written
from synth.search.arguments import ArgumentSearch
from synth.search.values import DATETIME_FORMAT
from synth.simulation.coverage import LAWFUL, RowVisibility
from synth.simulation.events import InvariantMonitor, apply_event, rows_for_event
from synth.simulation.people import follow_up_writes

PERSONS = 12
"""Persons with whom a lack is made up for."""
STEPS = 5
"""Calls of one person in a row."""
HAPPENINGS = 12
"""Rows to which one event is made to happen."""
ATTEMPTS = 240
"""Attempts in all, whatever is lacking."""
ONWARD = 0.6
"""How often a step goes on with a row that the one before has shown."""

Goal = Callable[[], bool]


@dataclass
class GapFiller:
    """Makes up for what one history lacks, in a session that holds its end."""

    world: World
    session: ContractSession
    callers: Sequence[str]
    random: Random
    minutes: int = 55
    """Before the end, at which the next step happens."""

    def __post_init__(self) -> None:
        self._watch, self._sight = InvariantMonitor(self.world.blueprint), RowVisibility(self.world.blueprint)
        self._attempts = 0
        blueprint = self.world.blueprint
        self._onward = {
            tool.name: follow_up_writes(blueprint, tool) for tool in blueprint.tools if tool.kind == "write"
        }

    def meet(self, unmet: UnmetGuard) -> bool:
        """Bring it about that a guard is once the first to fail; whether it has been."""
        tool = self.world.blueprint.tool(unmet.tool)
        place = next(number for number, guard in enumerate(tool.guards) if guard.rule == unmet.rule)
        return self._lead(tool, tool.guards[place : place + 1], lambda: self._breaks(tool, unmet.rule)) or self._lead(
            tool, tool.guards[:place], lambda: self._breaks(tool, unmet.rule)
        )

    def enable(self, tool: Tool) -> bool:
        """Bring it about that one more person can call a tool on rows that they are shown; whether it has been."""
        return self._lead(tool, tool.guards, lambda: self._can_call(tool), fresh=True)

    def _lead(self, tool: Tool, guards: Sequence[Guard], goal: Goal, *, fresh: bool = False) -> bool:
        """Try what bears on the guards until the goal is reached; `fresh`: for somebody for whom it is not yet."""
        read = frozenset().union(*(columns_read(guard.holds) for guard in guards))
        if tool.kind == "auth" or not read:
            return False
        blueprint = self.world.blueprint
        writes = [
            other
            for other in blueprint.tools
            if other.kind == "write" and affects(columns_written([effect.sql for effect in other.effects]), read)
        ]
        events = [event for event in blueprint.events if affects(columns_written(event.effects), read)]
        persons = self.random.sample(list(self.callers), min(PERSONS, len(self.callers)))
        for person in persons:
            self.session.caller = person
            if fresh and self._at_the_end(goal):
                continue
            if writes and self._kept(lambda: self._calls(writes, goal)):
                return True
        return any(self._kept(lambda event=event: self._happens(event, persons, goal)) for event in events)  # type: ignore[misc]

    def _kept(self, attempt: Goal) -> bool:
        """Whether an attempt reached its goal; else it is undone."""
        if self._attempts >= ATTEMPTS:
            return False
        self._attempts += 1
        mark = self.session.mark()
        self.session.now = self._moment()
        if attempt() and self._watch.broken(self.session) is None:
            self.minutes = max(1, self.minutes - 1)
            return True
        self.session.forget(mark)
        return False

    def _calls(self, writes: Sequence[Tool], goal: Goal) -> bool:
        tool, fixed = self.random.choice(writes), dict[str, Value]()
        for _ in range(STEPS):
            arguments = next(self._search(tool, self._moment(), fixed, soon=True).meeting(), None)
            result = self.session.call(tool.name, arguments) if arguments is not None else None
            if result is not None and result.ok and self._at_the_end(goal):
                return True
            tool, fixed = self._next(tool, result, writes)
        return False

    def _next(self, tool: Tool, result: CallResult | None, writes: Sequence[Tool]) -> tuple[Tool, dict[str, Value]]:
        """Most often something about the rows that were just shown, else anything that bears on the lack."""
        value = result.value if result is not None and result.ok else None
        ahead = [
            (other, parameter, shown)
            for other, parameter, column in self._onward[tool.name]
            if isinstance(value, dict) and isinstance(shown := value.get(column), str)
        ]
        if ahead and self.random.random() < ONWARD:
            other, parameter, shown = self.random.choice(ahead)
            return other, {parameter: shown}
        return self.random.choice(writes), {}

    def _happens(self, event: Event, persons: Sequence[str], goal: Goal) -> bool:
        for row in rows_for_event(self.session, event)[:HAPPENINGS]:
            mark = self.session.mark()
            self.session.now = self._moment()
            own = [value for value in row.values() if value in self.callers]
            if apply_event(self.session, event, row):
                for person in own or persons:
                    self.session.caller = str(person)
                    if self._at_the_end(goal):
                        return True
            self.session.forget(mark)
        return False

    def _at_the_end(self, goal: Goal) -> bool:
        now, self.session.now = self.session.now, self.world.now
        reached = goal()
        self.session.now = now
        return reached

    def _breaks(self, tool: Tool, rule: str) -> bool:
        return next(self._search(tool, self.world.now).breaking(rule), None) is not None

    def _can_call(self, tool: Tool) -> bool:
        for arguments in islice(self._search(tool, self.world.now).meeting(), LAWFUL):
            result = self.session.peek(tool.name, arguments)
            if result.ok and not result.violations and self._sight.shows(self.session, tool, arguments):
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
