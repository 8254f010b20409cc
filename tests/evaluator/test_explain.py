from typing import Any

import pytest

from evaluator.explain import explain
from evaluator.explain.evidence import LONGEST
from evaluator.replay.trial import ScoredTrial
from skillweave.schema.contract import RowChange
from skillweave.schema.criteria import GoldenCall
from skillweave.schema.result import FailureClass, FailureRecord
from skillweave.schema.score import Checks, PolicyCheck, StateCheck
from tests.evaluator.tasks import BASE
from tests.evaluator.trials import Made, a_call, a_golden, a_task_of, a_trial, scored
from tests.world.clinic import a_world

WORLD = a_world()
BOOK = a_golden("book_appointment", slot_id="SLO-0004")
DROP = a_golden("drop_reminder", appointment_id="APT-0001")
CANCEL = a_golden("cancel_appointment", appointment_id="APT-0001", reason="travel")
MOVES = [a_golden("move_appointment", appointment_id="APT-0001", slot_id=slot) for slot in ("SLO-0004", "SLO-0006")]
FEES = a_golden("list_fees")
BOOKED = a_call("book_appointment", slot_id="SLO-0004")
DROPPED = a_call("drop_reminder", appointment_id="APT-0001")
DONE = ("say", "That is done.")
TRANSFER = a_call("transfer_to_human", reason="user_request", summary="They wait.")
FEE = {
    "fact": "told_1",
    "noun": "fee",
    "values": [1250],
    "rivals": [3000],
    "type": "integer",
    "unit": "cents",
}
TELL = {"communicate": [FEE], "reward_basis": ["state", "communicate"]}
POLICY = {"reward_basis": ["state", "policy"]}


def failure_of(
    golden: list[GoldenCall], *made: Made, criteria: dict[str, Any] | None = None, kind: str = "do", **ending: Any
) -> FailureRecord:
    found = scored(a_trial(WORLD, a_task_of(WORLD, *golden, criteria=criteria, kind=kind), *made, **ending))
    assert found.passed is False
    return explain(found)


def moved(slot: str) -> Made:
    return a_call("move_appointment", appointment_id="APT-0001", slot_id=slot)


@pytest.mark.parametrize(
    ("golden", "made", "expected", "call"),
    [
        ([BOOK], [a_call("book_appointment", slot_id="SLO-0006")], "wrong_argument", 0),
        ([MOVES[0]], [moved("SLO-0006")], "wrong_argument", 0),
        ([CANCEL], [a_call("cancel_appointment", appointment_id="APT-0001")], "wrong_argument", 0),
        ([BOOK, CANCEL], [BOOKED, a_call("cancel_appointment", appointment_id="APT-0009")], "wrong_entity", 1),
        ([MOVES[0]], [BOOKED], "wrong_tool", 0),
        (MOVES, [moved("SLO-0006"), moved("SLO-0004")], "wrong_order", 0),
        ([BOOK], [BOOKED, DROPPED], "extra_write", 1),
        ([BOOK], [BOOKED, a_call("book_appointment", slot_id="SLO-0006")], "extra_write", 1),
        ([BOOK, DROP], [BOOKED, DONE], "missing_write", None),
        ([BOOK, DROP], [DROPPED, a_call("book_appointment", slot_id="SLO-0002")], "wrong_argument", 1),
        ([BOOK], [("book_appointment", "{slot"), DONE], "malformed_call", 0),
        ([BOOK], [a_call("list_fees"), a_call("book_appointment", slot="SLO-0004")], "malformed_call", 1),
        ([BOOK], [a_call("book_appointment_v2", slot_id="SLO-0004"), DONE], "malformed_call", 0),
        ([BOOK], [a_call("reserve", slot_id="SLO-0004"), DONE], "malformed_call", 0),
        ([BOOK], [("book_appointment", "{slot"), a_call("book_appointment", slot_id="SLO-0002")], "missing_write", 0),
        ([BOOK, DROP], [BOOKED, TRANSFER], "gave_up_early", 1),
        ([BOOK], [a_call("find_slots")] * 4, "loop", 0),
    ],
)
def test_a_wrong_end_state_is_told_by_where_it_began(
    golden: list[GoldenCall], made: list[Made], expected: FailureClass, call: int | None
) -> None:
    found = failure_of(golden, *made)
    assert (found.class_, found.first_divergence.call) == (expected, call)
    if call is not None:
        assert found.first_divergence.message == call + 1


