"""Proof of edges: the producer is run, and the consumer's instance is absent before it and present after it."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from random import Random

from skillweave.schema.record import Json, Value
from skillweave.schema.tool_graph import ToolEdge
from skillweave.world.session import ContractSession
from skillweave.world.world import World
from synth.planner.search import Arguments, Search

CALLERS = 12
"""Persons with whom an edge is tried."""
TRIES = 3
"""Calls of a producer, and instances of a consumer, that are tried for one person."""


@dataclass
class Prover:
    world: World
    callers: Sequence[str]
    random: Random

    def proven(self, edges: Sequence[ToolEdge]) -> list[ToolEdge]:
        """The edges, marked with what running them showed."""
        found = []
        with self.world.session() as session:
            for edge in edges:
                shown = edge.kind in ("data", "state") and self._shows(session, edge)
                proof = "executed" if shown else "unproven" if edge.kind in ("data", "state") else edge.proof
                found.append(edge.model_copy(update={"proof": proof}))
        return found

    def _shows(self, session: ContractSession, edge: ToolEdge) -> bool:
        for caller in self.random.sample(list(self.callers), min(CALLERS, len(self.callers))):
            session.caller = caller
            shown = self._data(session, edge) if edge.kind == "data" else self._state(session, edge)
            if shown:
                return True
        return False

    def _data(self, session: ContractSession, edge: ToolEdge) -> bool:
        """A call of the consumer whose argument is a value that the producer returned, and nobody had said before."""
        for arguments in islice(self._search(session, edge.source).meeting(), TRIES):
            mark = session.mark()
            result = session.call(edge.source, arguments)
            values = _values(result.value, edge.column or "") if result.ok else []
            for value in values[:TRIES]:
                fixed: dict[str, Value] = {edge.parameter or "": value}
                consumer = next(self._search(session, edge.target, fixed).meeting(), None)
                if consumer is not None and session.peek(edge.target, consumer).ok:
                    session.forget(mark)
                    # A read shows what was there; a write's own row must not have been callable before it.
                    return self.world.blueprint.tool(edge.source).kind != "write" or self._absent(
                        session, edge.target, consumer
                    )
            session.forget(mark)
        return False

    def _state(self, session: ContractSession, edge: ToolEdge) -> bool:
        """An instance of the consumer that the rule breaks, and that goes through once the producer has run."""
        broken = list(islice(self._search(session, edge.target).breaking(edge.rule or ""), TRIES))
        if not broken:
            return False
        for arguments in islice(self._search(session, edge.source).meeting(), TRIES):
            mark = session.mark()
            if session.call(edge.source, arguments).ok:
                for instance in broken:
                    result = session.peek(edge.target, instance)
                    if result.ok and edge.rule not in result.violations:
                        session.forget(mark)
                        return True
            session.forget(mark)
        return False

    def _absent(self, session: ContractSession, tool: str, arguments: Arguments) -> bool:
        result = session.peek(tool, arguments)
        return not result.ok or bool(result.violations)

    def _search(self, session: ContractSession, tool: str, fixed: dict[str, Value] | None = None) -> Search:
        found = self.world.blueprint.tool(tool)
        return Search(
            self.world.blueprint, found, session, session.caller, session.now, self.random, fixed or {}, nodes=30
        )


def _values(value: Json, column: str) -> list[Value]:
    rows = value if isinstance(value, list) else [value]
    found = [row.get(column) for row in rows if isinstance(row, dict)]
    return [cell for cell in dict.fromkeys(c for c in found if isinstance(c, (str, int, float))) if cell is not None]
