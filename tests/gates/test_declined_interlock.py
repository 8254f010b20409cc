"""What is declined in a joined world: by a rule that the agent holds and that no domain can be left out of."""

from pathlib import Path

import pytest

from skillweave.schema.blueprint import BridgeRule, FusedBlueprint
from skillweave.schema.combination import Combination
from skillweave.schema.template import TaskTemplate, ToolGraph
from skillweave.world.world import World
from synth.contracts.writes import auth_edges, data_edges
from synth.gates.interlock import check_interlock, refusable_bridge_rules
from synth.gates.judging import JudgedCombinations, validate_combination
from synth.tasks.combinations import combinations_of
from synth.tasks.kinds import KINDS, TemplateSource
from synth.tasks.replay import Rejected
from tests.gates.services import PAID_FIRST, world
from tests.tasks.test_stories import BRIDGED, REFERRED, chosen_and_judged, rules

PEOPLE = ["PER-P001", "PER-P002", "PER-P003"]
DEAR = BridgeRule(
    rule="B1",
    tool="insurer__settle_bill",
    concern="eligibility",
    holds="NOT EXISTS (SELECT 1 FROM Clinic__Bill b JOIN Person p ON p.Clinic = b.member_id "
    "WHERE p.person_id = :person AND b.amount_cents > 10000)",
    error="clinic_too_dear",
    says="Nothing is settled by those who have a bill of the clinic of more than 100.00.",
    enforced_by="agent",
)
"""A rule that nobody gets around: no bill becomes cheaper."""
SETTLED_FIRST = PAID_FIRST.model_copy(update={"tool": DEAR.tool, "enforced_by": "agent"})
COURIER_TOO = (
    " AND NOT EXISTS (SELECT 1 FROM Courier__Bill c JOIN Person p ON p.Courier = c.member_id "
    "WHERE p.person_id = :person AND c.amount_cents > 10000)"
)
OF_ALL = DEAR.model_copy(update={"holds": DEAR.holds + COURIER_TOO})
JOINED = world("Clinic", "Insurer", bridges=[DEAR])
THREE = ("Clinic", "Courier", "Insurer")


def fused(joined: World) -> FusedBlueprint:
    assert isinstance(joined.blueprint, FusedBlueprint)
    return joined.blueprint


def templates(joined: World) -> list[TaskTemplate]:
    """The requests that a joined world's bridge rules forbid."""
    blueprint = fused(joined)
    edges = [*auth_edges(blueprint), *data_edges(blueprint)]
    graph = ToolGraph(server=blueprint.server, tools=[tool.name for tool in blueprint.tools], edges=edges)
    return KINDS["refuse"].templates([], TemplateSource(blueprint, graph, REFERRED, refusable_bridge_rules(blueprint)))


def asked(joined: World = JOINED) -> Combination:
    """The request of somebody signed in by the channel, that the rule forbids."""
    (made,) = templates(joined)
    found = (one for seed in "123456789" for one in combinations_of(joined, made, PEOPLE[:2], 2, seed))
    return next(one for one in found if isinstance(one, Combination) and one.login == "session")


def reason(joined: World, combination: Combination) -> str | None:
    """Why interlock rejects a combination; None where it does not."""
    try:
        check_interlock(joined, combination)
    except Rejected as rejected:
        return rejected.reason
    return None


def test_what_the_agent_holds_and_joins_all_domains_can_be_declined() -> None:
    assert refusable_bridge_rules(fused(JOINED)) == ["B1"]
    assert refusable_bridge_rules(fused(world(*THREE, bridges=[OF_ALL]))) == ["B1"]


def test_the_tool_s_rules_and_the_members_own_cannot() -> None:
    assert refusable_bridge_rules(fused(BRIDGED)) == []
    assert refusable_bridge_rules(fused(world("Clinic", "Insurer"))) == []


def test_a_rule_that_leaves_a_domain_out_cannot() -> None:
    assert refusable_bridge_rules(fused(world(*THREE, bridges=[DEAR]))) == []
    of_its_own = DEAR.model_copy(update={"holds": ":bill_id <> 'INBIL-0001'"})
    assert refusable_bridge_rules(fused(world("Clinic", "Insurer", bridges=[of_its_own]))) == []


def test_each_other_domain_is_crossed_by_the_rule_behind_the_golden_calls() -> None:
    made = asked()
    figure = check_interlock(JOINED, made)
    assert figure["crossings"] == [
        {
            "kind": "rule",
            "source": "Clinic",
            "target": "Insurer",
            "call": len(made.golden),
            "tool": "insurer__settle_bill",
            "parameter": None,
            "origin": None,
            "rule": "B1",
            "held_by": "agent",
        }
    ]
    assert figure["without"] == {
        "Clinic": "what decides B1 cannot be known",
        "Insurer": "nothing is asked for",
    }
    assert figure["demanded"] == {}


