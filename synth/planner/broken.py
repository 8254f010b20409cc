"""Broken rules: which guards of a tool a call would break as things stand, not only the first."""

from collections.abc import Mapping

from skillweave.schema.contract import Tool
from skillweave.schema.record import Json
from skillweave.world.session import ContractSession
from synth.planner.slots import conditions


def broken_by(session: ContractSession, tool: Tool, arguments: Mapping[str, Json]) -> list[str]:
    """Rules of the guards that do not hold, in the order in which they are tried; the tool's and the agent's."""
    given = {name: value for name, value in arguments.items() if not isinstance(value, (list, dict))}
    bound = {
        **{parameter.name: given.get(parameter.name) for parameter in tool.parameters},
        "caller": session.account(tool.name),
        "person": session.caller,
        "now": session.now,
    }
    guards = conditions(tool)
    if not guards:
        return []
    sql = "SELECT " + ", ".join(f"(\n{guard.holds}\n) IS TRUE AS held_{n}" for n, guard in enumerate(guards))
    used = frozenset[str]().union(*(guard.bindings for guard in guards))
    row = session.query(sql, {name: bound[name] for name in sorted(used & bound.keys())})[0]
    return [guard.rule for n, guard in enumerate(guards) if not row[f"held_{n}"]]
