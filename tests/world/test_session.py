from itertools import product
from typing import Any

import pytest

from skillweave.base.errors import WorldError
from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import CallResult, RowChange
from skillweave.schema.record import Json
from skillweave.world.session import ContractSession
from tests.world.clinic import a_world, blueprint_data

BOOK = {"slot_id": "SLO-0004"}
CANCEL = {"appointment_id": "APT-0001", "reason": "illness"}


def a_session(**more: Any) -> ContractSession:
    return a_world().session(**{"caller": "PAT-0001", **more})


def code(result: CallResult) -> str | None:
    return result.error.code if result.error else None


def signed_in(session: ContractSession) -> str | None:
    return session.caller


def handed_over(session: ContractSession) -> dict[str, Json] | None:
    return session.transfer


def a_blueprint_with(tool: str, **changes: Any) -> Blueprint:
    """The clinic with one tool changed."""
    data = blueprint_data()
    data["tools"] = [{**one, **changes} if one["name"] == tool else one for one in data["tools"]]
    return Blueprint.model_validate(data)


def names(session: ContractSession) -> list[object]:
    return [tool["function"]["name"] for tool in session.tools]  # type: ignore[index, call-overload]


def test_a_write_changes_rows_mints_ids_and_shows_its_result() -> None:
    session = a_session()
    result = session.call("book_appointment", BOOK)
    assert result.ok
    assert result.value == {"appointment_id": "APT-0009", "status": "scheduled", "starts_at": "2025-01-22 14:30:00"}
    assert result.minted == session.minted == ["APT-0009", "REM-0010"]
    assert result.changed == [1, 1, 1]
    assert [(change.table, change.op) for change in session.diff()] == [
        ("appointment", "insert"),
        ("reminder", "insert"),
        ("slot", "update"),
    ]


def test_the_first_broken_rule_of_the_tool_is_the_error_with_its_sentence() -> None:
    result = a_session().call("cancel_appointment", {"appointment_id": "APT-0002"})
    assert (result.ok, result.value) == (False, None)
    assert result.error is not None
    assert (result.error.code, result.error.rule) == ("not_your_appointment", "R2")
    assert result.error.message == "Patients may only touch their own appointments."


def test_a_null_guard_is_broken() -> None:
    assert code(a_session().call("pay_fee", {"fee_id": "FEE-0001", "amount_cents": 1250})) is None
    session = a_session()
    session.call("pay_fee", {"fee_id": "FEE-0001", "amount_cents": 1250})
    assert code(session.call("pay_fee", {"fee_id": "FEE-0001", "amount_cents": 1250})) == "wrong_amount"


HOLDS = {"true": "TRUE", "false": "FALSE", "null": "NULL", "fails": "json_extract(:reason, '$.a') IS NULL"}


@pytest.mark.parametrize("kinds", [*product(HOLDS, ("tool", "agent"), HOLDS, ("tool", "agent"))])
def test_guards_are_asked_in_order_and_none_behind_the_first_that_refuses(kinds: tuple[str, ...]) -> None:
    words = {"concern": "deadline", "error": "refused", "says": "No."}
    pairs = [*zip(kinds[::2], kinds[1::2], strict=True)]
    guards = [
        {**words, "rule": f"R{place}", "enforced_by": by, "holds": HOLDS[kind]}
        for place, (kind, by) in enumerate(pairs, start=30)
    ]
    with a_world(a_blueprint_with("cancel_appointment", guards=guards)).session(caller="PAT-0001") as session:
        result = session.call("cancel_appointment", CANCEL)
    asked = 1 if pairs[0][1] == "tool" and pairs[0][0] in ("false", "null") else 2
    if any(kind == "fails" for kind, _ in pairs[:asked]):
        assert code(result) == "world_defect"
        return
    broken = [place for place, (kind, by) in enumerate(pairs[:asked]) if by == "tool" and kind != "true"]
    assert (result.error and result.error.rule) == (f"R{30 + broken[0]}" if broken else None)
    verdicts = [(f"R{30 + place}", kind == "true") for place, (kind, by) in enumerate(pairs[:asked]) if by == "agent"]
    assert [(verdict.rule, verdict.holds) for verdict in result.verdicts] == verdicts


def test_a_rule_of_the_agent_is_carried_out_and_judged_on_the_state_before_the_call() -> None:
    session = a_session()
    allowed = session.call("book_appointment", BOOK)
    forbidden = session.call("book_appointment", {"slot_id": "SLO-0006"})
    assert allowed.ok
    assert forbidden.ok
    assert allowed.violations == []
    assert forbidden.violations == ["R6"]


