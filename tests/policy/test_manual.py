import json
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from skillweave.schema.contract import Policy
from synth.offline.manuals import ManualWriter, plural
from synth.policy.manual import ManualParts, assemble_manual, manual_faults, stated_rules
from tests.policy.contracts import DOMAINS, a_contract

CONTRACT = a_contract()
PARTS = ManualWriter(CONTRACT, Random(1)).parts()
TEXT = assemble_manual(PARTS, CONTRACT)


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("seed", [1, 2])
def test_the_offline_author_s_manual_is_complete(domain: str, seed: int) -> None:
    contract = a_contract(domain)
    assert manual_faults(ManualWriter(contract, Random(seed)).parts(), contract) == []


def test_a_policy_can_be_cut_down_to_some_tools() -> None:
    policy = Policy(world="DentalClinic", text=TEXT)
    kept = policy.for_tools(["pay_invoice"])
    assert kept.tools == ["pay_invoice"]
    assert set(kept.rules) == set(stated_rules(CONTRACT.tool("pay_invoice")))
    assert "`decline_request`" in kept.text
    assert "`transfer_to_human`" in kept.text


def test_nothing_shows_that_sections_were_left_out() -> None:
    policy = Policy(world="DentalClinic", text=TEXT)
    for left_out in policy.tools:
        text = policy.for_tools({*policy.tools} - {left_out}).text
        assert "\n\n\n" not in text
        assert not text.endswith("\n\n")
        assert f"`{left_out}`)" not in text
    assert policy.for_tools(policy.tools).text == policy.text


def test_companies_sound_different_and_state_the_same_rules() -> None:
    other = assemble_manual(ManualWriter(CONTRACT, Random(2)).parts(), CONTRACT)
    assert other != TEXT
    assert sorted(Policy(world="A", text=other).rules) == sorted(Policy(world="A", text=TEXT).rules)


def test_nothing_of_the_text_depends_on_who_holds_a_rule() -> None:
    swapped = [
        tool.model_copy(
            update={
                "guards": [
                    guard.model_copy(update={"enforced_by": "tool" if guard.enforced_by == "agent" else "agent"})
                    for guard in tool.guards
                ]
            }
        )
        for tool in CONTRACT.tools
    ]
    assert ManualWriter(CONTRACT.model_copy(update={"tools": swapped}), Random(1)).parts() == PARTS


def test_sections_stand_in_the_order_of_the_tools_with_the_rules_as_they_are_grouped() -> None:
    section = next(one for one in PARTS.sections if one.tool == "pay_invoice")
    turned = section.model_copy(update={"paragraphs": section.paragraphs[::-1]})
    others = [one for one in PARTS.sections if one is not section]
    text = assemble_manual(PARTS.model_copy(update={"sections": [*others[::-1], turned]}), CONTRACT)
    assert Policy(world="A", text=text).tools == [tool.name for tool in CONTRACT.tools]
    told = Policy(world="A", text=Policy(world="A", text=text).for_tools(["pay_invoice"]).text)
    assert told.rules == [rule for paragraph in turned.paragraphs for rule in paragraph.rules]


def test_only_a_tool_that_wants_it_asks_for_confirmation() -> None:
    asking = [one.model_copy(update={"confirm": "Confirm it twice."}) for one in PARTS.sections]
    text = assemble_manual(PARTS.model_copy(update={"sections": asking}), CONTRACT)
    assert text.count("Confirm it twice.") == sum(tool.confirm for tool in CONTRACT.tools)


PLACE = [tool.name for tool in CONTRACT.tools].index("pay_invoice")
PREFIX = sorted(entity.prefix for entity in CONTRACT.tables if entity.prefix)[0]


def pay(manual: dict[str, Any]) -> dict[str, Any]:
    section: dict[str, Any] = manual["sections"][PLACE]
    return section


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda m: pay(m)["paragraphs"].pop(), "the section of pay_invoice lacks R"),
        (lambda m: pay(m)["paragraphs"].append(pay(m)["paragraphs"][0]), " 2 times; leave it in one paragraph"),
        (lambda m: pay(m)["paragraphs"][0]["rules"].append("R999"), "has R999, which is no rule of this tool"),
        (lambda m: m["sections"].pop(PLACE), "tool 'pay_invoice' has 0 sections"),
        (lambda m: m["sections"].append(pay(m)), "tool 'pay_invoice' has 2 sections"),
        (lambda m: pay(m).update(tool="pay"), "there is no tool 'pay'"),
        (lambda m: pay(m).update(purpose="Takes 3 a day."), "says '3' outside of a rule"),
        (lambda m: pay(m).update(purpose="The tool refuses the rest."), "do not tell who holds a rule"),
        (lambda m: pay(m).update(heading=" "), "needs a heading and a purpose"),
        (lambda m: pay(m).update(confirm=""), "the section of pay_invoice needs `confirm`"),
        (lambda m: pay(m).update(confirm="<!-- /tool: pay_invoice -->"), "the section of pay_invoice holds '<!--'"),
        (lambda m: pay(m)["paragraphs"][0].update(theme="SELECT them"), "the section of pay_invoice holds 'SELECT'"),
        (lambda m: m.update(introduction="[R2] is the first."), "the introduction holds '[R2]'"),
        (lambda m: m.update(introduction="R2 is enforced."), "do not tell who holds a rule: 'R2 is enforced.'"),
        (lambda m: m.update(introduction=f"Such as {PREFIX}-0003."), f"names '{PREFIX}-0003'"),
        (lambda m: m.update(introduction="Be nice."), "does not mention 'transfer_to_human'"),
        (lambda m: m.update(introduction="Be nice."), "does not mention 'decline_request'"),
        (lambda m: m.update(introduction="Be nice."), "does not mention 'confirm'"),
    ],
)
def test_a_manual_that_leaves_out_or_adds_is_sent_back(change: Callable[[dict[str, Any]], object], fault: str) -> None:
    manual = json.loads(PARTS.model_dump_json())
    change(manual)
    found = manual_faults(ManualParts.model_validate(manual), CONTRACT)
    assert any(fault in one for one in found), found


def test_people_are_counted_in_the_plural() -> None:
    assert [plural(word) for word in ("patient", "policyholder", "city", "boss")] == [
        "patients",
        "policyholders",
        "cities",
        "bosses",
    ]