def test_what_was_due_is_set_against_what_was_made() -> None:
    found = failure_of([BOOK, DROP], BOOKED, a_call("set_reminders", wanted=False)).first_divergence
    assert (found.expected, found.got) == ('drop_reminder(appointment_id="APT-0001")', "set_reminders(wanted=false)")
    found = failure_of([BOOK], BOOKED, DROPPED).first_divergence
    assert (found.expected, found.got) == ("no more writes", 'drop_reminder(appointment_id="APT-0001")')


def test_a_refused_call_is_told_with_its_refusal() -> None:
    found = failure_of([BOOK], a_call("book_appointment", slot_id="SLO-0002")).first_divergence
    assert found.got.startswith('book_appointment(slot_id="SLO-0002") -> slot_taken')


@pytest.mark.parametrize(
    ("golden", "made", "expected"),
    [
        ([CANCEL], [a_call("cancel_appointment", appointment_id="APT-0002", reason="travel")], "wrong_entity"),
        ([CANCEL], [a_call("cancel_appointment", appointment_id="APT-0002", reason="other")], "wrong_entity"),
        ([BOOK], [a_call("book_appointment", slot_id="SLO-0002")], "wrong_argument"),
        ([BOOK], [a_call("book_appointment", slot_id="SLO-0002", note="Pain")], "missing_write"),
        ([BOOK], [a_call("book_appointment", slot_id=slot) for slot in ("SLO-0002", "SLO-9999")], "missing_write"),
        ([BOOK], [a_call("book_appointment", slot_id="SLO-0002")] * 4, "loop"),
        (
            [CANCEL],
            [a_call("cancel_appointment", appointment_id="APT-0002", reason="travel"), TRANSFER],
            "wrong_entity",
        ),
    ],
)
def test_the_only_attempt_at_a_write_is_told_by_what_it_got_wrong(
    golden: list[GoldenCall], made: list[Made], expected: FailureClass
) -> None:
    found = failure_of(golden, *made)
    assert (found.class_, found.first_divergence.call) == (expected, 0)


def test_what_was_due_first_and_never_tried_comes_before_what_was_tried() -> None:
    refused = a_call("drop_reminder", appointment_id="APT-0002")
    found = failure_of([BOOK, DROP], refused)
    assert (found.class_, found.first_divergence.call) == ("missing_write", 0)
    assert found.first_divergence.expected == 'book_appointment(slot_id="SLO-0004")'
    assert failure_of([BOOK, DROP], BOOKED, refused).class_ == "wrong_entity"


ANA = {"email": "ana@example.com", "date_of_birth": "1981-03-01"}
SIGN_IN = a_golden("identify_patient", **ANA)
UNSIGNED: dict[str, Any] = {
    "login": "conversation",
    "env_variables": {"CURRENT_DATE": "2025-01-20", "LOGGED_IN_USER": None, "LOGGED_IN_NAME": None},
}


@pytest.mark.parametrize(
    ("made", "expected", "call"),
    [
        ([a_call("identify_patient", **{**ANA, "email": "an@example.com"}), BOOKED], "wrong_argument", 0),
        ([a_call("find_slots"), ("identify_patient", "{"), BOOKED], "malformed_call", 1),
        ([BOOKED], "missing_write", 0),
        ([a_call("identify_patient", **{**ANA, "email": "an@example.com"}), TRANSFER], "wrong_argument", 0),
    ],
)
def test_a_sign_in_that_never_succeeded_comes_first(made: list[Made], expected: FailureClass, call: int) -> None:
    for golden, criteria in (([SIGN_IN, BOOK], {}), ([SIGN_IN, FEES], TELL)):
        if criteria and BOOKED in made[:1]:
            continue
        task = a_task_of(WORLD, *golden, criteria=criteria, **UNSIGNED)
        found = explain(scored(a_trial(WORLD, task, *made)))
        assert (found.class_, found.first_divergence.call) == (expected, call)
        assert found.first_divergence.expected.startswith("identify_patient(")


