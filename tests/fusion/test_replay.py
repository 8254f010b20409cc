"""Replays of single-domain calls in fused worlds: equal where the world is right, and named where it is not."""

from random import Random

import pytest

from skillweave.schema.blueprint import BridgeRule, FusedBlueprint
from skillweave.schema.criteria import GoldenCall
from skillweave.schema.record import Json
from skillweave.world.world import World
from synth.fusion.blueprint import fuse
from synth.fusion.persons import fused_rows
from synth.fusion.replay import replace_ids, replay_differences, replay_in_both, sample_sessions
from synth.simulation.generation import state_of
from tests.fusion.libraries import NOW, databases, fused_world, library, people, single_worlds

ALIKE = [
    library("Vet", statuses=["open", "shut"]),
    library("VET"),
    library("VetClinic"),
    library("Vet_Clinic"),
    library("Registry", core="Person", key="person_id"),
]
SINGLE = single_worlds(ALIKE)
PHONE = GoldenCall(tool="change_phone", arguments={"phone": "+44 5"})
RENEWED = GoldenCall(tool="renew_loan", arguments={"loan_id": "LOA-0010"})


@pytest.fixture(scope="module")
def fused() -> FusedBlueprint:
    return fuse(ALIKE)


@pytest.mark.parametrize("server", sorted(SINGLE))
def test_each_domain_answers_as_it_does_alone(server: str, fused: FusedBlueprint) -> None:
    assert replay_differences(SINGLE[server], fused_world(fused, ALIKE), Random(server)) == []


def test_trajectories_call_every_tool_with_and_against_its_rules() -> None:
    world = SINGLE["Vet"]
    succeeded, refused, broken = set(), set(), set()
    for trajectory in sample_sessions(world, Random(1)):
        with world.session(caller=trajectory.caller) as session:
            for call in trajectory.calls:
                result = session.call(call.tool, call.arguments)
                succeeded |= {call.tool} if result.ok else set()
                refused |= {result.error.code} if result.error else set()
                broken |= set(result.violations)
    assert succeeded == {tool.name for tool in world.blueprint.tools}
    assert refused >= {"unknown_email", "not_your_loan", "no_country", "same_status", "not_authenticated"}
    assert broken == {"R3"}


def _with_effect(fused: FusedBlueprint, tool: str, number: int, sql: str) -> FusedBlueprint:
    found = fused.tool(tool)
    effects = [e.model_copy(update={"sql": sql}) if n == number else e for n, e in enumerate(found.effects)]
    changed = found.model_copy(update={"effects": effects})
    return fused.model_copy(update={"tools": [changed if one.name == tool else one for one in fused.tools]})


def test_a_write_to_another_domains_table_is_named(fused: FusedBlueprint) -> None:
    member, other = fused.member("Vet"), fused.member("VetClinic")
    wrong = _with_effect(
        fused,
        member.tools["mark_copy"],
        0,
        f"UPDATE {other.tables['copy']} SET title = :status WHERE copy_id = :copy_id",
    )
    found = replay_differences(SINGLE["Vet"], fused_world(wrong, ALIKE), Random(3))
    assert any("mark_copy" in difference for difference in found)


def test_a_row_that_is_not_changed_as_alone_is_named(fused: FusedBlueprint) -> None:
    member = fused.member("Vet")
    wrong = _with_effect(
        fused,
        member.tools["renew_loan"],
        0,
        f"UPDATE {member.tables['loan']} SET due_on = date(due_on, '+8 days') WHERE loan_id = :loan_id",
    )
    result = replay_in_both(SINGLE["Vet"], fused_world(wrong, ALIKE), [RENEWED], caller="MEM-0001")
    assert len(result.differences) == 1
    assert result.differences[0].startswith("row LOA-0010 of loan: ")


def test_minted_ids_are_compared_by_when_they_were_minted(fused: FusedBlueprint) -> None:
    files = databases(ALIKE)
    files["VET"].execute("INSERT INTO branch VALUES ('BRA-0900', 'far')")
    world = World(fused, state_of(fused_rows(fused, files, people(ALIKE)), fused), now=NOW)
    minted = []
    for one, caller, tool in ((SINGLE["Vet"], "MEM-0001", "renew_loan"), (world, "PER-P001", "vet_2__renew_loan")):
        with one.session(caller=caller) as session:
            session.call(tool, RENEWED.arguments)
            minted += session.minted
    assert minted == ["FIN-0042", "FIN-0901"]
    assert replay_in_both(SINGLE["Vet"], world, [RENEWED], caller="MEM-0001").differences == []


def test_what_persons_share_is_one_change_of_their_row(fused: FusedBlueprint) -> None:
    assert replay_in_both(SINGLE["Vet"], fused_world(fused, ALIKE), [PHONE, PHONE], caller="MEM-0002").differences == []


def test_arguments_from_results_are_bound_again(fused: FusedBlueprint) -> None:
    calls = [
        GoldenCall(tool="list_loans", arguments={}),
        GoldenCall(tool="renew_loan", arguments={"loan_id": "stale"}, grounding={"loan_id": "call 0 [1].loan_id"}),
    ]
    result = replay_in_both(SINGLE["Vet"], fused_world(fused, ALIKE), calls, caller="MEM-0001")
    assert result.differences == []


def _bridge(enforced_by: str, tool: str) -> BridgeRule:
    return BridgeRule.model_validate(
        {
            "rule": "B1",
            "tool": tool,
            "concern": "eligibility",
            "holds": ":person <> 'PER-P002'",
            "error": "not_you",
            "says": "Not the second.",
            "enforced_by": enforced_by,
        }
    )


@pytest.mark.parametrize("enforced_by", ["tool", "agent"])
def test_bridge_rules_that_change_a_replay_are_told_apart_from_differences(
    enforced_by: str, fused: FusedBlueprint
) -> None:
    world = fused_world(fused.with_bridges([_bridge(enforced_by, fused.member("Vet").tools["change_phone"])]), ALIKE)
    assert replay_in_both(SINGLE["Vet"], world, [PHONE], caller="MEM-0001") == ([], [])
    assert replay_in_both(SINGLE["Vet"], world, [PHONE], caller="MEM-0002") == ([], ["B1"])


def test_who_has_no_account_in_the_fused_world_is_a_difference(fused: FusedBlueprint) -> None:
    assert replay_in_both(SINGLE["Vet"], fused_world(fused, ALIKE), [], caller="MEM-0099").differences


def test_ids_and_what_is_derived_from_them_are_renamed_and_nothing_else() -> None:
    ids = {"FIN-0002": "FIN-0001", "FIN-0003": "FIN-0002"}
    value: Json = ["FIN-0002", {"a": "FIN-0003-1", "b": "FIN-00020"}, 2, None]
    assert replace_ids(value, ids) == ["FIN-0001", {"a": "FIN-0002-1", "b": "FIN-00020"}, 2, None]
