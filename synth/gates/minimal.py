"""Gate 3, minimal: every golden write matters, no two undo each other, and every read gives something that is used."""

import re
from itertools import combinations

from evaluator.checks.state import check_state
from skillweave.schema.combination import Combination
from skillweave.schema.record import Json
from skillweave.schema.task import Criteria
from skillweave.world.world import World
from synth.gates.attempt import attempt
from synth.gates.rejection import Rejected

_FROM_CALL = re.compile(r"call (\d+) ")


def minimal(world: World, combination: Combination, criteria: Criteria) -> dict[str, Json]:
    """The gate's figure: how many writes were left out in turn, one by one and two by two."""
    kinds = [world.blueprint.tool(call.tool).kind for call in combination.golden]
    writes = [place for place, kind in enumerate(kinds) if kind == "write"]
    for place in writes:
        if _same_without(world, combination, criteria, {place}):
            raise Rejected("write without outcome", combination.golden[place].tool)
    pairs = list(combinations(writes, 2))
    for pair in pairs:
        if _same_without(world, combination, criteria, set(pair)):
            raise Rejected("undo pair", " and ".join(combination.golden[place].tool for place in pair))
    used = {
        int(found) for call in combination.golden for s in call.grounding.values() for found in _FROM_CALL.findall(s)
    }
    told = {combination.steps[-1]} if combination.communicate else set()
    idle = [
        place
        for place, kind in enumerate(kinds)
        if kind == "read" and place not in used | told | set(combination.steps)
    ]
    if idle:
        raise Rejected("read without use", combination.golden[idle[0]].tool)
    return {"writes": len(writes), "left_out_one": len(writes), "left_out_two": len(pairs)}


def _same_without(world: World, combination: Combination, criteria: Criteria, without: set[int]) -> bool:
    made = attempt(world, combination, without=without)
    return check_state(criteria, made.changes, world.comparison).score == 1