def test_booleans_come_back_as_true_and_false_columns_parameters_and_predicates_alike() -> None:
    session = a_session()
    changed = session.call("set_reminders", {"wanted": False})
    assert changed.value == {"patient_id": "PAT-0001", "wants_reminders": False, "asked": False}
    assert all(type(value) is bool for value in list(changed.value.values())[1:])
    cancelled = session.call("cancel_appointment", CANCEL)
    assert isinstance(cancelled.value, dict)
    assert cancelled.value["is_cancelled"] is True
    assert type(cancelled.value["fee_cents"]) is int


def test_a_failed_call_leaves_no_trace_and_mints_nothing() -> None:
    plain, restless = a_session(), a_session()
    failing: list[tuple[str, dict[str, Json]]] = [
        ("cancel_appointment", {"appointment_id": "APT-0002"}),
        ("book_appointment", {"slot_id": "SLO-0002"}),
        ("book_appointment", {"slot_id": 5}),
        ("nothing", {}),
    ]
    for tool, arguments in failing:
        assert not restless.call(tool, arguments).ok
    assert restless.diff() == []
    assert restless.call("book_appointment", BOOK).minted == plain.call("book_appointment", BOOK).minted
    assert restless.diff() == plain.diff()


def test_who_is_not_signed_in_can_only_sign_in() -> None:
    session = a_session(caller=None)
    assert code(session.call("list_fees", {})) == "not_authenticated"
    assert code(session.call("list_fees", {"odd": 1})) == "not_authenticated"
    wrong = {"email": "ana@example.com", "date_of_birth": "1982-03-02"}
    assert code(session.call("identify_patient", wrong)) == "no_match"
    assert signed_in(session) is None
    assert session.call("identify_patient", {**wrong, "date_of_birth": "1981-03-01"}).ok
    assert signed_in(session) == "PAT-0001"
    assert session.call("list_fees", {}).value == [
        {"fee_id": "FEE-0001", "appointment_id": "APT-0001", "amount_cents": 1250, "is_paid": False}
    ]


def test_one_person_a_session() -> None:
    session = a_session(caller=None)
    ana, ben = ({"email": f"{name}@example.com", "date_of_birth": day} for name, day in PEOPLE)
    assert session.call("identify_patient", ana).ok
    assert session.call("identify_patient", ana).ok
    assert code(session.call("identify_patient", ben)) == "already_authenticated"
    assert session.caller == "PAT-0001"


PEOPLE = [("ana", "1981-03-01"), ("ben", "1982-03-02")]


def test_a_session_that_is_signed_in_offers_no_sign_in() -> None:
    session = a_session()
    assert "identify_patient" not in names(session)
    assert code(session.call("identify_patient", {})) == "unknown_tool"
    assert names(a_session(caller=None))[0] == "identify_patient"


def test_hidden_tools_are_not_offered() -> None:
    session = a_session(hidden=frozenset({"pay_fee"}))
    assert "pay_fee" not in names(session)
    assert code(session.call("pay_fee", {"fee_id": "FEE-0001", "amount_cents": 1250})) == "unknown_tool"


def test_a_transfer_ends_the_session() -> None:
    session = a_session()
    arguments = {"reason": "policy", "rule": "R10", "summary": "Too late to cancel."}
    assert code(session.call("transfer_to_human", {"reason": "boredom", "summary": ""})) == "invalid_arguments"
    assert handed_over(session) is None
    assert session.call("transfer_to_human", arguments).ok
    assert handed_over(session) == arguments
    assert code(session.call("list_fees", {})) == "session_ended"
    assert code(session.call("transfer_to_human", arguments)) == "session_ended"


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        (
            {"effects": [{"rule": "R8", "sql": "UPDATE slot SET is_free = 0 WHERE slot_id = 'none'", "says": ""}]},
            "no row",
        ),
        (
            {"effects": [{"rule": "R8", "sql": "UPDATE slot SET slot_id = NULL WHERE slot_id = :slot_id", "says": ""}]},
            "NULL",
        ),
        ({"effects": [{"rule": "R8", "sql": "UPDATE slot SET slot_id = 'S' WHERE is_free", "says": ""}]}, "UNIQUE"),
        ({"returns": {"rows": "one", "select": "SELECT slot_id FROM slot WHERE slot_id = 'none'"}}, "0 rows"),
        ({"returns": {"rows": "one", "select": "SELECT slot_id FROM slot WHERE slot_id <> :slot_id"}}, "7 rows"),
        ({"returns": {"rows": "one", "select": "SELECT sum(9223372036854775807) AS x FROM slot"}}, "overflow"),
        ({"returns": {"rows": "one", "select": "SELECT 1e308 * 10 AS x"}}, "inf"),
    ],
)
def test_a_defect_is_undone_answered_and_noted(changes: dict[str, Any], why: str) -> None:
    session = a_world(a_blueprint_with("book_appointment", **changes)).session(caller="PAT-0001")
    result = session.call("book_appointment", BOOK)
    assert code(result) == "world_defect"
    assert session.diff() == []
    assert session.minted == []
    assert len(session.defects) == 1
    assert why in session.defects[0]


