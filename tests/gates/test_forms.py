"""The proof of each form bites: what it turns on is spoilt, and the instance is rejected for exactly that."""

from collections.abc import Callable
from typing import Any

import pytest

from skillweave.schema.combination import Combination
from skillweave.schema.contract import RowChange
from skillweave.schema.criteria import FactToTell
from synth.gates.forms import check_forms
from synth.gates.gate import JudgedCombination
from synth.gates.judging import validate_combination
from synth.tasks.replay import Rejected
from tests.gates.clinic_tasks import RULES
from tests.tasks.forms.clinic import WORLD, instance, instances, named

Spoil = Callable[[Combination], Combination]


def with_terms(**changes: Any) -> Spoil:
    """The terms that have a form are changed."""
    return lambda one: one.model_copy(update={"terms": [terms.model_copy(update=changes) for terms in one.terms]})


def with_fact(change: Callable[[Any], dict[str, Any]]) -> Spoil:
    """The first fact to tell is changed."""

    def spoil(one: Combination) -> Combination:
        first, *others = one.communicate
        return one.model_copy(update={"communicate": [first.model_copy(update=change(first)), *others]})

    return spoil


def with_rows(change: Callable[[Any], dict[str, Any]]) -> Spoil:
    """What the user says of rows is changed, in a question too."""

    def spoil(one: Combination) -> Combination:
        rows = [row.model_copy(update=change(row)) for row in one.rows]
        asked = [
            question.model_copy(update={"rows": [row.model_copy(update=change(row)) for row in question.rows]})
            for question in one.questions
        ]
        return one.model_copy(update={"rows": rows, "questions": asked})

    return spoil


def other_end(one: Combination) -> Combination:
    """The last is meant where the first was, or the first where the last was."""
    (terms,) = one.terms
    other = {"least": "most", "most": "least"}
    best = {name: wish.model_copy(update={"order": other[wish.order]}) for name, wish in terms.best.items()}
    return with_terms(best=best)(one)


def a_better_slot(one: Combination) -> Combination:
    """There is another slot that comes first."""
    (wish,), mention = one.terms[0].best.values(), one.rows[-1]
    day, price = ("2025-01-21", 100) if wish.order == "least" else ("2025-12-01", 99900)
    key = {"slot_id": "SLO-0099"}
    row = {**key, "starts_at": f"{day} 14:00:00", "dentist_name": "Dr Hale", "is_free": 1, "price_cents": price}
    change = RowChange(table="slot", op="insert", key=key, after={**row, **mention.columns})
    return one.model_copy(update={"patch": [change]})


def other_side(one: Combination) -> Combination:
    """The limit lies on the other side of the value."""
    condition = one.terms[0].condition
    assert condition is not None
    limit = 1 if (condition.holds == "above") != (condition.then == "do") else 10**6
    return with_terms(condition=condition.model_copy(update={"limit": limit}))(one)


def of_no_list(one: Combination) -> Combination:
    """The condition is on a row that nobody has looked up."""
    condition = one.terms[0].condition
    assert condition is not None
    return with_terms(condition=condition.model_copy(update={"parameter": "reason"}))(one)


def of_more(one: Combination) -> Combination:
    """The exception is none."""
    every = one.terms[0].every
    assert every is not None
    assert every.excepted
    return with_terms(every=every.model_copy(update={"excepted": [], "size": every.size + 1}))(one)


def without_last_call(one: Combination) -> Combination:
    return one.model_copy(update={"golden": one.golden[:-1]})


def without(field: str, empty: Any) -> Spoil:
    return lambda one: one.model_copy(update={field: empty})


def believed(one: Combination) -> Combination:
    """The user believes what is true."""
    (fact,) = one.communicate
    belief = one.beliefs[fact.fact].model_copy(update={"value": fact.values[0]})
    return one.model_copy(update={"beliefs": {fact.fact: belief}})


def a_figure_more(fact: FactToTell) -> dict[str, Any]:
    return {"values": [fact.values[0] + 100]}  # type: ignore[operator]


def of_one_row_less(fact: FactToTell) -> dict[str, Any]:
    """The fact is foreseen of all rows but one."""
    assert fact.foreseen
    return {"foreseen": fact.foreseen.model_copy(update={"calls": fact.foreseen.calls[1:]})}


def without_look_up(one: Combination) -> Combination:
    """Nothing is read of what decides, and the row is known all the same."""
    (last,) = [call for call in one.golden if call.tool == "cancel_appointment"]
    keys = {name: "call 0 [0].appointment_id" for name in last.grounding if name == "appointment_id"}
    narrow = one.golden[0].model_copy(update={"tool": "list_fees", "arguments": {}})
    return one.model_copy(update={"golden": [narrow, last.model_copy(update={"grounding": keys})]})


