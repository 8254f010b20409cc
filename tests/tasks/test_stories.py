"""Stories of a fused world as templates and instances: links, rows of other domains, demanded calls, created rows."""

from pathlib import Path
from random import Random

import pytest

from skillweave.schema.blueprint import BridgeRule, FusedBlueprint
from skillweave.schema.combination import Combination, ValidatedTask
from skillweave.schema.contract import RowChange
from skillweave.schema.fusion import StoryCall, Storyline
from skillweave.schema.task import Persona, Split
from skillweave.schema.template import TaskTemplate, ToolGraph
from skillweave.world.world import World
from synth.contracts.writes import auth_edges, data_edges
from synth.gates.interlock import check_interlock
from synth.gates.judging import JudgedCombinations, WantedTasks, judge_combinations, validate_combination
from synth.policy.manual import stated_rules
from synth.stories.proof import NoTemplateError, template_of
from synth.tasks.combinations import combination_for
from synth.tasks.criteria import KnownValue
from synth.tasks.replay import Rejected
from synth.tasks.requests import request_of
from synth.tasks.selection import Selection, SelectionInput, find_candidates
from tests.gates.services import PAID_FIRST, bill, world

NAMED = PAID_FIRST.model_copy(update={"rule": "paid_first"})
REFERRED = {"clinic__list_bills": ["billed_at"], "insurer__list_bills": ["billed_at"]}
PERSONA = Persona(name="Person 1", age=40, style="brief", patience=5)


def story(*calls: StoryCall, bridges: tuple[BridgeRule, ...] = ()) -> Storyline:
    return Storyline(name="story", title="A story", calls=list(calls), reasons=["I was ill."], bridges=list(bridges))


PAY = StoryCall(server="Clinic", tool="settle_bill", demanded_by="paid_first")
CLAIM = StoryCall(
    server="Insurer",
    tool="claim_back",
    same={
        "reference": "1.bill_id.bill_id",
        "amount_cents": "1.bill_id.amount_cents",
        "day": "date(1.bill_id.billed_at)",
    },
    ask=["have {reference} paid back"],
)
PAID = story(PAY, CLAIM, bridges=(NAMED,))
OF_A_ROW = story(
    StoryCall(
        server="Insurer",
        tool="claim_back",
        names={"reference": "Clinic.Bill"},
        same={"amount_cents": "1.reference.amount_cents"},
        given={"day": "2025-03-11"},
    ),
    StoryCall(server="Insurer", tool="hurry_claim", same={"claim_id": "1.claim_id"}),
)


def template(storyline: Storyline, joined: World) -> TaskTemplate:
    fused = joined.blueprint
    assert isinstance(fused, FusedBlueprint)
    edges = [*auth_edges(fused), *data_edges(fused)]
    graph = ToolGraph(server=fused.server, tools=[tool.name for tool in fused.tools], edges=edges)
    is_kept = any(guard.rule == "B1" for tool in fused.tools for guard in tool.guards)
    return template_of(storyline, fused, graph, REFERRED, {NAMED.rule: "B1"} if is_kept else {})


BRIDGED = world("Clinic", "Insurer", bridges=[PAID_FIRST])
PLAIN = world("Clinic", "Insurer")


def rules(joined: World) -> list[str]:
    return [rule for tool in joined.blueprint.tools for rule in stated_rules(tool)]


def built(storyline: Storyline, joined: World, patch: tuple[RowChange, ...] = ()) -> Combination:
    return combination_for(joined, template(storyline, joined), "PER-P001", "session", "7", number=0, patch=patch)


def passed(storyline: Storyline, joined: World) -> ValidatedTask:
    return validate_combination(joined, built(storyline, joined), template(storyline, joined), rules(joined))


def test_a_template_has_the_fused_world_s_names_and_the_bridge_rule_s_number() -> None:
    made = template(PAID, BRIDGED)
    assert [call.tool for call in made.calls] == ["clinic__settle_bill", "insurer__claim_back"]
    assert [call.demanded_by for call in made.calls] == ["B1", None]
    named = template(OF_A_ROW, BRIDGED).calls[0]
    assert named.names == {"reference": "Clinic__Bill.bill_id"}
    assert {source.tool for source in named.found_by["reference"]} == {"clinic__list_bills", "clinic__find_bills"}


