"""Each form has templates and instances that replay, hold together and pass the gates; the same seed gives the same."""

from random import Random

import pytest

from skillweave.schema.criteria import GoldenCall
from skillweave.schema.task import Login
from skillweave.schema.template import TaskTemplate
from synth.gates.judging import validate_combination
from synth.tasks.forms import FORMS
from synth.tasks.forms.compounds import compound
from synth.tasks.forms.errands import _takes_again
from synth.tasks.forms.form import FormSetting
from synth.tasks.kinds import Instance
from synth.tasks.replay import run_golden
from tests.gates.clinic_tasks import RULES
from tests.tasks.forms.clinic import WORLD, instance, instances, named, templates

CASES = {
    "move_best_slot_id": {"choice_runner_up"},
    "book_if_price_cents": set(),
    "book_unless_price_cents": {"condition_done_all_the_same"},
    "refuse_book_appointment_R6_or_move": set(),
    "move_or_cancel": {"fallback_second_wish_instead", "fallback_both_done"},
    "cancel_every": {"batch_exception_included"},
    "cancel_best_fee_cents": {"choice_runner_up"},
    "cancel_if_foreseen_fee_cents": set(),
    "cancel_unless_foreseen_fee_cents": {"condition_done_all_the_same"},
    "move_if_price_cents_else_cancel": {"condition_other_branch", "condition_both_branches"},
    "book_unless_price_cents_else_move": {"condition_other_branch"},
    "cancel_what_if_fee_cents": {"what_if_done_at_once"},
    "cancel_what_if_all_fee_cents": {"what_if_done_at_once"},
    "sum_list_fees_amount_cents": set(),
    "ask_fee_compared": set(),
    "ask_fee_mistaken": set(),
    "move_rather_slot_id": {"change_of_mind_first_wish_only", "change_of_mind_amended"},
    "move_again_slot_id": {"change_of_mind_first_wish_only"},
    "book_then_cancel": {"change_of_mind_first_wish_only"},
    "refuse_book_appointment_R6_pressed": set(),
}
"""Templates of all forms, with the courses that their instances have."""
ERRANDS = compound([named("ask_fee_mistaken"), named("cancel_best_appointment_id")])


def test_a_world_has_templates_in_every_form() -> None:
    assert {form for template in templates() for form in template.forms} == {*FORMS}


@pytest.mark.parametrize("name", CASES)
def test_an_instance_passes_all_gates_and_its_courses_get_the_verdict_that_they_are_to_get(name: str) -> None:
    combination = instance(template := named(name), "conversation")
    found = validate_combination(WORLD, combination, template, RULES)
    assert [*found.gates.forms] == template.forms
    courses = {f"{form.name}_{one.name}" for form in combination.forms for one in [*form.wrong, *form.right]}
    assert courses == CASES[name]
    tried = {**found.gates.mutants["sorts"], **found.gates.equivalents["sorts"]}  # type: ignore[dict-item]
    assert courses <= {*tried}


def test_errands_pass_all_gates_with_the_courses_of_their_parts() -> None:
    found = validate_combination(WORLD, instance(ERRANDS), ERRANDS, RULES)
    assert [*found.gates.forms] == ["false_premise", "choice", "errands"]
    assert "choice_runner_up" in str(found.gates.mutants["sorts"])


def test_nobody_pays_for_what_they_cancel() -> None:
    both = compound([named("pay"), named("cancel"), named("ask_fee")])
    about = {str(row["fee_id"]): row["appointment_id"] for row in WORLD.session().rows("fee")}
    found = [one for seed in map(str, range(20)) for one in instances(both, seed)]
    assert found
    for one in found:
        given = {call.tool: {*map(str, call.arguments.values())} for call in one.golden}
        assert given["cancel_appointment"].isdisjoint(str(about[fee]) for fee in given["pay_fee"] & {*about})


def test_nobody_takes_again_what_they_have_just_given_up() -> None:
    both = compound([named("cancel"), named("book")])
    slots = {str(row["appointment_id"]): row["slot_id"] for row in WORLD.session().rows("appointment")}
    found = [one for seed in map(str, range(40)) for one in instances(both, seed)]
    assert found
    for one in found:
        given = {call.tool: call.arguments for call in one.golden}
        assert slots[str(given["cancel_appointment"]["appointment_id"])] != given["book_appointment"]["slot_id"]


@pytest.mark.parametrize(("slot", "again"), [("freed", True), ("other", False)])
def test_nor_in_one_request(slot: str, again: bool) -> None:
    one = next(one for seed in map(str, range(40)) for one in instances(named("cancel"), seed))
    cancel = next(call for call in one.golden if call.tool == "cancel_appointment")
    rows = WORLD.session().rows("appointment")
    freed = next(row["slot_id"] for row in rows if row["appointment_id"] == cancel.arguments["appointment_id"])
    taken = {row["slot_id"] for row in rows}
    other = next(row["slot_id"] for row in WORLD.session().rows("slot") if row["slot_id"] not in taken)
    book = GoldenCall(tool="book_appointment", arguments={"slot_id": freed if slot == "freed" else other})
    setting = FormSetting(WORLD, named("cancel"), one.caller, one.patch, Random(0), lambda _, __: Instance())
    assert _takes_again(setting, Instance(golden=[cancel.model_copy(update={"grounding": {}}), book])) is again


@pytest.mark.parametrize("template", templates(), ids=lambda template: template.id.partition("/")[2])
@pytest.mark.parametrize("login", ["session", "conversation"])
def test_an_instance_replays_lawfully_and_its_steps_and_words_are_those_of_its_calls(
    template: TaskTemplate, login: Login
) -> None:
    for one in instances(template, login=login):
        run = run_golden(WORLD, one)
        assert run.succeeded
        assert run.lawful
        steps = [one.calls[step].tool for step in one.steps]
        assert steps == [call.tool for call in template.calls]
        for row in one.rows:
            assert row.parameter is None or one.calls[row.call].arguments[row.parameter] == row.key
        for said in one.values:
            assert one.calls[said.call].arguments.get(said.parameter) == said.value
        assert one.asked_after is None or one.asked_after <= len(one.golden)
        facts = [fact.fact for fact in one.communicate]
        assert facts == [*dict.fromkeys(facts)]
        assert {*one.beliefs, *(question.fact for question in one.questions)} <= {*facts}


@pytest.mark.parametrize("name", [*CASES])
def test_the_same_seed_gives_the_same_instance(name: str) -> None:
    once, again = [*instances(named(name))], [*instances(named(name))]
    assert once
    assert once == again
