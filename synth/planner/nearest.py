"""Where the calls of a tool fail that nobody can make: the rule at which those fail that come nearest to lawful."""

from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from skillweave.schema.contract import Guard, Tool
from skillweave.world.session import ContractSession
from skillweave.world.world import World
from synth.planner.search import Search, search_in

PERSONS = 20
"""Persons of whom those are sought who come nearest."""
NODES = 120
"""Bound on the queries for each person and rule."""


class Near(NamedTuple):
    guard: Guard
    """The rule at which they fail."""
    persons: int
    """How many of those tried fail there, and not before."""
    tried: int

    def __str__(self) -> str:
        who = "the one person who comes" if self.persons == 1 else f"the {self.persons} people who come"
        fails = "fails" if self.persons == 1 else "fail"
        return f"of {self.tried} people tried, {who} nearest {fails} at {self.guard.rule} ({self.guard.says!r})"


def nearest_rule(search: Search) -> int | None:
    """The place of the last of the tool's guards at which a call can fail; None where no call has all its arguments."""
    first = {guard.rule: place for place, guard in reversed([*enumerate(search.tool.guards)])}
    # The insertion order is from the last guard to the first.
    return next((at for rule, at in first.items() if next(search.breaking(rule), None) is not None), None)


def nearest(session: ContractSession, tool: Tool, callers: Sequence[str | None], random: Random) -> Near | None:
    """Where those fail who come nearest to a lawful call of a tool; None where no call has all its arguments."""
    tried = callers[:PERSONS]
    places = []
    before = session.caller
    for caller in tried:
        session.caller = caller
        places.append(nearest_rule(search_in(session, tool, random, nodes=NODES)))
    session.caller = before
    return near_of(tool, places)


def near_of(tool: Tool, places: Sequence[int | None]) -> Near | None:
    """Of the places at which so many people fail, the furthest."""
    known = [place for place in places if place is not None]
    return Near(tool.guards[max(known)], known.count(max(known)), len(places)) if known else None


def nobody_can(world: World, tool: Tool, random: Random) -> str:
    """In words for an author why nobody can make a lawful call of a tool."""
    with world.session() as session:
        callers = [str(row[world.blueprint.core.key]) for row in session.rows(world.blueprint.core.table)]
        defect = _defect(session, tool, [None] if tool.kind == "auth" else callers, random)
        if defect:
            return f"nobody can use {tool.name}: {defect}"
        near = nearest(session, tool, [None] if tool.kind == "auth" else callers, random)
    return f"nobody can make one lawful call of {tool.name}: {near or 'there are no rows or values for its arguments'}"


def _defect(session: ContractSession, tool: Tool, callers: Sequence[str | None], random: Random) -> str:
    """What goes wrong in calls that keep every rule; empty where there are none, or nothing does."""
    for caller in callers[:PERSONS]:
        session.caller = caller
        arguments = next(search_in(session, tool, random, nodes=NODES).meeting(), None)
        if arguments is not None:
            mark = session.mark()
            session.call(tool.name, arguments)
            defects = [*session.defects]
            session.forget(mark)
            if defects:
                return f"a call that keeps every rule, {tool.name}({arguments}), fails: {defects[-1]}"
    return ""
