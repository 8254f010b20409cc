import json
from collections.abc import Callable
from functools import cache
from random import Random
from typing import Any

import pytest

from skillweave.schema.blueprint import BridgeRule, FusedBlueprint
from skillweave.schema.contract import Policy
from synth.fusion.blueprint import fuse
from synth.fusion.bridge_rules import conflict_faults
from synth.offline.manuals import JointManualWriter, listing
from synth.offline.task_answers import Mediator
from synth.policy.manual import JointParts, assemble_joint_manual, joint_manual_faults, stated_rules
from tests.policy.contracts import a_contract

SETS = [
    ("DentalClinic", "DentalPlan"),
    ("DentalClinic", "PhysioPractice"),
    ("BloodLab", "HealthPlan", "MailPharmacy"),
    ("CarRental", "CityHotel", "RegionalAir"),
]
PAID = BridgeRule(
    rule="B1",
    tool="dental_plan__submit_claim",
    concern="fee",
    holds="(SELECT i.status FROM DentalClinic__Invoice i WHERE i.invoice_id = :invoice_reference) = 'paid'",
    error="invoice_not_paid",
    says="A claim is only taken for an invoice that is paid.",
)


@cache
def a_fused_contract(domains: tuple[str, ...] = SETS[0]) -> FusedBlueprint:
    fused = fuse([a_contract(domain) for domain in domains])
    return fused.with_bridges([PAID]) if PAID.tool in {tool.name for tool in fused.tools} else fused


CONTRACT = a_fused_contract()
CONFLICTS = Mediator(CONTRACT, Random(1)).conflicts()
PARTS = JointManualWriter(CONTRACT, Random(1)).parts()
TEXT = assemble_joint_manual(PARTS, CONTRACT, CONFLICTS, [PAID])


@pytest.mark.parametrize("domains", SETS)
@pytest.mark.parametrize("seed", range(4))
def test_the_offline_author_s_manual_of_several_companies_is_complete(domains: tuple[str, ...], seed: int) -> None:
    contract = a_fused_contract(domains)
    conflicts = Mediator(contract, Random(seed)).conflicts()
    assert conflict_faults(conflicts, contract) == []
    parts = JointManualWriter(contract, Random(seed)).parts()
    assert joint_manual_faults(parts, contract) == []
    text = assemble_joint_manual(parts, contract, conflicts, [])
    assert all(conflict.resolution in text for conflict in conflicts)
    assert Policy(world="A", text=text).tools == [
        tool.name for member in contract.members for tool in contract.tools if tool.server == member.server
    ]


def test_conflicts_follow_from_what_the_rules_are_about() -> None:
    assert [conflict.about for conflict in CONFLICTS] == [
        "privacy",
        "identity",
        "authority",
        "deadline",
        "payment",
        "authority",
    ]
    owners = {rule: member.server for member in CONTRACT.members for rule in member.rules.values()}
    assert all(len({owners[rule] for rule in one.rules}) > 1 for one in CONFLICTS if one.about != "privacy")


def test_companies_that_ask_for_the_same_facts_need_no_word_on_identity() -> None:
    alike = [
        tool.model_copy(update={"parameters": CONTRACT.tools[0].parameters}) if tool.kind == "auth" else tool
        for tool in CONTRACT.tools
    ]
    found = Mediator(CONTRACT.model_copy(update={"tools": alike}), Random(1)).conflicts()
    assert "identity" not in {conflict.about for conflict in found}


def test_a_bridge_rule_stands_in_its_tool_s_section_and_among_those_between_the_companies() -> None:
    only = Policy(world="x", text=TEXT)
    assert "[B1]" in only.for_tools([]).text
    assert TEXT.count(f"[B1] {PAID.says}") == 2
    assert "B1" in stated_rules(CONTRACT.tool(PAID.tool))


AUTH = next(tool.name for tool in CONTRACT.tools if tool.kind == "auth")
TITLE = CONTRACT.members[0].title


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda m: m["companies"].pop(), f"`companies` must have {CONTRACT.members[-1].server!r} once"),
        (lambda m: m["companies"].append(m["companies"][0]), f"must have {CONTRACT.members[0].server!r} once"),
        (lambda m: m["companies"][0].update(company="Mars"), "there is no company 'Mars'"),
        (lambda m: m["companies"][0].update(about="See [B1]."), "`companies` holds '[B1]'"),
        (lambda m: m["companies"][0].update(about="DentalClinic__Invoice"), "the table 'DentalClinic__Invoice'"),
        (lambda m: m.update(introduction=m["introduction"].replace(AUTH, "a_tool")), f"must name `{AUTH}`"),
        (lambda m: m.update(introduction=m["introduction"].replace(TITLE, "us")), f"must say who {TITLE!r} is"),
        (lambda m: m.update(introduction="Ask for :person."), "the introduction holds ':person'"),
        (lambda m: m["sections"].pop(0), f"tool {CONTRACT.tools[0].name!r} has 0 sections"),
        (lambda m: m["sections"][0].update(purpose="Of DentalClinic__Invoice."), "names the table"),
    ],
)
def test_a_joint_manual_that_leaves_out_or_adds_is_sent_back(
    change: Callable[[dict[str, Any]], object], fault: str
) -> None:
    manual = json.loads(PARTS.model_dump_json())
    change(manual)
    found = joint_manual_faults(JointParts.model_validate(manual), CONTRACT)
    assert any(fault in one for one in found), found


def test_nothing_of_the_text_depends_on_who_holds_a_rule() -> None:
    held = PAID.model_copy(update={"enforced_by": "agent"})
    other = fuse([a_contract(domain) for domain in SETS[0]]).with_bridges([held])
    assert assemble_joint_manual(JointManualWriter(other, Random(1)).parts(), other, CONFLICTS, [held]) == TEXT


def test_parts_are_listed() -> None:
    assert [listing(["a"]), listing(["a", "b"]), listing(["a", "b", "c"], "or")] == ["a", "a and b", "a, b or c"]
