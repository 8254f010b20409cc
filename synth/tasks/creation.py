"""Creation: rows that a task needs and the data lack are brought about, in a patch of the task's own.

They come about as all rows of a world do: by lawful calls of the person, days before, and by what the back office then
makes of them. Nothing of it is ever written into the shared database.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random

from skillweave.schema.change import RowChange
from skillweave.schema.contract import Event, Tool
from skillweave.schema.record import Row
from skillweave.schema.template import TaskTemplate
from skillweave.world.session import ContractSession
from skillweave.world.world import World
from synth.graph.edges import Columns, columns_read, columns_written, touches
from synth.history.invariants import broken_invariant
from synth.history.office import candidates, perform
from synth.planner.search import search_in
from synth.planner.values import CLOCK

ATTEMPTS = 6
"""Pasts that one person is given."""
STEPS = 3
"""Calls in one past, at most."""
DAYS = (1, 2, 3, 5, 8, 12)
"""How long ago a past may begin."""


@dataclass
class Creation:
    """Gives persons a past with which a template's calls may become possible."""

    world: World
    template: TaskTemplate
    seed: str

    def pasts(self, caller: str, stuck: int) -> Iterator[list[RowChange]]:
        """Patches that keep the invariants, for a person who does not get beyond the template's call `stuck`."""
        wanted = self._wanted(stuck)
        blueprint = self.world.blueprint
        writes = [
            tool
            for tool in blueprint.tools
            if tool.kind == "write" and touches(columns_written([effect.sql for effect in tool.effects]), wanted)
        ]
        events = [event for event in blueprint.events if touches(columns_written(event.effects), wanted)]
        for attempt in range(ATTEMPTS if writes else 0):
            random = Random(f"{self.seed}/{self.template.id}/{caller}/past/{attempt}")
            with self.world.session(caller=caller) as session:
                yield from self._lived(session, writes, events, random)

    def _wanted(self, stuck: int) -> Columns:
        """What the guards of the calls up to that one look at, and the rows of other domains that they name."""
        found: set[tuple[str, str | None]] = set()
        for call in self.template.calls[: stuck + 1]:
            for guard in self.world.blueprint.tool(call.tool).guards:
                found |= columns_read(guard.holds)
            for reference in call.names.values():
                entity, _ = self.world.blueprint.target(reference)
                found |= {(entity.table, attribute.name) for attribute in entity.attributes}
        return frozenset(found)

    def _lived(
        self, session: ContractSession, writes: Sequence[Tool], events: Sequence[Event], random: Random
    ) -> Iterator[list[RowChange]]:
        """What has changed after each step of one past."""
        days = random.choice(DAYS)
        before: list[RowChange] = []
        for step in range(STEPS):
            session.now = self._ago(timedelta(days=days * (STEPS - step) / STEPS))
            tool = random.choice(writes)
            arguments = next(search_in(session, tool, random, nodes=60, soon=True).meeting(), None)
            result = session.call(tool.name, arguments) if arguments is not None else None
            session.now = self._ago(timedelta(hours=1))
            self._happens(session, events)
            after = session.diff()
            lawful = result is None or not result.violations
            if after != before and lawful and broken_invariant(session, self.world.blueprint) is None:
                yield after
            before = after

    def _happens(self, session: ContractSession, events: Sequence[Event]) -> None:
        """The back office deals with the rows that have come about."""
        for event in events:
            for row in candidates(session, event):
                if _is_about(row, session.minted) and row in candidates(session, event):
                    perform(session, event, row)

    def _ago(self, time: timedelta) -> str:
        return (datetime.strptime(self.world.now, CLOCK) - time).strftime(CLOCK)


def _is_about(row: Row, keys: Sequence[str]) -> bool:
    return any(value in keys for value in row.values() if isinstance(value, str))
