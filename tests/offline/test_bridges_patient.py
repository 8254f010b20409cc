"""The catalogue's stories and rules between the services of patients, for each set of companies and more variants."""

import re
from collections.abc import Sequence
from functools import cache
from itertools import combinations

import pytest

from skillweave.schema.blueprint import BridgeRule, FusedBlueprint
from skillweave.schema.fusion import Storyline
from synth.fusion.blueprint import fuse
from synth.fusion.bridge_rules import bridge_faults
from synth.fusion.links import links_of
from synth.offline.bridging import called, stories_between
from synth.offline.services import built_in
from synth.stories.faults import story_faults
from tests.policy.contracts import a_contract

SETTINGS = sorted(
    setting.domain
    for service in built_in().services.values()
    if service.header.person == "Patient"
    for setting in service.header.settings
)
SEEDS = (7, 11)
OTHER_CARE = [
    ("BloodLab", "DentalPlan"),
    ("CornerPharmacy", "DentalPlan"),
    ("DentalClinic", "HealthPlan"),
    ("DentalPlan", "ImagingCentre"),
    ("DentalPlan", "MailPharmacy"),
    ("DentalPlan", "PhysioPractice"),
]
"""An insurer, and somebody whose bills it has no benefit for."""
UNRELATED = [("DentalClinic", "PhysioPractice"), *OTHER_CARE]
"""Companies of which the catalogue tells no story."""
PAIRS = [pair for pair in combinations(SETTINGS, 2) if pair not in UNRELATED]
TRIPLES = [
    ("BloodLab", "CornerPharmacy", "DentalClinic"),
    ("BloodLab", "HealthPlan", "MailPharmacy"),
    ("BloodLab", "HealthPlan", "ImagingCentre"),
    ("CornerPharmacy", "DentalClinic", "DentalPlan"),
    ("HealthPlan", "ImagingCentre", "PhysioPractice"),
    ("HealthPlan", "MailPharmacy", "PhysioPractice"),
    ("BloodLab", "DentalClinic", "PhysioPractice"),
]
FEWEST = 3
"""Ways to ask, and reasons, that each story has."""


@cache
def a_fused_contract(servers: tuple[str, ...], seed: int) -> FusedBlueprint:
    return fuse([a_contract(server, seed) for server in servers])


@cache
def told(servers: tuple[str, ...], seed: int = 7) -> list[Storyline]:
    return stories_between(a_fused_contract(servers, seed), seed, built_in())


def rules_of(stories: Sequence[Storyline]) -> dict[str, BridgeRule]:
    """All rules that the stories lean on; one name is one rule."""
    found: dict[str, BridgeRule] = {}
    for rule in (rule for story in stories for rule in story.bridges):
        assert found.setdefault(rule.rule, rule) == rule, rule.rule
    return found


@pytest.mark.parametrize(
    ("servers", "seed"),
    [
        *((servers, 7) for servers in (*PAIRS, *TRIPLES)),
        *(pytest.param(pair, seed, marks=pytest.mark.long) for seed in SEEDS[1:] for pair in PAIRS),
    ],
)
def test_stories_can_be_tried_and_their_rules_run_and_say_what_they_hold(servers: tuple[str, ...], seed: int) -> None:
    fused, stories = a_fused_contract(servers, seed), told(servers, seed)
    assert stories
    assert story_faults(stories, fused) == []
    assert bridge_faults([*rules_of(stories).values()], fused) == {}


@pytest.mark.parametrize("servers", [*PAIRS, *TRIPLES], ids="-".join)
def test_every_story_ties_the_companies_together(servers: tuple[str, ...]) -> None:
    fused = a_fused_contract(servers, 7)
    for story in told(servers):
        demanded = {call.demanded_by for call in story.calls}
        leaning = {rule.rule for rule in story.bridges} - demanded
        assert [*links_of(story, fused)] or leaning, story.name
        titles = [called(member.title) for member in fused.members]
        assert all(title in reason for title in titles for reason in story.reasons), story.name
        assert len(set(story.reasons)) == len(story.reasons)


@pytest.mark.parametrize("servers", [*PAIRS, *TRIPLES], ids="-".join)
def test_what_is_asked_for_is_told_in_many_ways_and_with_its_own_parameters(servers: tuple[str, ...]) -> None:
    fused = a_fused_contract(servers, 7)
    for story in told(servers):
        assert len(story.reasons) >= FEWEST, story.name
        for call in story.calls:
            tool = fused.tool(fused.member(call.server).tools[call.tool])
            taken = {parameter.name for parameter in tool.parameters}
            is_asked = tool.kind == "write" and call.demanded_by is None
            assert len(call.ask) >= (FEWEST if is_asked or call.ask else 0), (story.name, call.tool)
            assert {name for ask in call.ask for name in re.findall(r"\{(\w+)\}", ask)} <= taken, story.name


