"""Fixtures: rows that a task needs and the data lack, created in a patch of the task's own.

They are created as all rows of a world are: by lawful calls of the person, days before, and by the back office's events
that follow. Nothing of it is ever written into the shared database.
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
"""Steps that are tried for one person."""
MOST_USELESS_STEPS = 3
"""After so many useless steps in a row they are undone."""
DAYS_AGO = (2, 3, 5, 8, 12)
"""Days before now at which a step may take place."""
TOOLS_PER_STEP = 4
"""Tools that are tried for one step."""

CallsReached = Callable[[list[RowChange]], int]
"""Given a patch, the number of the template's calls that can be made with it."""


@dataclass
class FixtureBuilder:
    """Builds patches that give persons a past with which a template's calls become possible."""

    world: World
    template: TaskTemplate
    seed: str

    def __post_init__(self) -> None:
        self._invariants = InvariantMonitor(self.world.blueprint)

    def patches(self, caller: str, stuck: int, reached: CallsReached) -> Iterator[list[RowChange]]:
        """Try pasts of a person. A past that leads further is continued.

        Whoever asks for another patch had no use for the last one.

        Args:
            stuck: The template's call, counted from 0, beyond which the person does not get without a patch.
            reached: Says how far a patch leads.

        Yields:
            Patches with which all calls of the template can be made.
        """
        whole = len(self.template.calls)
        random = Random(f"{self.seed}/{self.template.id}/{caller}/past")
        with self.world.session(caller=caller) as session:
            kept, useless = session.mark(), 0
            writes, events = self._relevant_actions(stuck)
            for _ in range(MOST_STEPS if writes else 0):
                if not self._step(session, writes, events, random):
                    continue
                patch = session.diff()
                far = reached(patch)
                if far == whole:
                    yield patch
                    far = whole - 1
                useless = 0 if far > stuck else useless + 1
                if far > stuck:
                    kept, stuck = session.mark(), far
                    writes, events = self._relevant_actions(stuck)
                elif useless == MOST_USELESS_STEPS:
                    session.undo(kept)
                    useless = 0

    def _relevant_actions(self, stuck: int) -> tuple[list[Tool], list[Event]]:
        """Writes and events that can change what guards of the calls up to that one read, or rows that they name."""
        read: set[tuple[str, str | None]] = set()
        for call in self.template.calls[: stuck + 1]:
            for guard in self.world.blueprint.tool(call.tool).guards:
                read |= columns_read(guard.holds)
            for reference in call.names.values():
                entity, _ = self.world.blueprint.target(reference)
                read |= {(entity.table, attribute.name) for attribute in entity.attributes}
        wanted: AccessedColumns = frozenset(read)
        writes = [
            tool
            for tool in self.world.blueprint.tools
            if tool.kind == "write" and affects(columns_written([effect.sql for effect in tool.effects]), wanted)
        ]
        return writes, [
            event for event in self.world.blueprint.events if affects(columns_written(event.effects), wanted)
        ]

    def _step(self, session: ContractSession, writes: Sequence[Tool], events: Sequence[Event], random: Random) -> bool:
        """Make one lawful call days ago, and the events that follow; False, with nothing done, if there is none."""
        before = session.mark()
        session.now = self._ago(timedelta(days=random.choice(DAYS_AGO)))
        for tool in random.sample(writes, min(TOOLS_PER_STEP, len(writes))):
            search = argument_search(session, tool, random, nodes=60, soon=random.random() < 0.5)
            arguments = next(search.meeting(), None)
            result = session.call(tool.name, arguments) if arguments is not None else None
            if result is not None and result.ok and not result.violations:
                session.now = self._ago(timedelta(hours=1))
                self._apply_events(session, events)
                session.now = self.world.now
                if self._invariants.broken(session) is None:
                    return True
            session.undo(before)
            session.now = self._ago(timedelta(days=random.choice(DAYS_AGO)))
        session.undo(before)
        return False

    def _apply_events(self, session: ContractSession, events: Sequence[Event]) -> None:
        """Apply the back office's events to the rows that were created."""
        for event in events:
            for row in rows_for_event(session, event):
                if _is_about(row, session.minted) and row in rows_for_event(session, event):
                    apply_event(session, event, row)

    def _ago(self, time: timedelta) -> str:
        return (datetime.strptime(self.world.now, DATETIME_FORMAT) - time).strftime(DATETIME_FORMAT)


def _is_about(row: Row, keys: Sequence[str]) -> bool:
    return any(value in keys for value in row.values() if isinstance(value, str))