def test_a_story_whose_bridge_rule_was_not_kept_is_no_template() -> None:
    with pytest.raises(NoTemplateError, match="paid_first"):
        template(PAID, PLAIN)


def test_arguments_are_taken_from_the_row_that_an_earlier_call_names() -> None:
    made = built(PAID, BRIDGED)
    _, pay, claim = made.golden
    assert claim.arguments == {"reference": bill("Clinic", 1), "amount_cents": 12300, "day": "2025-01-03"}
    assert claim.grounding == {
        "reference": "call 0 [0].bill_id",
        "amount_cents": "call 0 [0].amount_cents",
        "day": "computed date(call 0 [0].billed_at)",
    }
    assert (pay.demanded_by, claim.demanded_by) == ("B1", None)
    said = {(row.call, row.parameter): (row.entity, row.key) for row in made.rows}
    own = ("Clinic__Bill", bill("Clinic", 1))
    assert said == dict.fromkeys([(1, "bill_id"), (2, "reference"), (2, "amount_cents"), (2, "day")], own)


def test_such_a_task_passes_the_gates_with_its_link_on_record() -> None:
    found = passed(PAID, BRIDGED).gates
    assert "B1" in str(found.interlock["demanded"])
    assert found.grounded["computed"] == 1


def test_the_link_is_proven_again_from_the_facts_of_the_finished_task() -> None:
    told = template(PAID, BRIDGED)
    made = combination_for(BRIDGED, told, "PER-P002", "conversation", "7", number=0)
    known = request_of(BRIDGED.blueprint, told, made, PERSONA, Random(1)).known
    said = [KnownValue(thing.id.rpartition(".")[2], thing.value) for thing in known]
    bare = made.model_copy(update={"rows": [], "values": [], "credentials": {}})
    assert (
        check_interlock(BRIDGED, bare, said)
        == validate_combination(BRIDGED, made, told, rules(BRIDGED)).gates.interlock
    )


def test_a_row_of_another_domain_is_looked_up_and_what_it_shows_is_linked() -> None:
    made = built(OF_A_ROW, PLAIN)
    assert [call.tool for call in made.golden] == ["clinic__list_bills", "insurer__claim_back", "insurer__hurry_claim"]
    assert made.golden[2].grounding == {"claim_id": "call 1 claim_id"}
    assert made.golden[1].grounding == {
        "reference": "call 0 [0].bill_id",
        "amount_cents": "call 0 [0].amount_cents",
        "day": "user",
    }
    assert [(one.parameter, one.value) for one in made.values] == [("day", "2025-03-11")]
    assert passed(OF_A_ROW, PLAIN).gates.interlock["crossings"]


def second_bill(amount: int) -> RowChange:
    cells = {"member_id": "CLMEM-0001", "amount_cents": amount, "status": "open", "billed_at": "2025-02-20 08:00:00"}
    key = {"bill_id": "CLBIL-0009"}
    return RowChange(table="Clinic__Bill", op="insert", key=dict(key), after={**key, **cells})


@pytest.mark.parametrize(("amount", "key"), [(12300, bill("Clinic", 1)), (777, "CLBIL-0009")])
def test_only_a_row_of_the_kind_that_is_wanted_is_chosen(amount: int, key: str) -> None:
    pay = PAY.model_copy(update={"rows": {"bill_id": {"amount_cents": [amount]}}, "demanded_by": None})
    made = built(story(pay, CLAIM), PLAIN, (second_bill(777),))
    assert next(call for call in made.golden if call.tool == "clinic__settle_bill").arguments["bill_id"] == key
    claim, hurry = OF_A_ROW.calls
    named = story(claim.model_copy(update={"rows": {"reference": {"amount_cents": [amount]}}}), hurry)
    made = built(named, PLAIN, (second_bill(777),))
    assert next(call for call in made.golden if call.tool == "insurer__claim_back").arguments["reference"] == key


def test_another_row_that_the_words_fit_is_put_into_every_argument_that_comes_from_it() -> None:
    """Both bills could be meant, and all that is taken from the bill would be another's: two right answers."""
    twin = second_bill(777)
    twin = twin.model_copy(update={"after": {**(twin.after or {}), "billed_at": "2025-01-03 11:30:00"}})
    made = built(OF_A_ROW, PLAIN)
    alike = made.model_copy(update={"patch": [twin]})
    with pytest.raises(Rejected, match="row not told apart"):
        validate_combination(PLAIN, alike, template(OF_A_ROW, PLAIN), rules(PLAIN))


