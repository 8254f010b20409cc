"""Which rules stand in the way of a call: those that given arguments break, and the one that stops everybody."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import NamedTuple

from skillweave.schema.contract import Guard, Tool
from skillweave.schema.record import Json
from skillweave.world.session import ContractSession
from skillweave.world.world import World
from synth.contracts import follows
from synth.search.arguments import ArgumentSearch, argument_search
from synth.search.slots import guard_conditions


def broken_rules(session: ContractSession, tool: Tool, arguments: Mapping[str, Json]) -> list[str]:
    """All rules that a call would break as things stand, the tool's and the agent's, in the order of the guards."""
    sql, used = _all_verdicts(tool)
    given = {**arguments, "caller": session.account(tool.name), "person": session.caller, "now": session.now}
    bound = {name: None if isinstance(value := given.get(name), (list, dict)) else value for name in used}
    row = session.query(sql, bound)[0] if sql else {}
    return [guard.rule for guard, held in zip(tool.guards, row.values(), strict=True) if not held]


@follows
def _all_verdicts(tool: Tool) -> tuple[str, list[str]]:
    """The query whether each guard of a tool holds, in order (empty if it has none), and the names that it binds."""
    guards = guard_conditions(tool)
    tests = (f"(\n{guard.holds}\n) IS TRUE AS held_{n}" for n, guard in enumerate(guards))
    used = frozenset[str]().union(*(guard.bindings for guard in guards))
    return f"SELECT {', '.join(tests)}" if guards else "", sorted(used)


MOST_PERSONS = 20
"""Persons who are tried."""
MOST_NODES = 120
"""Bound on the queries of one search, for one person and rule."""


class BlockingRule(NamedTuple):
    """The rule that stops those who come nearest to a lawful call."""

    guard: Guard
    persons: int
    """How many of those tried fail there, and not before."""
    tried: int
    """How many persons were tried."""

    def __str__(self) -> str:
        who = "the one person who comes" if self.persons == 1 else f"the {self.persons} people who come"
        fails = "fails" if self.persons == 1 else "fail"
        return f"of {self.tried} people tried, {who} nearest {fails} at {self.guard.rule} ({self.guard.says!r})"


def blocking_guard(search: ArgumentSearch) -> int | None:
    """The index of the last guard of the tool at which a call can fail; None if no call has all its arguments."""
    first = {guard.rule: place for place, guard in reversed([*enumerate(search.tool.guards)])}
    # The insertion order is from the last guard to the first.
    return next((at for rule, at in first.items() if next(search.breaking(rule), None) is not None), None)


def blocking_rule(
    session: ContractSession, tool: Tool, callers: Sequence[str | None], random: Random
) -> BlockingRule | None:
    """The rule that stops those who come nearest to a lawful call of a tool; None if no call has all its arguments."""
    tried = callers[:MOST_PERSONS]
    places = []
    before = session.caller
    for caller in tried:
        session.caller = caller
        places.append(blocking_guard(argument_search(session, tool, random, nodes=MOST_NODES)))
    session.caller = before
    return furthest_blocking_rule(tool, places)


def furthest_blocking_rule(tool: Tool, places: Sequence[int | None]) -> BlockingRule | None:
    """The furthest rule of those at which persons fail.

    Args:
        places: For each person the index of the guard that stops them; None: no call has all its arguments.
    """
    known = [place for place in places if place is not None]
    return BlockingRule(tool.guards[max(known)], known.count(max(known)), len(places)) if known else None


def why_nobody_can(world: World, tool: Tool, random: Random) -> str:
    """Why nobody can make a lawful call of a tool, in words for its author."""
    with world.session() as session:
        callers = [str(row[world.blueprint.core.key]) for row in session.rows(world.blueprint.core.table)]
        defect = _defect(session, tool, [None] if tool.kind == "auth" else callers, random)
        if defect:
            return f"nobody can use {tool.name}: {defect}"
        near = blocking_rule(session, tool, [None] if tool.kind == "auth" else callers, random)
    return f"nobody can make one lawful call of {tool.name}: {near or 'there are no rows or values for its arguments'}"


def _defect(session: ContractSession, tool: Tool, callers: Sequence[str | None], random: Random) -> str:
    """What goes wrong in calls that keep every rule; empty if nothing does, or there are none."""
    for caller in callers[:MOST_PERSONS]:
        session.caller = caller
        arguments = next(argument_search(session, tool, random, nodes=MOST_NODES).meeting(), None)
        if arguments is not None:
            mark = session.mark()
            session.call(tool.name, arguments)
            defects = [*session.defects]
            session.forget(mark)
            if defects:
                return f"a call that keeps every rule, {tool.name}({arguments}), fails: {defects[-1]}"
    return ""
