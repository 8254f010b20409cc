"""What a world's database offers: which tools succeed, which effects take place, which guards are the first to fail.

Each figure is found by search and confirmed by making the call. What is not reached is named.

Proof of tool-graph edges: the producer is run; the consumer's call is impossible before it and possible after it.

All edges of a producer share its runs: a call is made once, and every edge that is still open looks at the result.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, islice
from random import Random
from typing import NamedTuple

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import CallResult, Enforcer, Guard, Tool
from skillweave.schema.record import Json, Value
from skillweave.schema.reports import DatabaseCoverage, UnmetGuard
from skillweave.schema.template import ToolEdge
from skillweave.world.session import ContractSession
from skillweave.world.world import World
from synth.contracts.visibility import keys_shown
from synth.contracts.writes import affects, columns_read, columns_written
from synth.search.arguments import Arguments, ArgumentSearch
from synth.simulation.events import InvariantMonitor
from synth.simulation.history import History


class RowVisibility:
    """Which rows the reads of one blueprint show. A call on rows that no read shows could be no task."""

    def __init__(self, blueprint: Blueprint) -> None:
        self._blueprint = blueprint

    def shows(self, session: ContractSession, tool: Tool, arguments: Mapping[str, Json]) -> bool:
        """Whether some read may show the caller each row that the arguments name.

        A read that must be given an argument counts as one that may.
        """
        return all(
            self._shown(session, parameter.refers_to.partition(".")[0], arguments[parameter.name])
            for parameter in tool.parameters
            if parameter.refers_to and arguments.get(parameter.name) is not None
        )

    def _shown(self, session: ContractSession, entity: str, key: Json) -> bool:
        for read, columns in self._reads_by_entity.get(entity, ()):
            if any(parameter.required for parameter in read.parameters):
                return True
            value = session.peek(read.name, {}).value
            rows = value if isinstance(value, list) else [value]
            if any(row.get(column) == key for row in rows if isinstance(row, dict) for column in columns):
                return True
        return False

    @cached_property
    def _reads_by_entity(self) -> dict[str, list[tuple[Tool, set[str]]]]:
        """Entity -> the reads that show keys of its rows, with the columns; reads without required parameters first."""
        reads_by_entity: dict[str, list[tuple[Tool, set[str]]]] = {}
        reads = [tool for tool in self._blueprint.tools if tool.kind == "read"]
        for read in sorted(reads, key=lambda read: any(parameter.required for parameter in read.parameters)):
            for entity, columns in keys_shown(self._blueprint, read).items():
                reads_by_entity.setdefault(entity, []).append((read, columns))
        return reads_by_entity


CALLERS_TRIED = 40
"""Persons for whom a call is searched before it counts as out of reach."""
ENOUGH = 8
"""Persons who can make a call lawfully, at which counting them mostly stops."""
FEW = 3
"""As many of them every tool should have before any tool has more."""
LAWFUL_CALLS = 4
"""Lawful calls of one person that are tried, until one names only rows that they are shown."""


class SurveyScope(NamedTuple):
    """What a survey looks at."""

    enough: int = ENOUGH
    """Persons who can make a call lawfully, at which counting them stops."""
    enforcers: frozenset[Enforcer] = frozenset({"tool", "agent"})
    """Whose guards are to be broken."""


WHOLE = SurveyScope()
BRIEF = SurveyScope(1, frozenset({"agent"}))
"""What shows the defects of a contract: tools that nobody can use, and agent-held rules whose breach corrupts data."""


@dataclass(frozen=True)
class Witnesses:
    """Calls that show what a survey has found. A later survey tries them first, and searches where they fail."""

    able: dict[str, dict[str | None, Arguments]] = field(default_factory=dict)
    """Tool -> persons who can call it lawfully, on rows that they are shown, counted up to enough -> their call."""
    breaches: dict[tuple[str, str], tuple[str | None, Arguments]] = field(default_factory=dict)
    """Tool and rule -> somebody whose call the rule is the first to refuse or forbid, and the call."""


@dataclass
class CoverageSurvey:
    """A survey of the world that a history has left, at the world's own `now`."""

    world: World
    callers: list[str]
    """Keys of the persons."""
    random: Random
    history: History
    scope: SurveyScope = WHOLE
    earlier: Witnesses = field(default_factory=Witnesses)
    """What a survey has found before something in this world was changed."""
    found: Witnesses = field(default_factory=Witnesses)
    unsound: list[str] = field(default_factory=list)
    """Breaches of agent-held rules that corrupt data, in words for the blueprint's author."""
    unsound_rules: dict[str, None] = field(default_factory=dict)
    """The rules of `unsound`, in their order; the values mean nothing."""
    _succeeding: set[str] = field(default_factory=set)

    def run(self) -> DatabaseCoverage:
        """Survey every tool: what the history has shown, and what the database offers."""
        blueprint = self.world.blueprint
        self._monitor, self._visibility = InvariantMonitor(blueprint), RowVisibility(blueprint)
        failing, idle, unmet = list[str](), list[str](), list[UnmetGuard]()
        with self.world.sharing(), self.world.session() as session:
            for tool in blueprint.tools:
                changed = self._changed(session, tool)
                if tool.name not in self._succeeding and not self.history.succeeded.get(tool.name):
                    failing.append(tool.name)
                idle += [
                    f"{tool.name}: effect {place + 1} ({effect.rule})"
                    for place, effect in enumerate(tool.effects)
                    if not changed[place]
                ]
                unmet += [
                    UnmetGuard(tool=tool.name, rule=guard.rule)
                    for guard in self._guards(tool)
                    if not self._breaks(session, tool, guard)
                ]
        guards = sum(len(self._guards(tool)) for tool in blueprint.tools)
        effects = sum(len(tool.effects) for tool in blueprint.tools)
        return DatabaseCoverage(
            tools=len(blueprint.tools),
            tools_succeeding=len(blueprint.tools) - len(failing),
            failing_tools=failing,
            effects=effects,
            effects_taking_place=effects - len(idle),
            idle_effects=idle,
            guards=guards,
            guards_first_broken=guards - len(unmet),
            unmet=unmet,
            unsound=self.unsound,
        )

    def _guards(self, tool: Tool) -> list[Guard]:
        return [guard for guard in tool.guards if guard.enforced_by in self.scope.enforcers]

    def _changed(self, session: ContractSession, tool: Tool) -> list[int]:
        """Rows that each effect changed, in the history and in lawful calls of some persons now. Notes who is able."""
        changed_rows = list(self.history.effective.get(tool.name, [0] * len(tool.effects)))
        able = self.found.able.setdefault(tool.name, {})
        known = self.earlier.able.get(tool.name, {})
        for caller in sorted(self._callers(tool), key=lambda caller: caller not in known):
            search = self._search(session, tool, caller)
            tried = [known[caller]] if caller in known else []
            for arguments in chain(tried, islice(search.meeting(), LAWFUL_CALLS)):
                result = session.peek(tool.name, arguments)
                if result.ok and not result.violations:
                    self._succeeding.add(tool.name)
                    changed_rows = [sum(pair) for pair in zip(changed_rows, result.changed, strict=True)]
                    if self._visibility.shows(session, tool, arguments):
                        able[caller] = arguments
                        break
            if len(able) >= self.scope.enough or tool.kind == "auth":
                break
        return changed_rows

    def _breaks(self, session: ContractSession, tool: Tool, guard: Guard) -> bool:
        """Whether a call is found that this guard is the first to refuse or forbid."""
        if (place := (tool.name, guard.rule)) in self.earlier.breaches:
            session.caller, known = self.earlier.breaches[place]
            if self._is_first(session, tool, guard, known):
                return True
        # Only a breach that no other guard refuses shows whether the tool can carry it out soundly.
        modes = (True, False) if guard.enforced_by == "agent" else (False,)
        callers = self._callers(tool)
        for alone in modes:
            for caller in callers:
                search = self._search(session, tool, caller)
                for arguments in islice(search.breaking(guard.rule, alone=alone), 2):
                    if self._is_first(session, tool, guard, arguments):
                        return True
        return False

    def _is_first(self, session: ContractSession, tool: Tool, guard: Guard, arguments: Arguments) -> bool:
        """Whether this guard is the first to refuse or forbid the call. A breach that corrupts data is noted."""
        mark = session.mark()
        result = session.call(tool.name, arguments)
        if guard.enforced_by == "tool":
            first = result.error is not None and result.error.rule == guard.rule
        else:
            first = next((verdict.rule for verdict in result.verdicts if not verdict.holds), None) == guard.rule
            broken = self._monitor.broken(session, [effect.sql for effect in tool.effects]) if result.ok else None
            if first and (broken or (result.error and result.error.code == "world_defect")):
                self.unsound_rules.setdefault(guard.rule)
                self.unsound.append(
                    f"{guard.rule} ({guard.says!r}) is left to the agent, so {tool.name} must stay sound where it is "
                    f"broken; after {tool.name}({arguments}) {broken or session.defects[-1]}"
                )
        session.forget(mark)
        if first:
            self.found.breaches[tool.name, guard.rule] = session.caller, arguments
        return first

    def _callers(self, tool: Tool) -> list[str | None]:
        if tool.kind == "auth":
            return [None]
        return list(self.random.sample(self.callers, min(CALLERS_TRIED, len(self.callers))))

    def _search(self, session: ContractSession, tool: Tool, caller: str | None) -> ArgumentSearch:
        session.caller = caller
        return ArgumentSearch(self.world.blueprint, tool, session, caller, session.now, self.random, nodes=120)