def test_a_call_is_made_otherwise_where_a_later_one_could_not_be_made() -> None:
    small = BridgeRule(
        rule="B1",
        tool="insurer__claim_back",
        concern="quota",
        holds="NOT EXISTS (SELECT 1 FROM Clinic__Bill b WHERE b.bill_id = :reference AND b.amount_cents > 5000)",
        error="too_much",
        says="Only bills of the clinic of at most 50.00 are paid back.",
    )
    joined = world("Clinic", "Insurer", bridges=[small])
    both = story(PAY.model_copy(update={"demanded_by": None}), CLAIM)
    for seed in range(6):
        made = combination_for(
            joined, template(both, joined), "PER-P001", "session", str(seed), number=0, patch=[second_bill(3000)]
        )
        assert made.golden[-1].arguments["amount_cents"] == 3000


def test_the_domain_that_is_called_first_signs_in() -> None:
    made = combination_for(PLAIN, template(OF_A_ROW, PLAIN), "PER-P002", "conversation", "7", number=0)
    assert made.golden[0].tool == "insurer__sign_in"
    assert made.credentials == {"email": "p2@example.org"}
    assert validate_combination(PLAIN, made, template(OF_A_ROW, PLAIN), rules(PLAIN)).gates.golden["replays"] == 2


def test_the_user_asks_for_the_end_and_agrees_to_what_it_needs() -> None:
    made, told = built(PAID, BRIDGED), template(PAID, BRIDGED)
    wishes = request_of(BRIDGED.blueprint, told, made, PERSONA, Random(1)).wishes
    assert [(wish.tool, wish.only_if_needed, wish.ask) for wish in wishes] == [
        ("clinic__settle_bill", True, ""),
        ("insurer__claim_back", False, "have {reference} paid back"),
    ]
    assert set(wishes[1].rows) == {"reference"}
    assert wishes[1].rows["reference"].columns == {"billed_at": "bill.billed_at"}


def test_rows_that_a_person_lacks_are_created_for_the_task_alone(tmp_path: Path) -> None:
    _, judgement = chosen_and_judged(BRIDGED, tmp_path, [template(PAID, BRIDGED)], 3)
    created = [one.combination for one in judgement.validated if one.combination.patch]
    assert (len(judgement.validated), [one.caller for one in created]) == (3, ["PER-P003"])
    assert {(change.table, change.op) for change in created[0].patch} == {("Clinic__Bill", "insert")}
    assert (tmp_path / "world.sqlite").read_bytes() == BRIDGED.content


def test_of_a_persons_candidates_one_is_kept_and_ids_count_what_was_judged(tmp_path: Path) -> None:
    selection, judgement = chosen_and_judged(BRIDGED, tmp_path, [template(PAID, BRIDGED)], 3)
    assert len(selection.combinations) > 3
    assert [one.combination.id[-3:] for one in judgement.validated] == ["000", "001", "002"]
    assert len({one.combination.caller for one in judgement.validated}) == 3
    _, fewer = chosen_and_judged(BRIDGED, tmp_path, [template(PAID, BRIDGED)], 1)
    assert len(fewer.validated) == 1


def test_instances_are_the_same_each_time(tmp_path: Path) -> None:
    first, again = (chosen_and_judged(BRIDGED, tmp_path, [template(PAID, BRIDGED)], 3) for _ in range(2))
    assert first == again


def chosen_and_judged(
    joined: World, folder: Path, templates: list[TaskTemplate], most: int
) -> tuple[Selection, JudgedCombinations]:
    """What s15 chooses of a fused world, and s16 keeps."""
    file = folder / "world.sqlite"
    file.write_bytes(joined.content)
    quotas = {one.id: most for one in templates}
    splits: dict[str, Split] = dict.fromkeys(quotas, "train")
    selection = find_candidates(SelectionInput(joined.blueprint, file, joined.now, templates, quotas, splits, "7"))
    combinations = selection.combinations
    return selection, judge_combinations(
        joined.blueprint, file, joined.now, templates, combinations, rules(joined), WantedTasks(quotas)
    )