RUNAWAY = " ".join(f"JOIN slot s{number}" for number in range(12))


def test_a_runaway_read_is_a_defect_and_the_session_goes_on() -> None:
    select = f"SELECT count(*) AS many FROM slot a {RUNAWAY}"
    returns = {"rows": "one", "select": select}
    session = a_world(a_blueprint_with("list_fees", returns=returns)).session(caller="PAT-0001")
    assert session.call("book_appointment", BOOK).ok
    assert code(session.call("list_fees", {})) == "world_defect"
    assert len(session.diff()) == 3


def test_a_runaway_write_is_a_defect_and_what_was_done_before_stays() -> None:
    sql = f"UPDATE fee SET is_paid = (SELECT count(*) FROM slot a {RUNAWAY}) WHERE fee_id = :fee_id"
    effects = [{"rule": "R20", "sql": sql, "says": ""}]
    session = a_world(a_blueprint_with("pay_fee", effects=effects)).session(caller="PAT-0001")
    start = session.mark()
    session.call("book_appointment", BOOK)
    middle, before = session.mark(), session.diff()
    session.call("set_reminders", {"wanted": False})
    assert code(session.call("pay_fee", {"fee_id": "FEE-0001", "amount_cents": 1250})) == "world_defect"
    assert [change.table for change in session.diff()] == ["appointment", "patient", "reminder", "slot"]
    session.undo(middle)
    assert session.diff() == before
    session.undo(start)
    assert session.diff() == []


def test_undo_restores_rows_results_ids_caller_clock_and_transfer() -> None:
    session = a_session(caller=None)
    mark = session.mark()
    session.call("identify_patient", {"email": "ana@example.com", "date_of_birth": "1981-03-01"})
    inner = session.mark()
    first = session.call("book_appointment", BOOK)
    session.now = "2025-01-21 00:00:00"
    session.undo(inner)
    assert (session.diff(), session.minted, session.now) == ([], [], "2025-01-20 09:00:00")
    assert session.call("book_appointment", BOOK) == first
    session.call("transfer_to_human", {"reason": "user_request", "summary": ""})
    session.undo(mark)
    assert (session.caller, session.transfer, session.results, session.diff()) == (None, None, [], [])
    with pytest.raises(WorldError, match="no mark 1"):
        session.undo(inner)


def test_a_peek_shows_what_a_call_would_answer_and_leaves_nothing() -> None:
    session = a_session()
    seen = session.peek("book_appointment", BOOK)
    assert (session.results, session.diff(), session.minted) == ([], [], [])
    assert session.call("book_appointment", BOOK) == seen


def test_sessions_of_one_world_never_see_each_other() -> None:
    world = a_world()
    one, other = world.session(caller="PAT-0001"), world.session(caller="PAT-0002")
    assert one.call("book_appointment", BOOK).ok
    assert other.diff() == []
    assert other.call("book_appointment", BOOK).ok
    one.close()
    with world.session(caller="PAT-0001") as again:
        assert again.diff() == []
        assert again.rows("appointment") == a_session().rows("appointment")


def test_a_closed_session_answers_nothing() -> None:
    session = a_session()
    session.close()
    session.close()
    with pytest.raises(WorldError, match="closed"):
        session.call("list_fees", {})


def test_a_patch_is_the_start_of_a_session_and_no_difference() -> None:
    row = {
        "fee_id": "FEE-0044",
        "patient_id": "PAT-0002",
        "appointment_id": "APT-0002",
        "amount_cents": 1,
        "is_paid": False,
    }
    patch = [
        RowChange(table="fee", op="insert", key={"fee_id": "FEE-0044"}, after=row),
        RowChange(
            table="slot", op="update", key={"slot_id": "SLO-0004"}, before={"is_free": True}, after={"is_free": False}
        ),
        RowChange(table="reminder", op="delete", key={"reminder_id": "REM-0001"}, before={"reminder_id": "REM-0001"}),
    ]
    session = a_session(patch=patch)
    assert session.diff() == []
    assert code(session.call("book_appointment", BOOK)) == "slot_taken"
    assert session.call("book_appointment", {"slot_id": "SLO-0003"}).minted == ["APT-0045", "REM-0046"]
    session.execute("UPDATE slot SET is_free = 1 WHERE slot_id = 'SLO-0004'")
    change = session.diff()[-1]
    assert (change.key, change.before, change.after) == ({"slot_id": "SLO-0004"}, {"is_free": False}, {"is_free": True})