def test_a_sign_in_that_succeeded_in_the_end_is_no_divergence() -> None:
    task = a_task_of(WORLD, SIGN_IN, BOOK, **UNSIGNED)
    signed = [a_call("identify_patient", **{**ANA, "email": "an@example.com"}), a_call("identify_patient", **ANA)]
    found = explain(scored(a_trial(WORLD, task, *signed, DONE)))
    assert (found.class_, found.first_divergence.call) == ("missing_write", None)


def test_the_right_call_too_early_is_told_with_what_it_waits_for() -> None:
    freed = a_golden("book_appointment", slot_id="SLO-0002")
    found = failure_of([MOVES[0], freed], a_call("book_appointment", slot_id="SLO-0002")).first_divergence
    assert found.expected == 'move_appointment(appointment_id="APT-0001", slot_id="SLO-0004")'


def test_a_failed_call_that_was_made_good_is_no_divergence() -> None:
    found = failure_of([BOOK, DROP], a_call("book_appointment", slot_id="SLO-0002"), BOOKED, DONE)
    assert (found.class_, found.first_divergence.call) == ("missing_write", None)
    assert found.first_divergence.got == '"That is done."; the conversation ended: user_stop'
    assert (found.first_divergence.turn, found.first_divergence.message) == (2, 3)


def test_nothing_said_and_done_has_no_place() -> None:
    found = failure_of([BOOK])
    assert found.class_ == "missing_write"
    assert (found.first_divergence.turn, found.first_divergence.message) == (None, None)


def test_a_row_of_the_same_time_is_another_row_and_not_another_time() -> None:
    slot = WORLD.original("slot", "SLO-0004")
    assert slot is not None
    twin = RowChange(
        table="slot", op="insert", key={"slot_id": "SLO-0500"}, before=None, after={**slot, "slot_id": "SLO-0500"}
    )
    state = {**BASE["initial_state"], "patch": [twin.model_dump()]}
    task = a_task_of(WORLD, BOOK, initial_state=state)
    found = explain(scored(a_trial(WORLD, task, a_call("book_appointment", slot_id="SLO-0500"))))
    assert found.class_ == "wrong_entity"


@pytest.mark.parametrize(
    ("made", "ending", "expected"),
    [
        ([DONE], {"stop": "max_turns"}, "ran_out"),
        ([a_call("find_slots")] * 4, {"stop": "max_calls"}, "loop"),
        ([a_call("find_slots"), a_call("list_fees")] * 5, {"stop": "max_calls"}, "loop"),
        ([a_call("find_slots"), a_call("list_fees")] * 5, {}, "missing_write"),
        ([a_call("find_slots")] * 3, {"stop": "context_window"}, "ran_out"),
        ([DONE], {"stop": "error", "error": "refused: no"}, "withheld"),
        ([DONE], {"stop": "error", "error": "3 replies in a row could not be read; the last: x"}, "malformed_call"),
    ],
)
def test_a_write_that_never_came_is_told_by_how_it_ended(
    made: list[Made], ending: dict[str, Any], expected: FailureClass
) -> None:
    assert failure_of([BOOK], *made, **ending).class_ == expected


AS_TEXT = ("say", '<tool_call>{"name": "book_appointment", "arguments": {"slot_id": "SLO-0004"}}</tool_call>')


@pytest.mark.parametrize("stop", ["max_turns", "user_stop"])
@pytest.mark.parametrize("before", [[], [a_call("find_slots")]])
def test_a_call_that_arrives_as_text_is_said_to_be_one(stop: str, before: list[Made]) -> None:
    found = failure_of([BOOK], *before, AS_TEXT, DONE, stop=stop)
    assert (found.class_, found.first_divergence.message) == ("malformed_call", 1 + len(before))
    assert "a call as text, which nobody made; the server has no parser of tool calls" in found.first_divergence.got
    mentioned = failure_of([BOOK], *before, ("say", "I could call book_appointment for you."), DONE, stop=stop)
    assert mentioned.class_ == ("ran_out" if stop == "max_turns" else "missing_write")


