from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from skillweave.schema.blueprint import BridgeRule
from skillweave.schema.fusion import PolicyConflict
from skillweave.world.world import World
from synth.fusion.bridge_rules import conflict_faults
from synth.fusion.mediation import agent_rules, mediation_record, settle_bridges
from tests.fusion.companies import FINES_FIRST, ILL, OPEN, PLANS_ONLY, a_rule, ground, joint

CANCEL = "airline__cancel_booking"


def result(bridges: Sequence[BridgeRule], record: dict[str, Any], *, before: bool) -> Any:
    """What a call of a proof answers in a world with these rules, with or without the calls before it."""
    world = World(joint().with_bridges(bridges), ground().content, now=ground().now)
    with world.session(caller=record["person"]) as session:
        for step in record["before"] if before else ():
            assert session.call(step["tool"], step["arguments"]).ok
        return session.call(record["tool"], record["arguments"])


def test_a_rule_is_met_and_broken_by_the_calls_of_its_proof() -> None:
    found = settle_bridges(ground(), [PLANS_ONLY, ILL])
    made = mediation_record(ground(), found, [], [PLANS_ONLY.rule, ILL.rule], 0.4)
    assert found.dropped == {}
    assert made.numbers == {PLANS_ONLY.rule: "B1", ILL.rule: "B2"}
    tools = [rule.model_copy(update={"enforced_by": "tool"}) for rule in made.bridges]
    for proof in made.proofs:
        assert result(tools, proof.met, before=True).ok
        assert result(tools, proof.broken, before=True).error.rule == proof.rule
        # The other company's call is what makes the difference.
        assert proof.met["arguments"] == proof.broken["arguments"]
        assert result(tools, proof.met, before=False).error.rule == proof.rule


def test_what_an_agent_holds_goes_through_and_is_seen_to_be_broken() -> None:
    found = settle_bridges(ground(), [PLANS_ONLY, ILL])
    made = mediation_record(ground(), found, [], [], 0.4)
    agents = [rule.rule for rule in made.bridges if rule.enforced_by == "agent"]
    assert len(agents) == 1
    proof = next(proof for proof in made.proofs if proof.rule in agents)
    seen = result(made.bridges, proof.broken, before=True)
    assert seen.ok
    assert [verdict.rule for verdict in seen.verdicts if not verdict.holds] == agents


@pytest.mark.parametrize("rules", [(FINES_FIRST, ILL), (ILL, FINES_FIRST)])
def test_of_two_rules_that_lock_each_other_the_later_one_goes(rules: tuple[BridgeRule, BridgeRule]) -> None:
    found = settle_bridges(ground(), rules)
    assert [rule.rule for rule in found.bridges] == [rules[0].rule]
    assert f"it locks with {rules[0].rule}" in found.dropped[rules[1].rule]
    assert f"{CANCEL} could bring about what ill asks for" in found.dropped[rules[1].rule]


def test_a_rule_that_nobody_can_break_is_dropped_by_itself() -> None:
    says = "It takes a fine somewhere that is open, paid or waived."
    met = "EXISTS (SELECT 1 FROM Library__Fine f WHERE f.status IN ('open', 'paid', 'waived'))"
    found = settle_bridges(ground(), [PLANS_ONLY, a_rule("any_fine", CANCEL, met, says)])
    assert [rule.rule for rule in found.bridges] == [PLANS_ONLY.rule]
    assert "no call breaks it" in found.dropped["any_fine"]


def test_a_rule_that_nobody_can_meet_is_dropped_by_itself() -> None:
    broken = f"EXISTS ({OPEN} AND f.reason = 'plans')"
    found = settle_bridges(ground(), [a_rule("planned", CANCEL, broken, "It takes a fine for plans."), PLANS_ONLY])
    assert [rule.rule for rule in found.bridges] == [PLANS_ONLY.rule]
    assert "nobody can make a lawful call" in found.dropped["planned"]


