"""Proof of tool-graph edges: the producer is run; the consumer's call is impossible before it and possible after it.

All edges of a producer share its runs: a call is made once, and every edge that is still open looks at the result.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from random import Random

from skillweave.schema.call import CallResult
from skillweave.schema.record import Json, Value
from skillweave.schema.template import ToolEdge
from skillweave.world.session import ContractSession
from skillweave.world.world import World
from synth.contracts.visibility import keys_shown
from synth.search.arguments import Arguments, ArgumentSearch

CALLERS_TRIED = 16
"""Persons with whom a producer is tried."""
MOST_TRIES = 4
"""Calls of a producer that are tried for one person, and values of its result that are tried in a consumer."""
MOST_INSTANCES = 3
"""Calls of a consumer that are searched with one set of values."""


@dataclass
class EdgeProver:
    """Runs the edges of one world's tool graph; the world's state stays as it is."""

    world: World
    callers: Sequence[str]
    """Keys of the persons."""
    random: Random

    def proven(self, edges: Sequence[ToolEdge]) -> list[ToolEdge]:
        """The same edges; each data or state edge is marked `executed` or `unproven`."""
        by_source: dict[str, dict[int, ToolEdge]] = {}
        for place, edge in enumerate(edges):
            if edge.kind in ("data", "state"):
                by_source.setdefault(edge.source, {})[place] = edge
        proven_edges: set[int] = set()
        with self.world.session() as session:
            for source, own in by_source.items():
                proven_edges |= self._shown(session, source, own)
        return [
            edge.model_copy(update={"proof": "executed" if place in proven_edges else "unproven"})
            if edge.kind in ("data", "state")
            else edge
            for place, edge in enumerate(edges)
        ]

    def _shown(self, session: ContractSession, source: str, edges: dict[int, ToolEdge]) -> set[int]:
        """Which of a producer's edges, by their number, its runs prove."""
        proven_edges: set[int] = set()
        for caller in self.random.sample(list(self.callers), min(CALLERS_TRIED, len(self.callers))):
            session.caller = caller
            for arguments in list(islice(self._search(session, source).meeting(), MOST_TRIES)):
                still = {place: edge for place, edge in edges.items() if place not in proven_edges}
                if not still:
                    return proven_edges
                mark = session.mark()
                result = session.call(source, arguments)
                present = self._present(session, still, result) if result.ok else {}
                session.forget(mark)
                proven_edges |= {
                    place
                    for place, instances in present.items()
                    if any(self._was_absent(session, still[place], instance) for instance in instances)
                }
        return proven_edges

    def _present(
        self, session: ContractSession, edges: Mapping[int, ToolEdge], result: CallResult
    ) -> dict[int, list[Arguments]]:
        """Edge -> calls of its consumer that succeed now that the producer has run."""
        calls_by_consumer: dict[tuple[str, str], list[Arguments]] = {}
        present = {}
        for place, edge in edges.items():
            key = (edge.target, f"{edge.parameter} {edge.column}")
            if key not in calls_by_consumer:
                calls_by_consumer[key] = [
                    instance
                    for fixed in self._fixed(edge, result)
                    for instance in islice(self._search(session, edge.target, fixed).meeting(), MOST_INSTANCES)
                    if session.peek(edge.target, instance).ok
                ]
            present[place] = calls_by_consumer[key]
        return present

    def _fixed(self, edge: ToolEdge, result: CallResult) -> list[dict[str, Value]]:
        """Sets of fixed arguments for the consumer: the values that the producer took and returned."""
        if edge.kind == "data":
            values = _values(result.value, edge.column or "")
            return [{edge.parameter or "": value} for value in self.random.sample(values, min(MOST_TRIES, len(values)))]
        blueprint = self.world.blueprint
        producer = blueprint.tool(edge.source)
        keys = {producer.parameter(name).refers_to: value for name, value in result.call.arguments.items()}
        shown = keys_shown(blueprint, producer)
        shared: dict[str, Value] = {}
        for parameter in blueprint.tool(edge.target).parameters:
            columns = sorted(shown.get((parameter.refers_to or "").partition(".")[0], set()))
            candidates: list[Json] = [keys.get(parameter.refers_to)]
            candidates += [value for column in columns for value in _values(result.value, column)]
            known = next((value for value in candidates if isinstance(value, str)), None)
            if parameter.refers_to and known is not None:
                shared[parameter.name] = known
        return [shared, {}] if shared else [{}]

    def _was_absent(self, session: ContractSession, edge: ToolEdge, instance: Arguments) -> bool:
        """Whether the consumer's call failed before, and for the edge's own rule if it names one."""
        if edge.kind == "data" and self.world.blueprint.tool(edge.source).kind != "write":
            # A read makes no rows. What it shows was there before, but nobody could have known the key.
            return True
        result = session.peek(edge.target, instance)
        if edge.kind == "data":
            return not result.ok or bool(result.violations)
        return edge.rule in result.violations or (result.error is not None and result.error.rule == edge.rule)

    def _search(self, session: ContractSession, tool: str, fixed: dict[str, Value] | None = None) -> ArgumentSearch:
        contract = self.world.blueprint.tool(tool)
        return ArgumentSearch(
            self.world.blueprint, contract, session, session.caller, session.now, self.random, fixed or {}, nodes=30
        )


def _values(value: Json, column: str) -> list[Value]:
    rows = value if isinstance(value, list) else [value]
    cells = [row.get(column) for row in rows if isinstance(row, dict)]
    return list(dict.fromkeys(cell for cell in cells if isinstance(cell, (str, int, float))))
