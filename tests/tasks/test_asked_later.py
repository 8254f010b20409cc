"""Which calls of a combination the user asks for with what they come out with later."""

import pytest

from skillweave.schema.combination import Combination
from skillweave.schema.contract import DECLINE
from synth.tasks.assembly import golden_of
from tests.tasks.forms.clinic import instance, named


def later(combination: Combination) -> Combination:
    """The combination, of which all is asked for later."""
    terms = [one.model_copy(update={"later": "after_report"}) for one in combination.terms]
    return combination.model_copy(update={"terms": terms})


def test_of_what_is_wanted_of_several_rows_all_calls_are_marked() -> None:
    batch = instance(named("cancel_every"))
    assert not any(call.asked_later for call in golden_of(batch))
    golden = golden_of(later(batch))
    marked = [call.tool for call in golden if call.asked_later]
    assert marked == [call.tool for call in golden if call.tool == "cancel_appointment"]
    assert len(marked) > 1
    assert batch.asked is None or later(batch).marked(len(batch.golden)).asked_later


def test_what_is_wanted_once_told_no_is_later_and_what_is_declined_is_not() -> None:
    fallback = instance(named("refuse_cancel_appointment_R10_or_move"))
    assert fallback.asked is not None
    terms = [one.model_copy(update={"later": "after_report"}) for one in fallback.terms]
    fallback = fallback.model_copy(update={"terms": terms})
    assert [call.tool for call in golden_of(fallback) if call.asked_later] == ["move_appointment"]
    assert not fallback.marked(len(fallback.golden)).asked_later


def test_a_task_on_record_keeps_its_marks() -> None:
    batch = later(instance(named("cancel_every")))
    golden = [call for call in golden_of(batch) if call.tool != DECLINE]
    on_record = batch.model_copy(update={"golden": golden, "terms": [], "steps": [*range(len(golden))]})
    assert golden_of(on_record) == golden_of(batch)


@pytest.mark.parametrize(("share", "marked"), [(1.0, ["pay_fee"]), (0.0, [])])
def test_of_two_deeds_the_second_is_asked_for_once_the_first_is_done(
    monkeypatch: pytest.MonkeyPatch, share: float, marked: list[str]
) -> None:
    monkeypatch.setattr("synth.tasks.combinations.IN_TURN", share)
    both = named("cancel").model_copy(update={"calls": [*named("cancel").calls, *named("pay").calls]})
    golden = golden_of(instance(both))
    assert [call.tool for call in golden if call.asked_later] == marked
    assert next(call.tool for call in golden if call.tool in ("cancel_appointment", "pay_fee")) == "cancel_appointment"


def test_what_is_only_agreed_to_comes_with_the_deed_that_needs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("synth.tasks.combinations.IN_TURN", 1.0)
    move, pay, cancel = (named(name).calls[0] for name in ("move", "pay", "cancel"))
    needed = pay.model_copy(update={"demanded_by": "R1"})
    later = named("move").model_copy(update={"calls": [move, needed, cancel]})
    assert [call.tool for call in golden_of(instance(later)) if call.asked_later] == ["pay_fee", "cancel_appointment"]
    first = later.model_copy(update={"calls": [needed, move, cancel]})
    assert [call.tool for call in golden_of(instance(first)) if call.asked_later] == ["cancel_appointment"]