def test_a_rule_that_another_always_breaks_with_it_is_not_proven() -> None:
    twin = FINES_FIRST.model_copy(update={"rule": "twin", "error": "twin"})
    found = settle_bridges(ground(), [FINES_FIRST, twin])
    assert [rule.rule for rule in found.bridges] == [FINES_FIRST.rule]
    assert "no call breaks it and nothing else" in found.dropped["twin"]


def test_proposed_rules_that_the_mediator_leaves_out_are_on_record() -> None:
    made = mediation_record(ground(), settle_bridges(ground(), [PLANS_ONLY]), [], [PLANS_ONLY.rule, ILL.rule], 0.4)
    assert made.dropped == {ILL.rule: "the mediator left it out"}


def test_calls_that_a_rule_changes_are_named_by_it() -> None:
    made = mediation_record(ground(), settle_bridges(ground(), [FINES_FIRST]), [], [], 0.4)
    # The one without an open fine is not concerned.
    assert made.changed == {"B1": [f"{CANCEL} of PER-{number}" for number in range(1, 6)]}


def test_the_same_rules_are_settled_in_the_same_way() -> None:
    first, second = (
        mediation_record(ground(), settle_bridges(ground(), [PLANS_ONLY, ILL]), [], [], 0.4) for _ in range(2)
    )
    assert first == second


@pytest.mark.parametrize(("count", "share", "agents"), [(1, 0.4, 0), (2, 0.4, 1), (2, 0.1, 1), (5, 0.4, 2), (5, 0, 0)])
def test_a_share_of_the_rules_is_the_agent_s(count: int, share: float, agents: int) -> None:
    numbers = [f"B{number}" for number in range(1, count + 1)]
    found = agent_rules(numbers, numbers, share, Random("x"))
    assert len(found) == agents
    assert found <= set(numbers)


def test_the_agent_holds_no_rule_that_the_data_hold_anyway() -> None:
    assert agent_rules(["B1", "B2"], ["B2"], 1, Random("x")) == {"B2"}


PRIVACY = PolicyConflict(about="privacy", rules=[], conflict="a", resolution="b")
IDENTITY = PolicyConflict(about="identity", rules=["R1", "R5"], conflict="a", resolution="b")


@pytest.mark.parametrize(
    ("conflicts", "fault"),
    [
        ([IDENTITY], "nothing settles privacy"),
        ([PRIVACY], "nothing settles identity"),
        ([PRIVACY, IDENTITY.model_copy(update={"rules": ["R99", "R1"]})], "no rule 'R99'"),
        ([PRIVACY, IDENTITY.model_copy(update={"rules": ["R1", "R2"]})], "all of one company"),
        ([PRIVACY, IDENTITY.model_copy(update={"resolution": " "})], "nothing of what holds now"),
        ([PRIVACY, IDENTITY.model_copy(update={"resolution": "If :caller is."})], "say it in words"),
    ],
)
def test_conflicts_that_cannot_be_printed_are_sent_back(conflicts: list[PolicyConflict], fault: str) -> None:
    assert conflict_faults([PRIVACY, IDENTITY], joint()) == []
    found = conflict_faults(conflicts, joint())
    assert any(fault in one for one in found), found


def test_a_rule_that_is_too_much_work_is_dropped_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skillweave.world.prepared.MAX_STEPS", 1_000_000)
    many = ", ".join(f"Library__Fine f{number}" for number in range(9))
    heavy = a_rule(
        "heavy",
        CANCEL,
        f"(SELECT COUNT(*) FROM {many}, Airline__Booking b, Airline__Booking c, Airline__Booking d) > 0",
        "It takes more than 0 fines.",
    )
    found = settle_bridges(ground(), [heavy, ILL])
    assert [rule.rule for rule in found.bridges] == [ILL.rule]
    assert found.dropped == {"heavy": "its SQL fails on the data: interrupted"}


def test_a_rule_may_end_in_a_comment() -> None:
    found = settle_bridges(ground(), [ILL.model_copy(update={"holds": f"{ILL.holds} -- for illness"})])
    assert [rule.rule for rule in found.bridges] == [ILL.rule]
