from random import Random

import pytest

from skillweave.schema.policy import Policy
from synth.offline.manual.sections import plural
from synth.offline.manual.writer import Writer
from synth.policy.manual import faults, stated_rules
from tests.policy.contracts import DOMAINS, a_contract

CONTRACT = a_contract()
TEXT = Writer(CONTRACT, Random(1)).text()


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("seed", [1, 2])
def test_the_offline_author_s_manual_is_complete(domain: str, seed: int) -> None:
    contract = a_contract(domain)
    assert faults(Writer(contract, Random(seed)).text(), contract) == []


def test_a_policy_can_be_cut_down_to_some_tools() -> None:
    policy = Policy(world="DentalClinic", text=TEXT)
    kept = policy.for_tools(["pay_invoice"])
    assert kept.tools == ["pay_invoice"]
    assert set(kept.rules) == set(stated_rules(CONTRACT.tool("pay_invoice")))
    assert "`decline_request`" in kept.text
    assert "`transfer_to_human`" in kept.text


def test_companies_sound_different_and_state_the_same_rules() -> None:
    other = Writer(CONTRACT, Random(2)).text()
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
    assert Writer(CONTRACT.model_copy(update={"tools": swapped}), Random(1)).text() == TEXT


SECTION = "<!-- tool: pay_invoice -->"


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("[R2] The treatment must", "[R2] A treatment must", "must hold, word for word: [R2]"),
        ("[R2] ", "", "must hold, word for word: [R2]"),
        ("[R2] ", "[R999] ", "there is no rule [R999]"),
        (SECTION, "", "'pay_invoice' needs one section"),
        (SECTION, f"{SECTION}\nAt most 3 a day.", "says '3' outside of a numbered rule"),
        (SECTION, f"{SECTION}\nThe tool refuses the rest.", "do not tell who holds a rule"),
        (SECTION, f"{SECTION}\nSELECT them all.", "holds SQL"),
        ("# ", "# XYIN-0003 ", "names 'XYIN-0003'"),
        ("`transfer_to_human`", "`hand_over`", "does not mention 'transfer_to_human'"),
        ("`decline_request`", "`decline`", "does not mention 'decline_request'"),
    ],
)
def test_a_manual_that_leaves_out_or_adds_is_sent_back(old: str, new: str, fault: str) -> None:
    prefixes = {entity.prefix for entity in CONTRACT.tables}
    text = TEXT.replace(old, new).replace("XYIN", sorted(prefix for prefix in prefixes if prefix)[0])
    expected = fault.replace("XYIN", sorted(prefix for prefix in prefixes if prefix)[0])
    assert any(expected in found for found in faults(text, CONTRACT)), faults(text, CONTRACT)


def test_a_write_that_is_to_be_confirmed_says_so() -> None:
    phrases = [line for line in TEXT.splitlines() if "onfirm" in line]
    text = TEXT
    for line in phrases:
        text = text.replace(line, line.replace("onfirm", "heck"))
    assert any("confirmation before the call" in found for found in faults(text, CONTRACT))


def test_people_are_counted_in_the_plural() -> None:
    assert [plural(word) for word in ("patient", "policyholder", "city", "boss")] == [
        "patients",
        "policyholders",
        "cities",
        "bosses",
    ]
