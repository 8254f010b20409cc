"""Requests with a catch: a row that a rule forbids, a sum that must not be gone beyond, an outcome to be foreseen."""

from collections.abc import Callable

import pytest

from skillweave.schema.combination import Combination, RowSet, Superlative
from skillweave.schema.record import Json
from synth.gates.judging import validate_combination
from synth.tasks.forms.batch import affordable
from synth.tasks.forms.limits import meets
from synth.tasks.outcomes import amounts_foreseen, check_foreseen, deciding_calls
from synth.tasks.replay import Rejected
from synth.tasks.requests import known_values
from tests.gates.clinic_tasks import RULES
from tests.tasks.forms.clinic import WORLD, instances, named

ROWS: dict[str, dict[str, Json]] = {
    "A": {"due_on": "2025-03-03", "amount_cents": 4000},
    "B": {"due_on": "2025-03-01", "amount_cents": 2500},
    "C": {"due_on": "2025-03-02", "amount_cents": 1500},
    "D": {"due_on": "2025-03-04", "amount_cents": 3000},
}


def first(name: str, fits: Callable[[Combination], bool]) -> Combination:
    return next(one for seed in "789abc" for one in instances(named(name), seed) if fits(one))


def up_to(budget: int) -> RowSet:
    return RowSet(
        entity="Invoice",
        size=0,
        first=Superlative(column="due_on", order="least"),
        budget=budget,
        budget_column="amount_cents",
    )


@pytest.mark.parametrize(("budget", "keys"), [(4000, ["B", "C"]), (6500, ["B", "C"]), (8000, ["B", "C", "A"])])
def test_rows_are_taken_in_their_order_as_long_as_they_stay_within_the_sum(budget: int, keys: list[str]) -> None:
    assert affordable(ROWS, up_to(budget)) == keys


@pytest.mark.parametrize(
    ("rows", "budget"),
    [
        (ROWS, 7500),  # D would still fit in behind A, which does not.
        (ROWS, 11000),  # All of them fit in.
        ({**ROWS, "E": {"due_on": "2025-03-02", "amount_cents": 9000}}, 4000),  # C and E are due on one day.
    ],
)
def test_a_sum_that_does_not_decide_is_rejected(rows: dict[str, dict[str, Json]], budget: int) -> None:
    with pytest.raises(Rejected, match="the order or the sum does not decide"):
        affordable(rows, up_to(budget))


def test_of_a_batch_one_row_may_be_declined_and_the_others_are_dealt_with() -> None:
    one = first("cancel_every", lambda found: bool(found.forbidden))
    assert one.forbidden == ["R10"]
    assert one.asked
    cancelled = [call.arguments["appointment_id"] for call in one.golden if call.tool == "cancel_appointment"]
    assert one.asked.arguments["appointment_id"] not in cancelled
    # Whoever may move what cannot be cancelled can cancel it then.
    with pytest.raises(Rejected, match="lawful after another call: move_appointment"):
        validate_combination(WORLD, one, named("cancel_every"), RULES)
    one = one.model_copy(update={"hidden": ["move_appointment"]})
    found = validate_combination(WORLD, one, named("cancel_every"), RULES)
    assert found.criteria.declined
    assert found.criteria.declined.rule == "R10"
    assert "batch_forbidden_row" in str(found.gates.mutants["sorts"])
    assert found.gates.forms["batch"]["rows_meant"] == len(cancelled) + 1  # type: ignore[index,call-overload]


def test_the_first_that_is_allowed_passes_all_gates_and_is_not_the_first_of_all() -> None:
    one = first("cancel_best_appointment_id", lambda found: any(best.allowed for best in found.terms[0].best.values()))
    validate_combination(WORLD, one, named("cancel_best_appointment_id"), RULES)
    (parameter, best) = next(iter(one.terms[0].best.items()))
    plain = one.terms[0].model_copy(update={"best": {parameter: best.model_copy(update={"allowed": False})}})
    with pytest.raises(Rejected, match="another is the first of its kind"):
        validate_combination(
            WORLD, one.model_copy(update={"terms": [plain]}), named("cancel_best_appointment_id"), RULES
        )


def test_what_is_only_asked_about_is_not_done_and_the_user_does_not_know_the_answer() -> None:
    one = first("cancel_what_if_fee_cents", lambda found: True)
    assert [call.tool for call in one.undone] == ["cancel_appointment"]
    assert "cancel_appointment" not in [call.tool for call in one.golden]
    (fact,) = one.communicate
    assert fact.foreseen
    assert fact.shown == []
    assert fact.values[0] not in known_values(WORLD.blueprint, named("cancel_what_if_fee_cents"), one)
    assert check_foreseen(WORLD, one) == 1
    assert deciding_calls(WORLD, one)


def test_who_signs_in_while_talking_is_known_by_that() -> None:
    one = next(instances(named("cancel_what_if_fee_cents"), login="conversation"))
    assert check_foreseen(WORLD, one.model_copy(update={"caller": ""})) == 1


def test_what_it_would_come_to_with_other_rows_is_a_rival() -> None:
    one = first("cancel_what_if_fee_cents", lambda found: found.caller == "PAT-0001")
    (fact,) = one.communicate
    assert fact.rivals
    assert fact.values[0] not in fact.rivals


def test_a_form_names_writes_of_the_world() -> None:
    one = first("cancel_what_if_fee_cents", lambda found: True)
    form = one.forms[0].model_copy(update={"foreseen": ["no_such_tool"]})
    with pytest.raises(Rejected, match="a form names a write that the world does not have"):
        check_foreseen(WORLD, one.model_copy(update={"forms": [form]}))


def test_amounts_are_foreseen_by_their_names() -> None:
    assert amounts_foreseen(WORLD.blueprint.tool("cancel_appointment")) == ["fee_cents"]
    assert amounts_foreseen(WORLD.blueprint.tool("move_appointment")) == []


def test_of_two_rows_with_such_a_value_neither_decides_otherwise() -> None:
    session = WORLD.session()
    slots = {str(row["slot_id"]): row["price_cents"] for row in session.rows("slot")}
    booked = {str(row["appointment_id"]): str(row["slot_id"]) for row in session.rows("appointment")}
    found = [one for seed in "789abc" for one in instances(named("move_if_price_cents_else_cancel"), seed)]
    assert found
    for one in found:
        condition = one.terms[0].condition
        move = next(call for call in one.calls if call.tool == "move_appointment")
        assert condition is not None
        for slot in (str(move.arguments["slot_id"]), booked[str(move.arguments["appointment_id"])]):
            assert meets(slots[slot], condition)
