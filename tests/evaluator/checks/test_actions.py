from copy import deepcopy
from typing import Any

import pytest

from evaluator.checks.actions import check_actions
from evaluator.checks.call_matching import is_same
from evaluator.replay.trial import ReplayedTrial
from skillweave.schema.blueprint import Blueprint
from skillweave.schema.criteria import GoldenCall
from skillweave.schema.record import Json
from tests.evaluator.trials import Made, a_call, a_golden, a_task_of, a_trial
from tests.world.clinic import a_world, blueprint_data

WORLD = a_world()
BOOK = a_golden("book_appointment", slot_id="SLO-0004", note="first visit")
DROP = a_golden("drop_reminder", appointment_id="APT-0001")
FEES = a_golden("list_fees")
BOOKED = a_call("book_appointment", slot_id="SLO-0004", note="first visit")
DROPPED = a_call("drop_reminder", appointment_id="APT-0001")


def trial_of(golden: list[GoldenCall], made: list[Made], **changes: Any) -> ReplayedTrial:
    return a_trial(WORLD, a_task_of(WORLD, *golden, **changes), *made)


def pairs(trial: ReplayedTrial) -> list[tuple[int, int]]:
    return [(pair.golden, pair.call) for pair in check_actions(trial).matched]


def test_golden_calls_in_another_order_with_reads_and_failures_between_are_all_made() -> None:
    refused, reading = a_call("book_appointment", slot_id="SLO-0002"), a_call("find_slots")
    found = check_actions(trial_of([BOOK, DROP], [reading, DROPPED, refused, BOOKED]))
    assert (found.score, found.precision, found.recall) == (1.0, 1.0, 1.0)
    assert [(pair.golden, pair.call) for pair in found.matched] == [(0, 3), (1, 1)]
    assert [*found.missing, *found.extra, *found.argument_errors, *found.order_errors] == []


def test_one_made_call_stands_for_one_golden_call() -> None:
    found = check_actions(trial_of([FEES, FEES], [a_call("list_fees")]))
    assert (len(found.matched), [note.golden for note in found.missing], found.recall) == (1, [1], 0.5)


def test_nothing_demanded_and_nothing_made_is_right() -> None:
    assert check_actions(trial_of([], [])).score == 1.0


def test_nothing_made_is_worth_nothing() -> None:
    found = check_actions(trial_of([BOOK], []))
    assert (found.score, found.recall, [note.tool for note in found.missing]) == (0.0, 0.0, ["book_appointment"])


def test_an_extra_write_costs_precision() -> None:
    found = check_actions(trial_of([BOOK], [BOOKED, DROPPED]))
    assert (found.precision, found.recall, [note.call for note in found.extra]) == (0.5, 1.0, [1])
    assert found.score == pytest.approx(2 / 3)


def test_a_value_that_is_not_compared_may_differ() -> None:
    assert check_actions(trial_of([BOOK], [a_call("book_appointment", slot_id="SLO-0004")])).score == 1.0
    other = a_call("book_appointment", slot_id="SLO-0004", note="in other words")
    assert check_actions(trial_of([BOOK], [other])).score == 1.0


def test_a_value_that_the_task_leaves_open_may_differ() -> None:
    golden = a_golden("cancel_appointment", appointment_id="APT-0001")
    made = a_call("cancel_appointment", appointment_id="APT-0001", reason="travel")
    closed = a_task_of(WORLD, golden)
    assert check_actions(a_trial(WORLD, closed, made)).score == 0.0
    changes = [change.model_dump() for change in closed.criteria.state]
    for change in changes:
        if change["table"] == "appointment":
            change["before"]["cancel_reason"], change["after"]["cancel_reason"] = None, {"$any": True}
    state = closed.model_copy(update={"criteria": type(closed.criteria)(state=changes, reward_basis=["state"])})
    assert check_actions(a_trial(WORLD, state, made)).score == 1.0


def test_null_is_as_good_as_absent_and_a_date_is_its_day() -> None:
    golden = [a_golden("list_appointments"), a_golden("find_slots", date="2025-01-22")]
    made = [a_call("list_appointments", status=None), a_call("find_slots", date="20250122")]
    assert pairs(trial_of(golden, made)) == [(0, 0), (1, 1)]


def test_a_read_with_the_same_rows_is_as_good() -> None:
    golden = [a_golden("list_appointments", status="scheduled")]
    assert pairs(trial_of(golden, [a_call("list_appointments")])) == [(0, 0)]
    assert pairs(trial_of(golden, [a_call("list_appointments", status="cancelled")])) == []


def test_minted_ids_are_those_of_the_call_that_stands_for_theirs() -> None:
    cancel = a_golden("cancel_appointment", {"appointment_id": "call 0 appointment_id"}, appointment_id="APT-0009")
    other = a_call("book_appointment", slot_id="SLO-0006")
    right = trial_of([BOOK, cancel], [other, BOOKED, a_call("cancel_appointment", appointment_id="APT-0011")])
    assert right.execution.minted[:3:2] == ["APT-0009", "APT-0011"]
    assert pairs(right) == [(0, 1), (1, 2)]
    wrong = trial_of([BOOK, cancel], [other, BOOKED, a_call("cancel_appointment", appointment_id="APT-0009")])
    assert pairs(wrong) == [(0, 1)]