def test_three_domains_are_crossed_by_one_rule() -> None:
    joined = world(*THREE, bridges=[OF_ALL])
    made = asked(joined)
    assert [call.tool for call in made.golden] == ["insurer__list_bills", "clinic__list_bills", "courier__list_bills"]
    crossings = check_interlock(joined, made)["crossings"]
    assert isinstance(crossings, list)
    assert [(one["source"], one["target"], one["call"]) for one in crossings if isinstance(one, dict)] == [
        ("Clinic", "Insurer", 3),
        ("Courier", "Insurer", 3),
    ]


def test_such_a_request_passes_all_gates() -> None:
    made = asked()
    (told,) = templates(JOINED)
    found = validate_combination(JOINED, made, told, rules(JOINED)).gates
    assert found.interlock == check_interlock(JOINED, made)
    assert found.lawful["declined"]["held_by"] == "agent"  # type: ignore[index,call-overload]


def test_what_the_tool_declines_interlocks_nothing() -> None:
    joined = world("Clinic", "Insurer", bridges=[DEAR.model_copy(update={"enforced_by": "tool"})])
    assert reason(joined, asked()) == "not interlocked"


def test_a_member_s_own_rule_interlocks_nothing() -> None:
    tool = fused(JOINED).tool("insurer__settle_bill")
    own = next(guard.rule for guard in tool.guards if guard.rule != "B1")
    assert reason(JOINED, asked().model_copy(update={"forbidden": [own]})) == "not interlocked"


@pytest.mark.parametrize("forbidden", [["B1", "B2"], []])
def test_what_another_rule_forbids_too_interlocks_nothing(forbidden: list[str]) -> None:
    assert reason(JOINED, asked().model_copy(update={"forbidden": forbidden})) == "not interlocked"


def test_a_rule_that_the_golden_calls_do_not_show_interlocks_nothing() -> None:
    made = asked()
    assert [call.tool for call in made.golden] == ["insurer__list_bills", "clinic__list_bills"]
    assert reason(JOINED, made.model_copy(update={"golden": made.golden[:1]})) == "not interlocked"


@pytest.mark.parametrize("shown", [1, 2])
def test_of_three_domains_none_may_stay_unseen(shown: int) -> None:
    joined = world(*THREE, bridges=[OF_ALL])
    made = asked(joined)
    assert reason(joined, made.model_copy(update={"golden": [made.golden[0], made.golden[shown]]})) == "not interlocked"


def test_a_rule_that_leaves_a_domain_out_interlocks_nothing() -> None:
    """Of three domains the rule joins two; a look at the third is for nothing."""
    joined = world(*THREE, bridges=[DEAR])
    made = asked(world(*THREE, bridges=[OF_ALL]))
    assert reason(joined, made) == "not interlocked"


def test_nothing_asked_for_interlocks_nothing() -> None:
    assert reason(JOINED, asked().model_copy(update={"asked": None})) == "not interlocked"


def made_in(joined: World, folder: Path, most: int) -> JudgedCombinations:
    return chosen_and_judged(joined, folder, templates(joined), most)[1]


def test_as_many_refusals_are_made_as_are_wanted(tmp_path: Path) -> None:
    found = made_in(JOINED, tmp_path, 2)
    assert [one.combination.kind for one in found.validated] == ["refuse", "refuse"]
    assert {one.combination.caller for one in found.validated} == {"PER-P001", "PER-P002"}
    assert [ban.rule for one in found.validated for ban in one.criteria.must_not] == ["B1", "B1"]


def test_a_template_of_which_none_is_wanted_is_left_out(tmp_path: Path) -> None:
    assert chosen_and_judged(JOINED, tmp_path, templates(JOINED), 0) == (([], []), ([], []))


def test_a_refusal_that_a_lawful_call_lifts_is_not_made(tmp_path: Path) -> None:
    """The open bill of the clinic can be settled first."""
    joined = world("Clinic", "Insurer", bridges=[SETTLED_FIRST])
    found = made_in(joined, tmp_path, 2)
    assert {reason for _, reason, _ in found.rejected} == {"lawful after another call"}
    assert not {"PER-P001", "PER-P002"} & {one.combination.caller for one in found.validated}


def test_a_refusal_s_title_is_in_words() -> None:
    (made,) = templates(JOINED)
    assert "  " not in made.title, made.title
