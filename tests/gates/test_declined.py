"""Requests that a rule forbids: kept where just that rule is broken, and an agent can know it."""

import copy
from typing import Any

import pytest

from skillweave.schema.combination import Combination
from skillweave.schema.contract import RowChange
from skillweave.world.world import World
from synth.gates.declined import rules_broken
from synth.gates.not_already_true import check_not_already_true
from synth.tasks.combinations import combination_for, combinations_of
from synth.tasks.kinds import NoInstance
from synth.tasks.replay import Rejected
from tests.gates.clinic_tasks import WORLD, judged, reason, with_tools
from tests.tasks.test_builder import template
from tests.world.clinic import ROWS, WRITES

PEOPLE = ["PAT-0001", "PAT-0002", "PAT-0003"]


def guards(tool: str, **changed: dict[str, Any]) -> list[dict[str, Any]]:
    """The guards of a write, some changed, by rule."""
    own = next(one for one in WRITES if one["name"] == tool)["guards"]
    return [{**copy.deepcopy(guard), **changed.get(guard["rule"], {})} for guard in own]


ONE_ONLY = "(SELECT COUNT(*) FROM appointment WHERE patient_id = :caller AND status = 'scheduled') < 1"
STRICT = with_tools(book_appointment={"guards": guards("book_appointment", R6={"holds": ONE_ONLY})})
"""Whoever has an appointment may not book another: only the policy says so."""
BOOK = template("book_appointment", kind="refuse", forbidden="R6")
DROP = template("drop_reminder", kind="refuse", forbidden="R16")


def asked(world: World, made: Any, seed: str = "7") -> list[Combination | NoInstance]:
    return [*combinations_of(world, made, PEOPLE, 5, seed)]


def one(world: World, made: Any, seed: str = "7") -> Combination:
    return next(found for found in asked(world, made, seed) if isinstance(found, Combination))


def test_what_only_the_policy_forbids_is_asked_for_and_not_made() -> None:
    combination = one(STRICT, BOOK)
    assert combination.asked is not None
    assert combination.asked.tool == "book_appointment"
    assert combination.forbidden == ["R6"]
    assert "book_appointment" not in [call.tool for call in combination.golden]
    found = judged(combination, world=STRICT, template=BOOK)
    assert found.criteria.state == []
    assert [(ban.rule, ban.table) for ban in found.criteria.must_not] == [("R6", "appointment")]
    assert found.criteria.reward_basis == ["state", "policy"]
    assert found.gates.lawful["declined"]["held_by"] == "agent"  # type: ignore[index,call-overload]


def test_the_golden_calls_show_what_decides_a_rule_that_no_tool_upholds() -> None:
    combination = one(STRICT, BOOK)
    tools = [call.tool for call in combination.golden]
    last = len(tools) - 1
    assert tools[last] == "list_appointments"
    blind = combination.model_copy(
        update={
            "golden": combination.golden[:last],
            "steps": [last],
            "rows": [row.model_copy(update={"call": last}) for row in combination.rows],
            "values": [said.model_copy(update={"call": last}) for said in combination.values],
        }
    )
    assert reason(blind, world=STRICT, template=BOOK) == "cannot be known"


def test_what_a_tool_refuses_needs_no_more_than_the_row() -> None:
    combination = one(WORLD, DROP)
    assert combination.caller == "PAT-0002"
    assert {call.tool for call in combination.golden} <= {"identify_patient", "list_appointments"}
    found = judged(combination, template=DROP)
    assert found.gates.lawful["declined"] == {"rule": "R16", "held_by": "tool", "goes_with": []}


def test_silence_does_not_pass() -> None:
    combination = one(WORLD, DROP)
    found = judged(combination, template=DROP)
    assert found.gates.not_already_true == {"doing_nothing": {"state": 1.0, "communicate": 1.0, "policy": 0.0}}
    nothing_to_record = found.criteria.model_copy(update={"declined": None})
    with pytest.raises(Rejected, match="already true"):
        check_not_already_true(WORLD, combination, nothing_to_record)