@pytest.mark.parametrize(
    "change",
    [
        RowChange(table="nothing", op="delete", key={"id": "x"}),
        RowChange(table="fee", op="delete", key={"fee_id": "FEE-0099"}),
        RowChange(table="fee", op="update", key={"fee_id": "FEE-0001"}, after={"fee_id = 'x', is_paid": True}),
        RowChange(table="patient", op="delete", key={"patient_id": "PAT-0001"}),
        RowChange(table="fee", op="update", key={"fee_id": "FEE-0001"}, after={"patient_id": "PAT-0099"}),
    ],
)
def test_a_patch_that_does_not_fit_is_an_error_and_the_world_stays_usable(change: RowChange) -> None:
    world = a_world()
    with pytest.raises(WorldError, match="patch does not fit"):
        world.session(patch=[change])
    with world.session(caller="PAT-0001") as session:
        assert session.diff() == []
        assert session.call("book_appointment", BOOK).ok


def test_foreign_keys_hold_after_a_patch() -> None:
    patch = [RowChange(table="slot", op="update", key={"slot_id": "SLO-0004"}, after={"price_cents": 1})]
    session = a_session(patch=patch)
    with pytest.raises(Exception, match="FOREIGN KEY"):
        session.execute("DELETE FROM patient WHERE patient_id = 'PAT-0001'")


def test_the_engines_queries_only_read() -> None:
    session = a_session()
    assert session.query("SELECT count(*) AS n FROM slot WHERE is_free = :f", {"f": 1}) == [{"n": 6}]
    with pytest.raises(WorldError, match="must be a SELECT"):
        session.query("DELETE FROM reminder")
    assert session.diff() == []


def test_the_engines_statements_count_their_rows_and_join_the_difference() -> None:
    session = a_session()
    assert session.execute("UPDATE slot SET price_cents = :p WHERE is_free", {"p": 1}) == 6
    assert session.execute("WITH c AS (SELECT 1 AS one) UPDATE slot SET price_cents = 2 WHERE NOT is_free") == 2
    assert len(session.diff()) == 8


def test_a_tool_whose_sql_reads_the_clock_is_never_run() -> None:
    returns = {"rows": "one", "select": "SELECT datetime('now') AS at"}
    session = a_world(a_blueprint_with("list_fees", returns=returns)).session(caller="PAT-0001")
    with pytest.raises(WorldError, match="list_fees"):
        session.call("list_fees", {})


def test_an_update_counts_as_a_change_even_where_the_values_stay() -> None:
    session = a_session()
    assert session.call("set_reminders", {"wanted": True}).ok
    assert session.diff() == []


@pytest.mark.parametrize("caller", ["PAT-9999", "", "APT-0001", 5, ["PAT-0001"]])
def test_a_caller_who_is_not_in_the_data_opens_no_session(caller: Any) -> None:
    with pytest.raises(WorldError, match=r"caller .* is no patient_id in the data"):
        a_session(caller=caller)


def test_a_caller_whom_the_patch_adds_opens_a_session() -> None:
    world = a_world()
    known = world.original("patient", "PAT-0001")
    assert known is not None
    added = {**known, "patient_id": "PAT-0009", "email": "new@example.com"}
    change = RowChange(table="patient", op="insert", key={"patient_id": "PAT-0009"}, before=None, after=added)
    with world.session(caller="PAT-0009", patch=[change]) as session:
        assert session.caller == "PAT-0009"


@pytest.mark.parametrize(
    "now", ["yesterday", "", "2025-01-20", "2025-01-20T09:00:00", "2025-02-30 09:00:00", "2025-01-20 09:00:00+00:00", 7]
)
def test_a_clock_of_another_form_opens_no_session(now: Any) -> None:
    with pytest.raises(WorldError, match="YYYY-MM-DD HH:MM:SS"):
        a_session(now=now)


@pytest.mark.parametrize("tool", [None, 5, ["list_fees"], {"name": "list_fees"}])
def test_a_tool_that_is_no_name_is_unknown(tool: Any) -> None:
    session = a_session()
    assert code(session.call(tool, {})) == "unknown_tool"
    assert session.results[-1].model_dump_json()


@pytest.mark.parametrize("arguments", [None, 5, "slot_id", [["slot_id", "SLO-0004"]], {1: 2, "slot_id": "SLO-0004"}])
def test_arguments_that_are_no_mapping_by_name_are_invalid(arguments: Any) -> None:
    session = a_session()
    assert code(session.call("book_appointment", arguments)) == "invalid_arguments"
    assert session.diff() == []