SPOILT: list[tuple[str, Spoil, str]] = [
    ("move_best_slot_id", other_end, "another is the first of its kind"),
    ("move_best_slot_id", a_better_slot, "another is the first of its kind"),
    ("move_best_slot_id", with_terms(best={}), "nothing to choose"),
    ("book_if_price_cents", other_side, "the condition decides otherwise"),
    ("book_unless_price_cents", other_side, "the condition decides otherwise"),
    ("book_unless_price_cents", of_no_list, "the condition decides nothing"),
    ("move_if_price_cents_else_cancel", other_side, "the condition decides otherwise"),
    ("cancel_if_foreseen_fee_cents", other_side, "the condition decides otherwise"),
    ("cancel_unless_foreseen_fee_cents", other_side, "the condition decides otherwise"),
    ("cancel_unless_foreseen_fee_cents", with_fact(a_figure_more), "foreseen otherwise"),
    ("cancel_best_fee_cents", other_end, "another is the first of its kind"),
    ("cancel_best_fee_cents", without_look_up, "cannot be foreseen"),
    ("cancel_what_if_fee_cents", with_fact(a_figure_more), "foreseen otherwise"),
    ("cancel_what_if_all_fee_cents", with_fact(of_one_row_less), "foreseen otherwise"),
    ("cancel_what_if_all_fee_cents", without("communicate", []), "cannot be foreseen"),
    ("refuse_book_appointment_R6_or_move", without("forbidden", []), "both wishes are carried out"),
    ("move_or_cancel", without("undone", []), "both wishes are carried out"),
    ("cancel_every", of_more, "not the rows that are meant"),
    ("cancel_every", without_last_call, "not the rows that are meant"),
    ("sum_list_fees_amount_cents", with_fact(lambda fact: {"parts": fact.parts[:-1]}), "another sum"),
    ("sum_list_fees_amount_cents", with_fact(lambda fact: {"values": fact.rivals[:1] or [1]}), "another sum"),
    ("sum_list_fees_amount_cents", without("questions", []), "nothing to add up"),
    ("ask_fee_compared", with_fact(lambda fact: {"values": [fact.values[0] + 100]}), "another difference"),
    ("ask_fee_compared", with_rows(lambda row: {"columns": {}}), "not told apart"),
    ("ask_fee_compared", without("questions", []), "nothing to compare"),
    ("ask_fee_mistaken", believed, "what is believed is true"),
    ("ask_fee_mistaken", with_fact(lambda fact: {"rivals": []}), "what is believed is true"),
    ("move_rather_slot_id", with_terms(replaces=None), "no second mind"),
    ("move_rather_slot_id", with_terms(later="after_report"), "no second mind"),
]


def proof(name: str, combination: Combination) -> object:
    return check_forms(JudgedCombination(WORLD, combination, RULES, template=named(name)))


@pytest.mark.parametrize(("name", "spoil", "reason"), SPOILT)
def test_what_a_form_turns_on_is_proven_until_it_is_spoilt(name: str, spoil: Spoil, reason: str) -> None:
    combination = instance(named(name))
    assert proof(name, combination)
    with pytest.raises(Rejected) as rejected:
        proof(name, spoil(combination))
    assert rejected.value.reason == reason


def test_a_second_mind_whose_other_end_state_is_forgotten_fails_its_right_course() -> None:
    combination = instance(named("move_rather_slot_id")).model_copy(update={"any_of": []})
    with pytest.raises(Rejected, match="equivalent fails: change_of_mind_amended"):
        validate_combination(WORLD, combination, named("move_rather_slot_id"), RULES)


def test_a_first_wish_that_leaves_no_trace_is_no_detour() -> None:
    of_cleo = next(one for one in instances(named("move_again_slot_id")) if one.caller == "PAT-0003")
    found = validate_combination(WORLD, of_cleo, named("move_again_slot_id"), RULES)
    assert found.gates.planner["writes"] == 1
    assert found.gates.planner["longer_because"] == "the user thinks better of move_appointment"


def test_a_course_that_is_taken_for_wrong_and_does_what_is_wanted_is_noticed() -> None:
    combination = instance(named("move_rather_slot_id"))
    (form,) = combination.forms
    swapped = combination.model_copy(update={"forms": [form.model_copy(update={"wrong": form.right, "right": []})]})
    with pytest.raises(Rejected, match="mutant passes: change_of_mind_amended"):
        validate_combination(WORLD, swapped, named("move_rather_slot_id"), RULES)