@pytest.mark.parametrize("service", ["dental_clinic", "pharmacy", "diagnostic_lab", "health_insurance"])
def test_half_of_the_stories_with_another_service_rest_on_a_call_that_a_rule_demands(service: str) -> None:
    def of(server: str) -> str:
        return built_in().variant(7, server).service.header.service

    pairs = [pair for pair in PAIRS if service in map(of, pair)]
    stories = [story for pair in pairs for story in told(pair)]
    assert 2 * sum(any(call.demanded_by for call in story.calls) for story in stories) >= len(stories)


def test_no_story_speaks_of_a_tool_that_a_company_does_not_have() -> None:
    dental = {story.name for story in told(("DentalClinic", "DentalPlan"))}
    physio = {story.name for story in told(("HealthPlan", "PhysioPractice"))}
    assert "claim_with_statement" in dental - physio
    assert "approval_then_earlier_session" in physio - dental


@pytest.mark.parametrize("servers", OTHER_CARE, ids="-".join)
def test_an_insurer_is_told_nothing_of_bills_that_it_has_no_benefit_for(servers: tuple[str, ...]) -> None:
    assert told(servers) == []


@pytest.mark.parametrize(
    ("servers", "benefits"),
    [
        (("BloodLab", "HealthPlan"), ["specialist consultations", "GP visits"]),
        (("HealthPlan", "ImagingCentre"), ["diagnostic imaging"]),
        (("CornerPharmacy", "HealthPlan"), ["prescribed medicines"]),
        (("HealthPlan", "PhysioPractice"), ["physiotherapy"]),
    ],
)
def test_a_claim_goes_under_the_benefit_for_what_was_done(servers: tuple[str, ...], benefits: list[str]) -> None:
    claims = [call for story in told(servers) for call in story.calls if "benefit_id" in call.rows]
    assert {call.tool for call in claims} >= {"submit_claim"}
    assert all(call.rows["benefit_id"] == {"benefit_name": benefits} for call in claims)
    assert all(call.given["dependant_id"] is None for call in claims if call.tool == "submit_claim")


def test_a_merged_story_gives_a_reason_of_each_of_its_parts() -> None:
    merged = next(one for one in told(("BloodLab", "DentalClinic", "PhysioPractice")) if one.name.startswith("report_"))
    assert merged.reasons[0] == (
        "I have my results from Brightwater, and now I want to go ahead at Larkfield. "
        "The results from Brightwater were what I was waiting for before going to Stride."
    )


def test_both_sides_of_the_same_service_have_stories() -> None:
    assert {story.name for story in told(("BloodLab", "ImagingCentre"))} >= {
        "scan_paid_from_health_account",
        "test_paid_from_health_account",
    }


def test_a_story_of_three_leans_on_the_rules_of_pairs() -> None:
    stories = told(("BloodLab", "HealthPlan", "MailPharmacy"))
    pair = rules_of(told(("BloodLab", "MailPharmacy")))
    renewal = next(story for story in stories if story.name == "renewal_and_test_claim")
    shared = {rule.rule: rule.says for rule in renewal.bridges if rule.rule in pair}
    assert shared
    assert all(pair[name].says == says for name, says in shared.items())


@pytest.mark.parametrize("servers", [*PAIRS, *TRIPLES], ids="-".join)
def test_a_claim_is_the_persons_own_and_names_no_approval(servers: tuple[str, ...]) -> None:
    fused = a_fused_contract(servers, 7)
    for story in told(servers):
        for call in (call for call in story.calls if call.tool == "submit_claim"):
            taken = {parameter.name for parameter in fused.tool(fused.member(call.server).tools[call.tool]).parameters}
            assert {name: call.given.get(name, "open") for name in taken & {"approval_id", "dependant_id"}} == (
                dict.fromkeys(taken & {"approval_id", "dependant_id"})
            ), story.name


@pytest.mark.parametrize("servers", [*PAIRS, *TRIPLES], ids="-".join)
def test_a_balance_that_the_story_pays_off_is_asked_for_as_it_was(servers: tuple[str, ...]) -> None:
    for story in told(servers):
        for wanted in story.tell:
            read, later = story.calls[wanted.call - 1], story.calls[wanted.call :]
            paid = any(call.tool == "pay_balance" and call.server == read.server for call in later)
            assert wanted.was == (wanted.column == "balance_cents" and paid), story.name
            assert not wanted.was or all(" was " in ask or " owed " in ask for ask in wanted.ask), story.name


def test_an_order_of_medicine_is_claimed_for_the_day_on_which_it_was_placed() -> None:
    stories = {story.name: story for story in told(("CornerPharmacy", "HealthPlan"))}
    for name in ("claim_medicine", "clear_and_claim_medicine"):
        claim = stories[name].calls[-1]
        assert claim.same["service_date"].endswith(".ordered_at)")
        assert all("order" in ask and "the day" in ask for ask in claim.ask), name


def test_a_statement_that_a_claim_needs_shows_a_paid_bill() -> None:
    rules = rules_of(told(("DentalClinic", "DentalPlan")))
    assert "paid_cents >= s.amount_cents" in rules["DentalClinic_statement_before_claim"].holds
