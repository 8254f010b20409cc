"""Golden calls of single-domain tasks in a fused world: the same as at home, but for what bridge rules change."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from skillweave.errors import WorldError
from skillweave.schema.blueprint import Blueprint
from skillweave.schema.combination import Combination
from skillweave.schema.fused import BridgeRule, FusedBlueprint
from skillweave.schema.fusion import Replays
from skillweave.world.world import World
from synth.fusion.goldens import replayed


class Home(NamedTuple):
    """A domain's own world, and the combinations that were kept of it."""

    blueprint: Blueprint
    database: Path
    combinations: list[Combination]


def replayed_in(
    contract: FusedBlueprint, bridges: Sequence[BridgeRule], database: Path, now: str, homes: Sequence[Home]
) -> Replays:
    """What became of all golden calls. WorldError, with its id, where one gives something else without bridge rules."""
    plain, bridged = World(contract, database, now=now), World(contract.with_bridges(bridges), database, now=now)
    count = 0
    changed: dict[str, list[str]] = {}
    for home in homes:
        single = World(home.blueprint, home.database, now=now)
        for combination in home.combinations:
            caller = combination.caller if combination.login == "session" else None
            found = replayed(single, plain, combination.golden, caller=caller, now=combination.now)
            if found.differences:
                raise WorldError(f"{combination.id} is not the same in {contract.server}: {found.differences[0]}")
            found = replayed(single, bridged, combination.golden, caller=caller, now=combination.now)
            for rule in dict.fromkeys(found.bridges):
                changed.setdefault(rule, []).append(combination.id)
            count += 1
        single.close()
    plain.close()
    bridged.close()
    return Replays(name=contract.server, replayed=count, changed={rule: changed[rule] for rule in sorted(changed)})
