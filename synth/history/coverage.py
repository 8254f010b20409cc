"""Coverage of a world: which tools succeed, which effects take place, which guards are once the first to fail.

A figure of what the database offers, found by search and confirmed by making the call. What is not reached is named.
"""

from dataclasses import dataclass, field
from itertools import islice
from random import Random

from skillweave.schema.contract import Guard, Tool
from skillweave.schema.summary import Coverage, Unmet
from skillweave.world.session import ContractSession
from skillweave.world.world import World
from synth.history.invariants import broken_invariant
from synth.planner.search import Arguments, Search

CALLERS = 40
"""Persons for whom a call is looked for before it counts as out of reach."""


@dataclass
class Survey:
    """Surveys a world, at its own `now`."""

    world: World
    callers: list[str]
    random: Random
    effective: dict[str, list[int]] = field(default_factory=dict)
    """Tool -> for each effect, in how many calls of the history it changed a row."""
    unsound: list[str] = field(default_factory=list)

    def run(self) -> Coverage:
        """What the database offers."""
        blueprint = self.world.blueprint
        failing: list[str] = []
        idle: list[str] = []
        unmet: list[Unmet] = []
        with self.world.session() as session:
            for tool in blueprint.tools:
                changed = self._succeeds(session, tool)
                if changed is None:
                    failing.append(tool.name)
                history = self.effective.get(tool.name, [0] * len(tool.effects))
                for place, effect in enumerate(tool.effects):
                    if not history[place] and not (changed and changed[place]):
                        idle.append(f"{tool.name}: effect {place + 1} ({effect.rule})")
                unmet += [Unmet(tool=tool.name, rule=g.rule) for g in tool.guards if not self._breaks(session, tool, g)]
        guards, effects = sum(len(t.guards) for t in blueprint.tools), sum(len(t.effects) for t in blueprint.tools)
        return Coverage(
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

    def _succeeds(self, session: ContractSession, tool: Tool) -> list[int] | None:
        """Rows that each effect changed in a lawful call; None where there is none."""
        for caller in self._callers(tool):
            for arguments in islice(self._search(session, tool, caller).meeting(), 2):
                result = session.peek(tool.name, arguments)
                if result.ok and not result.violations:
                    return result.changed
        return None

    def _breaks(self, session: ContractSession, tool: Tool, guard: Guard) -> Arguments | None:
        """A call that this guard is the first to refuse or forbid; None where there is none."""
        for caller in self._callers(tool):
            for arguments in islice(self._search(session, tool, caller).breaking(guard.rule), 2):
                if self._is_first(session, tool, guard, arguments):
                    return arguments
        return None

    def _is_first(self, session: ContractSession, tool: Tool, guard: Guard, arguments: Arguments) -> bool:
        """Whether the call is refused, or forbidden, by this guard first. A breach that corrupts data is noted."""
        mark = session.mark()
        result = session.call(tool.name, arguments)
        if guard.enforced_by == "tool":
            first = result.error is not None and result.error.rule == guard.rule
        else:
            first = next((verdict.rule for verdict in result.verdicts if not verdict.holds), None) == guard.rule
            broken = broken_invariant(session, self.world.blueprint) if result.ok else None
            if first and (broken or (result.error and result.error.code == "world_defect")):
                self.unsound.append(f"{tool.name} against {guard.rule}: {broken or session.defects[-1]}")
        session.forget(mark)
        return first

    def _callers(self, tool: Tool) -> list[str | None]:
        if tool.kind == "auth":
            return [None]
        return list(self.random.sample(self.callers, min(CALLERS, len(self.callers))))

    def _search(self, session: ContractSession, tool: Tool, caller: str | None) -> Search:
        session.caller = caller
        return Search(self.world.blueprint, tool, session, caller, session.now, self.random, nodes=120)