def test_another_tool_with_the_same_effect_stands_for_it() -> None:
    blueprint = deepcopy(blueprint_data())
    drop = next(tool for tool in blueprint["tools"] if tool["name"] == "drop_reminder")
    all_mine = "appointment_id IN (SELECT appointment_id FROM appointment WHERE patient_id = :caller)"
    effect = {**drop["effects"][0], "sql": f"DELETE FROM reminder WHERE {all_mine}"}
    returns = {"rows": "many", "select": "SELECT reminder_id FROM reminder ORDER BY reminder_id"}
    other = {**drop, "name": "drop_all", "parameters": [], "guards": [], "effects": [effect], "returns": returns}
    world = a_world(Blueprint.model_validate({**blueprint, "tools": [*blueprint["tools"], other]}))
    trial = a_trial(world, a_task_of(world, DROP), a_call("drop_all"))
    assert (pairs(trial), check_actions(trial).score) == ([(0, 0)], 1.0)


def test_errors_are_told_argument_by_argument_against_the_nearest_call() -> None:
    move = a_golden("move_appointment", appointment_id="APT-0001", slot_id="SLO-0004")
    refused = a_call("move_appointment", appointment_id="APT-0001", slot_id="SLO-0005")
    moved = a_call("move_appointment", appointment_id="APT-0001", slot_id="SLO-0006")
    for made, call, got in (([refused, moved], 1, "SLO-0006"), ([refused], 0, "SLO-0005")):
        found = check_actions(trial_of([move], made)).argument_errors
        assert [(one.call, one.argument, one.expected, one.got) for one in found] == [
            (call, "slot_id", "SLO-0004", got)
        ]


def test_what_follows_from_a_wrong_call_is_no_error_of_its_own() -> None:
    cancel = a_golden("cancel_appointment", {"appointment_id": "call 0 appointment_id"}, appointment_id="APT-0009")
    made = [
        a_call("book_appointment", slot_id="SLO-0006"),
        a_call("cancel_appointment", appointment_id="APT-0009"),
    ]
    found = check_actions(trial_of([BOOK, cancel], made))
    assert len(found.missing) == len(found.extra) == 2
    assert {(one.golden, one.argument) for one in found.argument_errors} == {(0, "slot_id")}


MOVES = [a_golden("move_appointment", appointment_id="APT-0001", slot_id=slot) for slot in ("SLO-0004", "SLO-0006")]


def test_order_counts_where_the_end_state_shows_it() -> None:
    made = [a_call("move_appointment", appointment_id="APT-0001", slot_id=slot) for slot in ("SLO-0006", "SLO-0004")]
    found = check_actions(trial_of(MOVES, made))
    assert (found.score, found.recall) == (0.0, 1.0)
    assert [(error.golden, error.call) for error in found.order_errors] == [(1, 0)]
    assert check_actions(trial_of(MOVES, [*reversed(made)])).score == 1.0


def test_handing_over_is_matched_by_its_reason() -> None:
    transfer = a_golden("transfer_to_human", reason="no_tool", summary="golden words")
    right = a_call("transfer_to_human", reason="no_tool", summary="other words")
    wrong = a_call("transfer_to_human", reason="policy", summary="golden words")
    assert pairs(trial_of([transfer], [right])) == [(0, 0)]
    found = check_actions(trial_of([transfer], [wrong]))
    assert (found.matched, [note.call for note in found.extra]) == ([], [0])


def test_a_pruned_call_is_neither_demanded_nor_extra() -> None:
    back = a_golden("move_appointment", appointment_id="APT-0001", slot_id="SLO-0002")
    task = a_task_of(WORLD, MOVES[0], back, BOOK)
    moved = [a_call(call.tool, **call.arguments) for call in task.golden]
    for made in ([BOOKED], moved):
        taken = BOOKED if len(made) == 1 else moved[2]
        found = check_actions(a_trial(WORLD, task, *made[:-1], taken, prune=True))
        assert (found.score, [pair.golden for pair in found.matched]) == (1.0, [2])


def test_signing_in_is_matched_by_the_person() -> None:
    sign_in = a_golden("identify_patient", email="ana@example.com", date_of_birth="1981-03-01")
    nobody = {"CURRENT_DATE": "2025-01-20", "LOGGED_IN_USER": None, "LOGGED_IN_NAME": None}
    changes: dict[str, Any] = {"login": "conversation", "env_variables": nobody}
    other = a_call("identify_patient", email="ben@example.com", date_of_birth="1982-03-02")
    same = a_call("identify_patient", email="ana@example.com", date_of_birth="1981-03-01")
    assert pairs(trial_of([sign_in], [other], **changes)) == []
    assert pairs(trial_of([sign_in], [same], **changes)) == [(0, 0)]


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (5, 5.0, True),
        (1, True, False),
        ([1, {"a": 0}], [1.0, {"a": 0}], True),
        ([1, {"a": 0}], [1, {"a": False}], False),
        ({"a": 1}, {"a": 1, "b": 1}, False),
        ("1", 1, False),
    ],
)
def test_values_are_the_same_by_what_they_mean(one: Json, other: Json, expected: bool) -> None:
    assert is_same(one, other) is expected
