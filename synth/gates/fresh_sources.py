"""Gate: no argument comes from a read that a golden write has made out of date.

An agent that reads again before the call would see another value and be as right as the golden calls. So if there are
writes between a read and the call that takes a value from it, the gate repeats the read just before that call.
"""

import re

from skillweave.schema.combination import Combination
from skillweave.schema.record import Json
from skillweave.world.canonical import dump
from skillweave.world.replay import ResultReference, rebound, result_reference, value_at
from skillweave.world.session import ContractSession
from skillweave.world.tools import tool_of
from skillweave.world.world import World
from synth.gates.gate import TaskGate
from synth.tasks.replay import Rejected, open_session, rows_of

_ROW = re.compile(r"\[\d+\]\.(?P<column>\w+)")


GATE = TaskGate(
    name="fresh_sources",
    proves="No argument comes from a read that is out of date when it is used.",
    runs="Each read with a write between it and the call that uses it, repeated just before that call.",
    figures={
        "grounded.read_again": "reads repeated",
    },
    reasons=("stale source",),
    check=lambda judged: {"grounded": {"read_again": check_fresh_sources(judged.world, judged.combination)}},
)


def check_fresh_sources(world: World, combination: Combination) -> int:
    """Count the reads repeated. Raises Rejected if one of them gives another value by then."""
    kinds = [tool_of(world.blueprint, call.tool).kind for call in combination.golden]
    again = 0
    with open_session(world, combination) as session:
        for place, call in enumerate(combination.golden):
            for name, grounding in call.grounding.items():
                source = result_reference(grounding)
                if source is None or kinds[source.call] != "read" or "write" not in kinds[source.call : place]:
                    continue
                again += 1
                value = _by_now(session, combination, source)
                if value is not None and dump(value) != dump(value_at(session.results[source.call].value, source.path)):
                    raise Rejected("stale source", f"{call.tool}.{name}: {grounding} is {value!r} by then")
            session.call(call.tool, rebound(call, session.results))
    return again


def _by_now(session: ContractSession, combination: Combination, source: ResultReference) -> Json:
    """The value that the read would give for the same row now; None if it no longer shows that row."""
    golden = combination.golden[source.call]
    before = session.results[source.call]
    result = session.peek(golden.tool, before.call.arguments)
    in_list = _ROW.fullmatch(source.path)
    if in_list is None:
        try:
            return value_at(result.value, source.path)
        except LookupError:
            return None
    row = value_at(before.value, source.path.partition("]")[0] + "]")
    keys = [name for name in row if name.endswith("_id")] if isinstance(row, dict) else []
    same = [other for other in rows_of(result) if keys and isinstance(row, dict) and other.get(keys[0]) == row[keys[0]]]
    return same[0].get(in_list["column"]) if len(same) == 1 else None