CALLERS_PER_EDGE = 16
"""Persons with whom a producer is tried."""
MOST_WRITES, MOST_READS = 2, 4
"""Calls of a producer that are tried for one person."""
MOST_TRIES = 4
"""Values of its result that are tried in a consumer."""
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
            if edge.kind in ("data", "state") and self._can_be_shown(edge):
                by_source.setdefault(edge.source, {})[place] = edge
        proven_edges: set[int] = set()
        with self.world.sharing(), self.world.session() as session:
            for source, own in by_source.items():
                proven_edges |= self._shown(session, source, own)
        return [
            edge.model_copy(update={"proof": "executed" if place in proven_edges else "unproven"})
            if edge.kind in ("data", "state")
            else edge
            for place, edge in enumerate(edges)
        ]

    def _can_be_shown(self, edge: ToolEdge) -> bool:
        """Whether a producer matters: a write that makes rows the consumer names, or changes what its guards read."""
        blueprint = self.world.blueprint
        source, target = blueprint.tool(edge.source), blueprint.tool(edge.target)
        written = columns_written([effect.sql for effect in source.effects])
        entity = blueprint.target(target.parameter(edge.parameter).refers_to or "")[0] if edge.parameter else None
        made = source.kind != "write" or entity is None or (entity.table, None) in written
        return made or any(affects(written, columns_read(guard.holds)) for guard in target.guards)

    def _shown(self, session: ContractSession, source: str, edges: dict[int, ToolEdge]) -> set[int]:
        """Which of a producer's edges, by their number, its runs prove."""
        proven_edges: set[int] = set()
        runs = MOST_WRITES if self.world.blueprint.tool(source).kind == "write" else MOST_READS
        for caller in self.random.sample(list(self.callers), min(CALLERS_PER_EDGE, len(self.callers))):
            session.caller = caller
            for arguments in list(islice(self._search(session, source).meeting(), runs)):
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
