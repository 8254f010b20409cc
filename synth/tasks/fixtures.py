"""Creation: rows that a task needs and the data lack are brought about, in a patch of the task's own.

They come about as all rows of a world do: by lawful calls of the person, days before, and by what the back office then
makes of them. Nothing of it is ever written into the shared database.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random

from skillweave.schema.call import RowChange
from skillweave.schema.contract import Event, Tool
from skillweave.schema.record import Row
from skillweave.schema.template import TaskTemplate
from skillweave.world.session import ContractSession
from skillweave.world.world import World
from synth.contracts.dependencies import AccessedColumns, affects, columns_read, columns_written
from synth.search.arguments import argument_search
from synth.search.values import DATETIME_FORMAT
from synth.simulation.events import InvariantMonitor, apply_event, rows_for_event

MOST_STEPS = 12
"""Calls of one person that are tried."""
MOST_USELESS_STEPS = 3
"""Calls in a row that may lead nowhere before they are taken back."""
DAYS_AGO = (2, 3, 5, 8, 12)
"""How long ago a call may lie."""
TOOLS_PER_STEP = 4
"""Tools of which one is sought that the person can call at that time."""

CallsReached = Callable[[list[RowChange]], int]
"""How far a template's calls get with a patch; all of them: as many as there are."""


@dataclass
class FixtureBuilder:
    """Gives persons a past with which a template's calls become possible."""

    world: World
    template: TaskTemplate
    seed: str

    def __post_init__(self) -> None:
        self._watch = InvariantMonitor(self.world.blueprint)

    def patches(self, caller: str, stuck: int, reached: CallsReached) -> Iterator[list[RowChange]]:
        """Try pasts of a person who does not get beyond the template's call `stuck`.

        A past that leads further is continued. Whoever asks for another patch had no use for the last one.

        Yields:
            Patches with which all calls of the template can be made.
        """
        whole = len(self.template.calls)
        random = Random(f"{self.seed}/{self.template.id}/{caller}/past")
        with self.world.session(caller=caller) as session:
            kept, astray = session.mark(), 0
            writes, events = self._bearing(stuck)
            for _ in range(MOST_STEPS if writes else 0):
                if not self._step(session, writes, events, random):
                    continue
                patch = session.diff()
                far = reached(patch)
                if far == whole:
                    yield patch
                    far = whole - 1
                astray = 0 if far > stuck else astray + 1
                if far > stuck:
                    kept, stuck = session.mark(), far
                    writes, events = self._bearing(stuck)
                elif astray == MOST_USELESS_STEPS:
                    session.undo(kept)
                    astray = 0

    def _bearing(self, stuck: int) -> tuple[list[Tool], list[Event]]:
        """Writes and events that bear on the guards of the calls up to that one, and on rows that they name."""
        found: set[tuple[str, str | None]] = set()
        for call in self.template.calls[: stuck + 1]:
            for guard in self.world.blueprint.tool(call.tool).guards:
                found |= columns_read(guard.holds)
            for reference in call.names.values():
                entity, _ = self.world.blueprint.target(reference)
                found |= {(entity.table, attribute.name) for attribute in entity.attributes}
        wanted: AccessedColumns = frozenset(found)
        writes = [
            tool
            for tool in self.world.blueprint.tools
            if tool.kind == "write" and affects(columns_written([effect.sql for effect in tool.effects]), wanted)
        ]
        return writes, [
            event for event in self.world.blueprint.events if affects(columns_written(event.effects), wanted)
        ]

    def _step(self, session: ContractSession, writes: Sequence[Tool], events: Sequence[Event], random: Random) -> bool:
        """One lawful call days ago, and what the back office has made of it since; False, and nothing, without one."""
        before = session.mark()
        session.now = self._ago(timedelta(days=random.choice(DAYS_AGO)))
        for tool in random.sample(writes, min(TOOLS_PER_STEP, len(writes))):
            search = argument_search(session, tool, random, nodes=60, soon=random.random() < 0.5)
            arguments = next(search.meeting(), None)
            result = session.call(tool.name, arguments) if arguments is not None else None
            if result is not None and result.ok and not result.violations:
                session.now = self._ago(timedelta(hours=1))
                self._happens(session, events)
                session.now = self.world.now
                if self._watch.broken(session) is None:
                    return True
            session.undo(before)
            session.now = self._ago(timedelta(days=random.choice(DAYS_AGO)))
        session.undo(before)
        return False

    def _happens(self, session: ContractSession, events: Sequence[Event]) -> None:
        """The back office deals with the rows that have come about."""
        for event in events:
            for row in rows_for_event(session, event):
                if _is_about(row, session.minted) and row in rows_for_event(session, event):
                    apply_event(session, event, row)

    def _ago(self, time: timedelta) -> str:
        return (datetime.strptime(self.world.now, DATETIME_FORMAT) - time).strftime(DATETIME_FORMAT)


def _is_about(row: Row, keys: Sequence[str]) -> bool:
    return any(value in keys for value in row.values() if isinstance(value, str))
