"""The catalogue's bridges between companies for travellers: every file, for every pair or triple of settings."""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import combinations, product

import pytest

from skillweave.schema.blueprint import BridgeRule, FusedBlueprint
from skillweave.schema.fusion import StoryCall, Storyline
from synth.fusion.blueprint import fuse
from synth.fusion.bridge_rules import bridge_faults
from synth.offline.bridging import called, stories_between
from synth.offline.services import built_in
from synth.stories.faults import story_faults
from tests.policy.contracts import a_contract

SERVICES = ("airline", "car_rental", "hotel", "travel_insurance")
SLOT = re.compile(r"\{(\w+)\}")


def sets_of(size: int) -> list[tuple[str, ...]]:
    """Domains of so many different services, in every setting of each."""
    settings = {name: [one.domain for one in built_in().services[name].header.settings] for name in SERVICES}
    return [found for names in combinations(SERVICES, size) for found in product(*(settings[name] for name in names))]


def triples() -> list[tuple[str, ...]]:
    """Of three services each, their first settings and their last ones."""
    every = sets_of(3)
    return [found for number, found in enumerate(every) if number % 8 in (0, 7)]


@cache
def a_world(domains: tuple[str, ...], seed: int) -> tuple[FusedBlueprint, list[Storyline]]:
    fused = fuse([a_contract(domain, seed) for domain in domains])
    return fused, stories_between(fused, seed, built_in())


def rules_of(stories: Sequence[Storyline]) -> dict[str, BridgeRule]:
    return {rule.rule: rule for story in stories for rule in story.bridges}


@pytest.mark.parametrize("seed", [7, pytest.param(3, marks=pytest.mark.long)])
@pytest.mark.parametrize("domains", sets_of(2), ids="-".join)
def test_every_pair_has_sound_stories_and_rules(domains: tuple[str, ...], seed: int) -> None:
    fused, stories = a_world(domains, seed)
    assert len(stories) >= 4
    assert story_faults(stories, fused) == []
    assert bridge_faults(list(rules_of(stories).values()), fused) == {}


@pytest.mark.parametrize("domains", triples(), ids="-".join)
def test_every_triple_has_sound_stories_and_rules(domains: tuple[str, ...]) -> None:
    fused, stories = a_world(domains, 7)
    assert stories
    assert story_faults(stories, fused) == []
    assert bridge_faults(list(rules_of(stories).values()), fused) == {}


@pytest.mark.parametrize("domains", [*sets_of(2), *triples()], ids="-".join)
def test_rules_of_one_name_are_one_rule(domains: tuple[str, ...]) -> None:
    texts: dict[str, set[str]] = {}
    for story in a_world(domains, 7)[1]:
        for rule in story.bridges:
            texts.setdefault(rule.rule, set()).add(rule.model_dump_json())
    assert [name for name, found in texts.items() if len(found) > 1] == []


@pytest.mark.parametrize("domains", sets_of(2), ids="-".join)
def test_at_least_half_of_the_stories_of_a_pair_need_a_call_that_a_rule_demands(domains: tuple[str, ...]) -> None:
    stories = a_world(domains, 7)[1]
    demanding = [story for story in stories if any(call.demanded_by for call in story.calls)]
    assert 2 * len(demanding) >= len(stories)


@pytest.mark.parametrize("domains", [*sets_of(2), *triples()], ids="-".join)
def test_every_call_is_asked_for_in_several_ways_that_name_only_its_own_arguments(domains: tuple[str, ...]) -> None:
    fused, stories = a_world(domains, 7)
    for story, call, phrases in _asked(stories):
        taken = {one.name for one in fused.tool(fused.member(call.server).tools[call.tool]).parameters}
        assert len(set(phrases)) >= 3, f"{story.name}: {call.tool}"
        assert {slot for phrase in phrases for slot in SLOT.findall(phrase)} <= taken, f"{story.name}: {phrases}"


def _asked(stories: Sequence[Storyline]) -> Iterator[tuple[Storyline, StoryCall, list[str]]]:
    for story in stories:
        for call in story.calls:
            yield story, call, call.ask


@pytest.mark.parametrize("domains", sets_of(2), ids="-".join)
def test_every_reason_of_a_pair_names_both_companies(domains: tuple[str, ...]) -> None:
    fused, stories = a_world(domains, 7)
    for story in stories:
        assert len(story.reasons) >= 3
        assert [r for r in story.reasons if not all(called(member.title) in r for member in fused.members)] == []


def test_a_rule_of_a_tool_that_a_company_does_not_have_is_left_out_with_its_stories() -> None:
    cars = {story.name for story in a_world(("CarRental", "RegionalAir"), 7)[1]}
    campers = {story.name for story in a_world(("CamperHire", "RegionalAir"), 7)[1]}
    assert {"vehicle_lost_with_flight", "vehicle_left_at_departure"} <= cars
    assert not {"vehicle_lost_with_flight", "vehicle_left_at_departure"} & campers


def test_a_ferry_takes_the_hired_vehicle_by_its_own_number_plate() -> None:
    stories = {story.name: story for story in a_world(("CamperHire", "CoastFerry"), 7)[1]}
    boarding = stories["hired_vehicle_on_board"].calls[1]
    assert boarding.same == {"registration": "1.hire_id.plate"}
    assert boarding.given == {"kind": "camper_van"}


@pytest.mark.parametrize("domains", [*sets_of(2), *triples()], ids="-".join)
def test_a_stay_that_is_paid_is_not_at_the_rate_of_which_the_deposit_is_all(domains: tuple[str, ...]) -> None:
    for story in a_world(domains, 7)[1]:
        rules = {rule.rule: rule for rule in story.bridges}
        for call in story.calls:
            if call.server not in ("CityHotel", "MountainLodge") or call.tool not in ("pay_reservation", "pay_stay"):
                continue
            key = "reservation_id" if call.server == "CityHotel" else "stay_id"
            if key not in call.same:
                assert call.rows[key] == {"rate_plan": ["flexible", "saver"]}, story.name
                continue
            rate = story.calls[int(call.same[key].partition(".")[0]) - 1].given["rate_plan"]
            settled = call.demanded_by is not None and "'settlement'" in rules[call.demanded_by].holds
            assert rate == "flexible" or settled, story.name


@pytest.mark.parametrize("domains", triples(), ids="-".join)
def test_only_stories_that_all_ask_for_the_first_call_or_all_agree_to_it_are_merged(domains: tuple[str, ...]) -> None:
    pairs = [(story.name, story) for pair in combinations(domains, 2) for story in a_world(pair, 7)[1]]
    for story in a_world(domains, 7)[1]:
        parts = [part for name, part in pairs if name in story.name.split("_and_") and len(name) < len(story.name)]
        assert len({part.calls[0].demanded_by is None for part in parts} or {True}) == 1, story.name
