"""Gate: every golden write matters, no writes undo each other, and the task uses every read."""

import re
from collections.abc import Sequence
from itertools import combinations

from evaluator.checks.state import check_state
from skillweave.schema.combination import Combination
from skillweave.schema.contract import SESSION_TOOLS
from skillweave.schema.criteria import Criteria
from skillweave.schema.record import Json
from skillweave.world.canonical import dump
from skillweave.world.tools import tool_of
from skillweave.world.world import World
from synth.gates.declined import calls_showing_reason
from synth.gates.gate import TaskGate
from synth.tasks.outcomes import deciding_calls
from synth.tasks.replay import GoldenRun, Rejected, rows_of, run_golden

_FROM_CALL = re.compile(r"call (\d+) ")
MOST = 6
"""With up to so many golden writes the gate leaves out every subset; with more, up to three writes at once."""


GATE = TaskGate(
    name="minimal",
    proves="Every write matters, no writes undo each other, and every read is of use.",
    runs=(
        "The golden calls without each write, and without several at once; a read is used if a needed call takes "
        "an argument from it or it returns a fact that the user wants to know."
    ),
    figures={
        "minimal.writes": "golden writes",
        "minimal.left_out_one": "writes left out alone",
        "minimal.left_out_several": "sets of several writes left out",
    },
    reasons=(
        "write without outcome",
        "undo pair",
        "read without use",
    ),
    check=lambda judged: {"minimal": check_minimal(judged.world, judged.combination, judged.criteria, judged.golden)},
)


def check_minimal(world: World, combination: Combination, criteria: Criteria, run: GoldenRun) -> dict[str, Json]:
    """The gate's figures: how many writes it left out alone, and how many sets of several."""
    kinds = [tool_of(world.blueprint, call.tool).kind for call in combination.golden]
    # What the user thinks better of may leave no trace: the second wish undoes or amends it.
    writes = [place for place, kind in enumerate(kinds) if kind == "write" and place not in combination.replaced]
    several = 0
    for size in range(1, len(writes) if len(writes) <= MOST else 4):
        for places in combinations(writes, size):
            several += size > 1
            if _same_without(world, combination, criteria, set(places)):
                reason = "write without outcome" if size == 1 else "undo pair"
                raise Rejected(reason, " and ".join(combination.golden[place].tool for place in places))
    if len(writes) == 1 and _same_without(world, combination, criteria, set(writes)):
        raise Rejected("write without outcome", combination.golden[writes[0]].tool)
    needed = _needed(world, combination, run, kinds)
    idle = [place for place, kind in enumerate(kinds) if kind == "read" and place not in needed]
    if idle:
        raise Rejected("read without use", combination.golden[idle[0]].tool)
    return {"writes": len(writes), "left_out_one": len(writes), "left_out_several": several}


def _same_without(world: World, combination: Combination, criteria: Criteria, without: set[int]) -> bool:
    run = run_golden(world, combination, without=without)
    return check_state(criteria, run.changes, world.comparison).score == 1


def _needed(world: World, combination: Combination, run: GoldenRun, kinds: Sequence[str]) -> set[int]:
    """Calls that change something, sign in, transfer, return a fact to tell or a column that decides a rule, or give an
    argument to a needed call or to the requested one."""
    calls = combination.calls
    needed = {place for place, kind in enumerate(kinds) if kind != "read" or calls[place].tool in SESSION_TOOLS}
    needed |= {place for place in range(len(kinds)) if _tells(combination, run, place)}
    needed |= {*range(len(kinds), len(calls)), *calls_showing_reason(world, combination)}
    needed |= deciding_calls(world, combination)
    for place in reversed(range(len(calls))):
        if place in needed:
            sources = calls[place].grounding.values()
            needed |= {int(place_of_source) for source in sources for place_of_source in _FROM_CALL.findall(source)}
    return needed


def _tells(combination: Combination, run: GoldenRun, place: int) -> bool:
    values = {dump(value) for row in rows_of(run.results[place]) for value in row.values()}
    shown = (value for fact in combination.communicate for part in fact.shown for value in part)
    return any(dump(value) in values for value in shown)
