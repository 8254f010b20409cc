"""Splits apart by customer: whoever deals with a company in several worlds is in the same split in each."""

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import pytest

from skillweave.config.sections import SplitsConfig
from skillweave.schema.task import Split
from skillweave.world.world import World
from synth.tasks.selection import SelectionInput, allotted_persons
from synth.tasks.splits import SplitDemand, split_of_customer
from tests.world.fused.domains import a_fused_world, a_world

WORLDS = {"Clinic": a_world("Clinic"), "Gym": a_world("Gym"), "joined": a_fused_world()}
APART = SplitsConfig(validation=0.2, test=0.2, customers_apart=True)


def allotted(world: World, of: Callable[[str], Split] | None, demands: list[SplitDemand]) -> dict[str, Split]:
    """Name -> split of each person of a world."""
    inputs = SelectionInput(world.blueprint, Path(), world.now, [], {}, {}, "7", split_of_customer=of)
    split_of = allotted_persons(world, inputs, demands)
    rows = {caller: world.original(world.people.table, caller) or {} for caller in world.callers}
    return {str(rows[caller]["full_name"]): split for caller, split in split_of.items()}


def demands_of(world: World) -> list[SplitDemand]:
    """What takes the first person for testing and the last one for validation."""
    first, *_, last = world.callers
    return [
        SplitDemand("test", frozenset([first]), 5),
        SplitDemand("validation", frozenset([last]), 5),
        SplitDemand("train", frozenset(world.callers), 1),
    ]


@pytest.mark.parametrize("seed", [str(number) for number in range(20)])
def test_a_person_is_in_one_split_in_all_worlds_whatever_their_templates_need(seed: str) -> None:
    splits = defaultdict[str, set[Split]](set)
    for name, world in WORLDS.items():
        of = split_of_customer(["Clinic", "Gym", "Insurer"] if name == "joined" else [name], APART, seed)
        for person, split in allotted(world, of, demands_of(world)).items():
            splits[person].add(split)
    assert len(splits) > 2
    assert all(len(own) == 1 for own in splits.values())


def test_without_the_option_each_world_allots_by_what_its_templates_need() -> None:
    assert split_of_customer(["Clinic"], SplitsConfig(), "7") is None
    world = WORLDS["Clinic"]
    first = (world.original(world.people.table, world.callers[0]) or {})["full_name"]
    assert allotted(world, None, demands_of(world))[str(first)] == "test"


def test_held_out_worlds_use_everybody_and_mixed_ones_only_who_is_for_testing_elsewhere() -> None:
    splits = APART.model_copy(update={"holdout_domains": ["Gym"]})
    assert split_of_customer(["Gym"], splits, "7") is None, "wherever the gym is, all is for testing"
    mixed = split_of_customer(["Clinic", "Gym"], splits, "7")
    single = split_of_customer(["Clinic"], splits, "7")
    assert mixed is not None
    assert single is not None
    assert all(mixed(name) == single(name) for name in ("Ana Lopez", "Bo Chen", "Cy Diaz"))