def test_a_broken_rule_comes_before_what_it_did() -> None:
    again = a_call("book_appointment", slot_id="SLO-0006")
    found = failure_of([BOOK], BOOKED, again, criteria=POLICY)
    assert (found.class_, found.first_divergence.call) == ("policy_violation", 1)
    assert found.first_divergence.got.endswith("breaks R6")
    assert failure_of([BOOK], BOOKED, again).class_ == "extra_write"


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ([DONE], "did_not_tell"),
        ([a_call("list_fees")], "did_not_tell"),
        ([("say", "Your fee is 30.00.")], "told_wrong"),
        ([("say", "Your fee is 12.50."), ("say", "The fee is 30.00, sorry.")], "told_wrong"),
        ([TRANSFER], "gave_up_early"),
        ([("list_fees", "[]")], "malformed_call"),
    ],
)
def test_what_was_not_told_is_told_by_what_was(made: list[Made], expected: FailureClass) -> None:
    found = failure_of([FEES], *made, criteria=TELL, kind="inform")
    assert found.class_ == expected
    if expected == "did_not_tell":
        assert found.first_divergence.expected == "told_1: fee 12.50"
    if expected == "told_wrong":
        assert "30.00" in found.first_divergence.got
        assert found.first_divergence.message == len(made)


DECLINED = {**POLICY, "declined": {"rule": "R10"}}


@pytest.mark.parametrize(
    ("kind", "made", "expected"),
    [
        ("refuse", [("say", "I am sorry, that is not possible.")], "not_declined"),
        ("refuse", [a_call("transfer_to_human", reason="policy", summary="")], "not_declined"),
        ("refuse", [a_call("decline_request", rule="R4"), ("say", "No.")], "wrong_rule"),
        ("refuse", [a_call("decline_request", rule="R10")], "not_declined"),
        ("do", [a_call("decline_request", rule="R10"), ("say", "No.")], "wrongly_declined"),
        ("refuse", [DONE], "not_declined"),
        ("unavailable", [("say", "I cannot do that.")], "not_declined"),
    ],
)
def test_who_should_decline_is_told_by_how_it_declined(kind: str, made: list[Made], expected: FailureClass) -> None:
    assert failure_of([], *made, criteria=DECLINED if kind == "refuse" else POLICY, kind=kind).class_ == expected


@pytest.mark.parametrize(
    ("kind", "check", "expected"),
    [
        ("do", PolicyCheck(score=0, unconfirmed=["call 0 (book_appointment)"]), "unconfirmed_write"),
        ("clarify", PolicyCheck(score=0, violations=["not told slot.day before call 0"]), "did_not_ask"),
        ("do", PolicyCheck(score=0, violations=["in some other way"]), "policy_violation"),
    ],
)
def test_conduct_is_told_with_its_call(kind: str, check: PolicyCheck, expected: FailureClass) -> None:
    asks = {"must_ask": [{"facts": ["slot.day"], "tool": "book_appointment"}]} if kind == "clarify" else {}
    trial = a_trial(WORLD, a_task_of(WORLD, BOOK, criteria={**POLICY, **asks}, kind=kind), BOOKED)
    found = explain(ScoredTrial(trial, Checks(state=StateCheck(score=1), policy=check), 0.0))
    assert found.class_ == expected
    assert found.first_divergence.call == (None if "other" in str(check.violations) else 0)


def test_hostile_text_stays_on_one_short_line() -> None:
    hostile = "\x1b[2J\n\u202e" * 5_000
    for made in (a_call("book_appointment", slot_id=hostile), a_call(hostile), ("say", hostile)):
        where = failure_of([BOOK], made).first_divergence
        assert len(where.got) <= LONGEST
        assert where.got.isprintable()


def test_the_class_does_not_rest_on_which_checks_were_asked_for() -> None:
    whole = scored(a_trial(WORLD, a_task_of(WORLD, BOOK), a_call("book_appointment", slot_id="SLO-0006")))
    alone = ScoredTrial(whole.trial, Checks(state=whole.checks.state), 0.0)
    assert explain(alone) == explain(whole)
