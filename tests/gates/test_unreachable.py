"""Requests that no offered tool serves: kept where no effect of what is left writes what the request would change."""

from typing import Any

from skillweave.schema.combination import Combination
from synth.gates.not_already_true import check_not_already_true
from synth.tasks.combinations import combinations_of
from tests.gates.clinic_tasks import WORLD, judged, reason
from tests.tasks.test_builder import template

CANCEL = template("cancel_appointment", kind="unavailable", is_hidden=True)


def one(login: str = "session", made: Any = CANCEL) -> Combination:
    people = ["PAT-0001", "PAT-0002"]
    found = (c for seed in "123456" for c in combinations_of(WORLD, made, people, 2, seed))
    return next(c for c in found if isinstance(c, Combination) and c.login == login)


def test_it_is_handed_over_and_nobody_looks_for_the_row_first() -> None:
    assert [call.tool for call in one().golden] == ["transfer_to_human"]
    combination = one("conversation")
    assert [call.tool for call in combination.golden] == ["identify_patient", "transfer_to_human"]
    assert combination.asked is not None
    assert combination.asked.tool == "cancel_appointment"
    assert {row.call for row in combination.rows} == {2}
    assert judged(combination, template=CANCEL).criteria.reward_basis == ["state", "policy"]


def test_all_that_write_what_it_changes_are_hidden_and_nothing_else() -> None:
    combination = one()
    assert combination.hidden == ["book_appointment", "cancel_appointment", "move_appointment"]
    found = judged(combination, template=CANCEL)
    assert found.criteria.beyond["appointment"] == ["cancel_reason", "status"]
    assert found.gates.lawful["unreachable"]["hidden"] == 3  # type: ignore[index,call-overload]


def test_a_tool_that_does_the_like_is_found() -> None:
    combination = one()
    left = combination.model_copy(update={"hidden": ["cancel_appointment"]})
    assert reason(left, template=CANCEL) == "within reach"
    offered = combination.model_copy(update={"hidden": ["book_appointment", "move_appointment"]})
    assert reason(offered, template=CANCEL) == "not unavailable"


def test_reads_stay() -> None:
    combination = one()
    blind = combination.model_copy(update={"hidden": [*combination.hidden, "list_appointments"]})
    assert reason(blind, template=CANCEL) == "not unavailable"


def test_what_is_unlawful_anyway_is_not_merely_unavailable() -> None:
    combination = one()
    assert combination.asked is not None
    other = "APT-0002" if combination.caller == "PAT-0001" else "APT-0001"
    asked = combination.asked.model_copy(update={"arguments": {**combination.asked.arguments, "appointment_id": other}})
    rows = [row.model_copy(update={"key": other}) for row in combination.rows]
    wrong = combination.model_copy(update={"asked": asked, "rows": rows})
    assert reason(wrong, template=CANCEL) == "not unavailable"


def test_an_argument_that_nobody_says_is_rejected() -> None:
    assert reason(one().model_copy(update={"rows": []}), template=CANCEL) == "argument without source"


def test_silence_does_not_pass() -> None:
    combination = one()
    criteria = judged(combination, template=CANCEL).criteria
    assert check_not_already_true(WORLD, combination, criteria)["doing_nothing"]["policy"] == 0  # type: ignore[index,call-overload]
