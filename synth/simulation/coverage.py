"""What a world's database offers: which tools succeed, which effects take place, which guards are the first to fail.

Each figure is found by search and confirmed by making the call. What is not reached is named.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from random import Random

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import Guard, Tool
from skillweave.schema.record import Json
from skillweave.schema.reports import DatabaseCoverage, UnmetGuard
from skillweave.world.session import ContractSession
from skillweave.world.world import World
from synth.contracts.visibility import keys_shown
from synth.search.arguments import Arguments, ArgumentSearch
from synth.simulation.events import InvariantMonitor
from synth.simulation.history import History


class RowVisibility:
    """What the reads of one blueprint show."""

    def __init__(self, blueprint: Blueprint) -> None:
        self._blueprint = blueprint

    def shows(self, session: ContractSession, tool: Tool, arguments: Mapping[str, Json]) -> bool:
        """Whether some read may show the caller each row named; reads that have to be given something count as such."""
        return all(
            self._shown(session, parameter.refers_to.partition(".")[0], arguments[parameter.name])
            for parameter in tool.parameters
            if parameter.refers_to and arguments.get(parameter.name) is not None
        )

    def _shown(self, session: ContractSession, entity: str, key: Json) -> bool:
        for read, columns in self._reads.get(entity, ()):
            if any(parameter.required for parameter in read.parameters):
                return True
            value = session.peek(read.name, {}).value
            rows = value if isinstance(value, list) else [value]
            if any(row.get(column) == key for row in rows if isinstance(row, dict) for column in columns):
                return True
        return False

    @cached_property
    def _reads(self) -> dict[str, list[tuple[Tool, set[str]]]]:
        """Entity -> the reads that show keys of its rows, those that need nothing first, with the columns."""
        found: dict[str, list[tuple[Tool, set[str]]]] = {}
        reads = [tool for tool in self._blueprint.tools if tool.kind == "read"]
        for read in sorted(reads, key=lambda read: any(parameter.required for parameter in read.parameters)):
            for entity, columns in keys_shown(self._blueprint, read).items():
                found.setdefault(entity, []).append((read, columns))
        return found


CALLERS = 40
"""Persons for whom a call is looked for before it counts as out of reach."""
ENOUGH = 8
"""Persons who can make a call lawfully, at which counting them stops."""
FEW = 3
"""Of them, those whom every tool has before any has more."""
LAWFUL = 4
"""Lawful calls of one person among which one is sought whose rows they are shown."""


@dataclass
class CoverageSurvey:
    """Surveys a world, at its own `now`, that came of a history."""

    world: World
    callers: list[str]
    random: Random
    history: History
    able: dict[str, int] = field(default_factory=dict)
    """Tool -> persons who can call it lawfully as things stand, on rows that they are shown, up to `ENOUGH`."""
    unsound: list[str] = field(default_factory=list)
    unsound_rules: dict[str, None] = field(default_factory=dict)
    """The rules that these are about, in their order."""
    _succeeding: set[str] = field(default_factory=set)

    def run(self) -> DatabaseCoverage:
        """What the history has shown, and what the database offers."""
        blueprint = self.world.blueprint
        self._watch, self._sight = InvariantMonitor(blueprint), RowVisibility(blueprint)
        failing: list[str] = []
        idle: list[str] = []
        unmet: list[UnmetGuard] = []
        with self.world.session() as session:
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
                    UnmetGuard(tool=tool.name, rule=g.rule) for g in tool.guards if not self._breaks(session, tool, g)
                ]
        guards, effects = sum(len(t.guards) for t in blueprint.tools), sum(len(t.effects) for t in blueprint.tools)
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

    def _changed(self, session: ContractSession, tool: Tool) -> list[int]:
        """Rows that each effect changed, in the history and in lawful calls of a few persons now."""
        changed = list(self.history.effective.get(tool.name, [0] * len(tool.effects)))
        self.able[tool.name] = 0
        for caller in self._callers(tool):
            for arguments in islice(self._search(session, tool, caller).meeting(), LAWFUL):
                result = session.peek(tool.name, arguments)
                if result.ok and not result.violations:
                    self._succeeding.add(tool.name)
                    changed = [sum(pair) for pair in zip(changed, result.changed, strict=True)]
                    if self._sight.shows(session, tool, arguments):
                        self.able[tool.name] += 1
                        break
            if self.able[tool.name] >= ENOUGH or tool.kind == "auth":
                break
        return changed

    def _breaks(self, session: ContractSession, tool: Tool, guard: Guard) -> bool:
        """Whether a call is found that this guard is the first to refuse or forbid."""
        # Only a breach that nothing else refuses shows whether the tool can carry it out soundly.
        ways = (True, False) if guard.enforced_by == "agent" else (False,)
        callers = self._callers(tool)
        for alone in ways:
            for caller in callers:
                search = self._search(session, tool, caller)
                for arguments in islice(search.breaking(guard.rule, alone=alone), 2):
                    if self._is_first(session, tool, guard, arguments):
                        return True
        return False

    def _is_first(self, session: ContractSession, tool: Tool, guard: Guard, arguments: Arguments) -> bool:
        """Whether the call is refused, or forbidden, by this guard first. A breach that corrupts data is noted."""
        mark = session.mark()
        result = session.call(tool.name, arguments)
        if guard.enforced_by == "tool":
            first = result.error is not None and result.error.rule == guard.rule
        else:
            first = next((verdict.rule for verdict in result.verdicts if not verdict.holds), None) == guard.rule
            broken = self._watch.broken(session, [effect.sql for effect in tool.effects]) if result.ok else None
            if first and (broken or (result.error and result.error.code == "world_defect")):
                self.unsound_rules.setdefault(guard.rule)
                self.unsound.append(
                    f"{guard.rule} ({guard.says!r}) is left to the agent, so {tool.name} must stay sound where it is "
                    f"broken; after {tool.name}({arguments}) {broken or session.defects[-1]}"
                )
        session.forget(mark)
        return first

    def _callers(self, tool: Tool) -> list[str | None]:
        if tool.kind == "auth":
            return [None]
        return list(self.random.sample(self.callers, min(CALLERS, len(self.callers))))

    def _search(self, session: ContractSession, tool: Tool, caller: str | None) -> ArgumentSearch:
        session.caller = caller
        return ArgumentSearch(self.world.blueprint, tool, session, caller, session.now, self.random, nodes=120)