@pytest.mark.parametrize("rules", [["R2"], ["R16", "R2"]])
def test_another_rule_than_the_one_broken_is_no_ban(rules: list[str]) -> None:
    wrong = one(WORLD, DROP).model_copy(update={"forbidden": rules})
    assert reason(wrong, template=DROP) == "not forbidden by that rule"
    assert reason(wrong.model_copy(update={"forbidden": []}), template=DROP) == "already true"


def test_a_lawful_request_is_no_refusal() -> None:
    combination = one(STRICT, BOOK)
    assert reason(combination, world=WORLD, template=BOOK) == "not forbidden by that rule"


def test_words_that_fit_a_lawful_row_too_are_rejected() -> None:
    """Ana has a second appointment with the same dentist, without a reminder to drop."""
    second = {**ROWS["Appointment"][0], "appointment_id": "APT-0009", "slot_id": "SLO-0004"}
    key = {"appointment_id": "APT-0009"}
    patch = [RowChange(table="appointment", op="insert", key=key, before=None, after=second)]
    sound = combination_for(WORLD, DROP, "PAT-0001", "session", "7", number=0, patch=patch)
    assert sound.asked is not None
    assert sound.asked.arguments == key
    assert reason(sound, template=DROP) is None
    place = len(sound.golden)
    assert rules_broken(WORLD, sound, {(place, "appointment_id"): "APT-0001"}) == []
    rows = [row.model_copy(update={"columns": {"dentist_name": "Dr Iyer"}}) for row in sound.rows]
    assert reason(sound.model_copy(update={"rows": rows}), template=DROP) == "row not told apart"


def test_a_rule_that_turns_on_what_nobody_is_shown_has_no_instance() -> None:
    unseen = "(SELECT COUNT(*) FROM reminder r JOIN appointment a ON a.appointment_id = r.appointment_id WHERE "
    holds = f"{unseen} a.patient_id = :caller AND r.channel = 'E-mail') < 1"
    world = with_tools(book_appointment={"guards": guards("book_appointment", R6={"holds": holds})})
    found = asked(world, BOOK)
    assert {str(one) for one in found} == {"what decides R6 cannot be known"}


def test_a_row_that_nobody_is_shown_cannot_be_asked_for() -> None:
    found = asked(WORLD, template("cancel_appointment", kind="refuse", forbidden="R2"))
    assert all(isinstance(one, NoInstance) for one in found)


def test_the_same_seed_gives_the_same_requests() -> None:
    assert asked(STRICT, BOOK)[0] == asked(STRICT, BOOK)[0]


def test_a_rule_that_brings_another_with_it_forbids_with_that_one() -> None:
    own = guards("drop_reminder")
    twin = {**own[-1], "rule": "R30", "error": "nothing_to_drop"}
    world = with_tools(drop_reminder={"guards": [*own, twin]})
    combination = one(world, DROP)
    assert combination.forbidden == ["R16", "R30"]
    found = judged(combination, world=world, template=DROP)
    assert [ban.rule for ban in found.criteria.must_not] == ["R16", "R30"]


def test_two_rules_that_have_nothing_to_do_with_each_other_are_no_ban() -> None:
    """Of Ben's two appointments, both without a reminder, the second rule forbids one only."""
    own = guards("drop_reminder")
    holds = "(SELECT slot_id FROM appointment WHERE appointment_id = :appointment_id) <> 'SLO-0005'"
    world = with_tools(drop_reminder={"guards": [*own, {**own[-1], "rule": "R30", "holds": holds}]})
    second = {**ROWS["Appointment"][1], "appointment_id": "APT-0009", "slot_id": "SLO-0004"}
    key = {"appointment_id": "APT-0009"}
    patch = [RowChange(table="appointment", op="insert", key=key, before=None, after=second)]
    tried = (combination_for(WORLD, DROP, "PAT-0002", "session", seed, number=0, patch=patch) for seed in "12345678")
    first = next(found for found in tried if found.asked and found.asked.arguments == {"appointment_id": "APT-0002"})
    assert reason(first, world=world, template=DROP) == "not forbidden by that rule"
    both = first.model_copy(update={"forbidden": ["R16", "R30"]})
    assert reason(both, world=world, template=DROP) == "several rules forbid it"
