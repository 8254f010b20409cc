from functools import cache
from random import Random

import pytest
from synth.policy.reworded import sentences_of

from skillweave.schema.fused import BridgeRule, FusedBlueprint
from skillweave.schema.policy import Policy
from synth.fusion.blueprint import fuse
from synth.fusion.conflicts import conflict_faults
from synth.offline.manual.mediator import Mediator
from synth.offline.manual.merger import Merger, listing
from synth.offline.manual.writer import Writer
from synth.policy.manual import stated_rules
from synth.policy.merged import merged_faults
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
TEXT = Merger(CONTRACT, CONFLICTS, [PAID], Random(1)).text()


@pytest.mark.parametrize("domains", SETS)
@pytest.mark.parametrize("seed", range(4))
def test_the_offline_author_s_manual_of_several_companies_is_complete(domains: tuple[str, ...], seed: int) -> None:
    contract = a_fused_contract(domains)
    conflicts = Mediator(contract, Random(seed)).conflicts()
    assert conflict_faults(conflicts, contract) == []
    assert merged_faults(Merger(contract, conflicts, [], Random(seed)).text(), contract, conflicts) == []


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
FIRST = f"<!-- tool: {AUTH} -->"
LAST = f"<!-- /tool: {CONTRACT.tools[-1].name} -->"
SECTION = TEXT[TEXT.index(FIRST) : TEXT.index(f"<!-- /tool: {AUTH} -->") + len(f"<!-- /tool: {AUTH} -->")]


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        (CONFLICTS[0].resolution, "", "it must say, word for word"),
        (f"[B1] {PAID.says}", "[B1] Paid.", f"must hold, word for word: [B1] {PAID.says}"),
        ("[B1]", "[B2]", "there is no rule [B2]"),
        (f"with `{AUTH}`", "with a tool", f"must name `{AUTH}`"),
        (SECTION, "", "needs one section"),
        (LAST, f"{LAST}\n\n{SECTION}", "needs one section"),
        ("# ", "# DentalClinic__Invoice ", "names the table 'DentalClinic__Invoice'"),
        ("[B1] ", "[B1] The system refuses it. [B1] ", "do not tell who holds a rule"),
        ("# ", "# Ask for :person. ", "holds SQL"),
    ],
)
def test_a_joint_manual_that_leaves_out_or_adds_is_sent_back(old: str, new: str, fault: str) -> None:
    found = merged_faults(TEXT.replace(old, new), CONTRACT, CONFLICTS)
    assert any(fault in one for one in found), found


def test_the_sections_of_a_company_stand_together() -> None:
    moved = TEXT.replace(SECTION, "") + SECTION
    assert merged_faults(moved, CONTRACT, CONFLICTS) == [
        "the sections of DentalClinic stand in several places; keep each company's together"
    ]


def test_a_company_that_nobody_introduces_is_missed() -> None:
    title = CONTRACT.members[0].title
    general = [line for line in TEXT.splitlines() if title in line and not line.startswith("[")]
    text = TEXT
    for line in general:
        text = text.replace(line, line.replace(title, "the clinic"))
    assert f"it must say who {title!r} is" in merged_faults(text, CONTRACT, [])


def test_nothing_of_the_text_depends_on_who_holds_a_rule() -> None:
    held = PAID.model_copy(update={"enforced_by": "agent"})
    other = fuse([a_contract(domain) for domain in SETS[0]]).with_bridges([held])
    assert Merger(other, CONFLICTS, [held], Random(1)).text() == TEXT


def test_sentences_that_a_manual_words_anew_are_found_and_no_others() -> None:
    contract = a_contract()
    text = Writer(contract, Random(1)).text()
    assert sentences_of(text, contract) == {}
    says = stated_rules(contract.tool("pay_invoice"))["R53"]
    told = "Direct debit takes 40.00 or more."
    assert sentences_of(text.replace(says, told), contract) == {"R53": told}


def test_parts_are_listed() -> None:
    assert [listing(["a"]), listing(["a", "b"]), listing(["a", "b", "c"], "or")] == ["a", "a and b", "a, b or c"]
