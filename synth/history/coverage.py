"""Coverage of a world: which tools succeed, which effects take place, which guards are once the first to fail.

A figure of what the database offers, found by search and confirmed by making the call. What is not reached is named.
"""

from dataclasses import dataclass, field
from itertools import islice
from random import Random

from skillweave.schema.contract import Guard, Tool
from skillweave.schema.record import Record
from skillweave.world.session import ContractSession
from skillweave.world.world import World
from synth.planner.search import Arguments, Search

CALLERS = 40
"""Persons for whom a call is looked for before it counts as out of reach."""


class Unmet(Record):
    """A guard that nothing in the database breaks first."""

    tool: str
    rule: str


class Coverage(Record):
    tools: int
    tools_succeeding: int
    failing_tools: list[str]
    effects: int
    effects_taking_place: int
    idle_effects: list[str]
    guards: int
    guards_first_broken: int
    unmet: list[Unmet]

    @property
    def reached(self) -> int:
        """Everything reached, as one number by which databases are compared."""
        return self.tools_succeeding * 1000 + self.guards_first_broken * 10 + self.effects_taking_place


@dataclass
class Survey:
    """Surveys a world, at its own `now`."""

    world: World
    callers: list[str]
    random: Random
    effective: dict[str, list[int]] = field(default_factory=dict)
    """Tool -> for each effect, in how many calls of the history it changed a row."""

    def run(self) -> Coverage:
        """What the database offers."""
        blueprint = self.world.blueprint
        failing, idle, unmet = [], [], []
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
                result = session.peek(tool.name, arguments)
                refused = result.error is not None and result.error.rule == guard.rule
                forbidden = next((v.rule for v in result.verdicts if not v.holds), None) == guard.rule
                if refused or forbidden:
                    return arguments
        return None

    def _callers(self, tool: Tool) -> list[str | None]:
        if tool.kind == "auth":
            return [None]
        return list(self.random.sample(self.callers, min(CALLERS, len(self.callers))))

    def _search(self, session: ContractSession, tool: Tool, caller: str | None) -> Search:
        session.caller = caller
        return Search(self.world.blueprint, tool, session, caller, session.now, self.random, nodes=120)
