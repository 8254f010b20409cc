"""The differential test finds every planted error, and none in a right server."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import DECLINE, Call, RowChange
from skillweave.world import database
from skillweave.world.world import World
from synth.offline.coding.server import write_server
from synth.servers.cases import ServerCase
from synth.servers.differential import ExpectedAnswers, differences, run_contract
from synth.servers.suite import DifferentialSuite, prepare_suite, run_suite
from tests.servers.mutants import Mutant, mutants
from tests.world.clinic import ROWS, a_blueprint, blueprint_data

EQUIVALENT = ("LIMIT 50", "SELECT 1 FROM")
"""Numbers that no call of this small world can see: a limit above its rows, a constant that is not looked at."""


def planted(*kinds: str) -> Iterator[Mutant]:
    for mutant in mutants(write_server(a_blueprint()), kinds):
        if not mutant.was.startswith(EQUIVALENT) and "SELECT 1 FROM" not in mutant.was:
            yield mutant


def of_tool(proof: DifferentialSuite, tool: str) -> DifferentialSuite:
    """The proof with the cases that begin with that tool, to be quick."""
    whole = proof.expected
    pairs = [pair for pair in zip(whole.cases, whole.observed, strict=True) if pair[0].about.startswith(f"{tool},")]
    cases, observed = tuple(case for case, _ in pairs), tuple(seen for _, seen in pairs)
    return replace(proof, expected=replace(whole, cases=cases, observed=observed))


def test_a_right_server_is_equal_to_its_contract(clinic: World, proof: DifferentialSuite) -> None:
    assert run_suite(proof, write_server(clinic.blueprint, clinic.now)) == []
    assert proof.guards_unmet == ()
    assert proof.tools_unmet == ()


def test_cases_may_give_the_unique_value_of_a_row_to_a_new_one(clinic: World) -> None:
    ana = {"full_name": "Eve", "email": "ana@example.com", "date_of_birth": "1990-01-01", "wants_reminders": True}
    cases = []
    for key in [f"PAT-010{number}" for number in range(8)]:
        freed = RowChange(table="patient", op="update", key={"patient_id": "PAT-0001"}, after={"email": "x@y.z"})
        taken = RowChange(table="patient", op="insert", key={"patient_id": key}, after={"patient_id": key, **ana})
        known = Call(tool="identify_patient", arguments={"email": ana["email"], "date_of_birth": "1981-03-01"})
        cases += [ServerCase("changed rows", (known,), patch=(freed, taken)), ServerCase("own rows", (known,))]
    expected = run_contract(clinic, cases)
    assert [answer["ok"] for seen in expected.observed for answer in seen.answers] == [False, True] * 8  # type: ignore[index,call-overload]
    assert differences(expected, write_server(clinic.blueprint, clinic.now)) == []


def test_every_dropped_refusal_is_found(proof: DifferentialSuite) -> None:
    alive = [m for m in planted("dropped") if not run_suite(of_tool(proof, m.tool), m.source)]
    assert [(m.tool, m.was) for m in alive] == []


@pytest.mark.parametrize(
    "tool",
    [
        "book_appointment",
        *(
            pytest.param(name, marks=pytest.mark.long)
            for name in ("cancel_appointment", "move_appointment", "pay_fee", "find_slots")
        ),
    ],
)
def test_every_turned_comparison_and_changed_number_is_found(proof: DifferentialSuite, tool: str) -> None:
    found = [m for m in planted("turned", "number") if m.tool == tool]
    alive = [m for m in found if not run_suite(of_tool(proof, m.tool), m.source)]
    assert found
    assert [(m.line, m.was) for m in alive] == []


def test_changed_rounding_is_found(proof: DifferentialSuite, clinic: World) -> None:
    right = write_server(clinic.blueprint, clinic.now)
    assert "s.price_cents / 2" in right
    for wrong in ("(s.price_cents + 1) / 2", "CAST(ROUND(s.price_cents * 0.5) AS INTEGER)"):
        assert run_suite(of_tool(proof, "cancel_appointment"), right.replace("s.price_cents / 2", wrong))


def test_a_rule_of_the_agent_that_the_server_enforces_is_found(proof: DifferentialSuite, clinic: World) -> None:
    data = blueprint_data()
    held = [
        {**tool, "guards": [{**guard, "enforced_by": "tool"} for guard in tool.get("guards", [])]}
        for tool in data["tools"]
    ]
    strict = Blueprint.model_validate({**data, "tools": held})
    assert run_suite(proof, write_server(strict, clinic.now))


def test_declining_is_tried_like_any_tool(proof: DifferentialSuite) -> None:
    answers = [
        answer["value"] if answer["ok"] else answer["error"]["code"]  # type: ignore[index,call-overload]
        for case, seen in zip(proof.expected.cases, proof.expected.observed, strict=True)
        for call, answer in zip(case.calls, seen.answers, strict=True)
        if call.tool == DECLINE
    ]
    assert {"status": "recorded"} in answers
    assert {"invalid_arguments", "session_ended"} <= {answer for answer in answers if isinstance(answer, str)}


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("Cancel an appointment.", "Cancel.", "the tools offered"),
        ('rule="R2"', 'rule="R3"', "contract refuses with not_your_appointment (R2), server refuses with not_your_app"),
        ('new_id_2 = db.new_id("reminder")', 'new_id_2 = db.new_id("fee")', "key of the new row in reminder: contract"),
        ('    db.sign_in(patient["patient_id"])\n', "", "server refuses with not_authenticated"),
        ('["wants_reminders", "asked"],', "[],", "value.asked: contract False, server 0"),
        ('"R1", "R2", ', '"R1", ', "the tools offered"),
        ("server = Server(", "print('hello')\nserver = Server(", ""),
    ],
)
def test_other_errors_are_told(proof: DifferentialSuite, clinic: World, old: str, new: str, told: str) -> None:
    right = write_server(clinic.blueprint, clinic.now)
    assert old in right
    wrong = run_suite(proof, right.replace(old, new))
    assert bool(wrong) == bool(told)
    assert told in "".join(map(str, wrong))


def test_a_server_that_hangs_dies_or_reaches_out_is_told_with_its_reason(
    proof: DifferentialSuite, clinic: World
) -> None:
    right = write_server(clinic.blueprint, clinic.now)
    anchor = "    fee = db.one("
    short = replace(proof, expected=_quick(proof.expected))
    assert anchor in right
    for act, told in (
        ("    import os; os._exit(3)\n", "no answer"),
        ("    import socket; socket.create_connection(('127.0.0.1', 80))\n", "PermissionError"),
        ("    import os; [os.fork() for _ in range(3)]\n", ""),
    ):
        wrong = run_suite(short, right.replace(anchor, act + anchor))
        assert wrong
        assert told in "".join(map(str, wrong))


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("fee_id=fee_id", "fee=fee_id", "server fails at line "),
        ("fee_id=fee_id", "fee=fee_id", "the SQL has :fee_id, which has no value; give it by name: fee_id=..."),
        ("db.only(", "db.only_one(", "AttributeError: 'ServerSession' object has no attribute 'only_one'"),
        ('["wants_reminders", "asked"],', 'bools=["asked"],', "are named by booleans=[...], in all() and only()"),
        ('["wants_reminders", "asked"],', 'booleans=["ask"],', "of the result (patient_id, wants_reminders, asked)"),
        ('db.new_id("fee")', 'db.new_id("fees")', "Server(ids=...) has no table 'fees'; it has appointment,"),
        ('    now="', '    title="x",\n    now="', "the server does not start: line "),
    ],
)
def test_a_wrong_use_of_the_runtime_is_told_with_its_line_and_the_right_one(
    proof: DifferentialSuite, clinic: World, old: str, new: str, told: str
) -> None:
    right = write_server(clinic.blueprint, clinic.now)
    assert old in right
    assert told in "\n".join(map(str, run_suite(proof, right.replace(old, new))))


def test_equal_causes_are_one_line_that_shows_the_place_and_both_values(
    proof: DifferentialSuite, clinic: World
) -> None:
    right = write_server(clinic.blueprint, clinic.now)
    old = "SELECT fee_id, "
    assert old in right
    wrong = run_suite(proof, right.replace(old, "SELECT fee_id || '' AS fee_id, "))
    assert wrong == []
    late = right.replace("SET status = 'cancelled'", "SET note = 'gone', status = 'cancelled'")
    assert late != right
    told = [str(one) for one in run_suite(proof, late)]
    assert len(told) == 1
    assert "\n" not in told[0]
    assert told[0].startswith("cancel_appointment(appointment_id='APT-0001'")
    assert ".note: contract leaves it as it was, server 'gone' (and " in told[0]
    assert told[0].endswith("more calls differ in note in rows of appointment)")
    assert {tool for one in run_suite(proof, late) for tool in one.tools} == {"cancel_appointment"}


def test_a_boolean_is_one_in_contract_and_server_wherever_it_comes_from() -> None:
    data = blueprint_data()
    select = (
        "WITH seen AS (SELECT fee_id AS id, is_paid AS flag FROM fee WHERE patient_id = :caller "
        "UNION ALL SELECT slot_id, is_free FROM slot) SELECT id, flag, CASE WHEN flag THEN flag END AS same "
        "FROM seen ORDER BY id"
    )
    tools = [
        {**tool, "returns": {"rows": "many", "select": select}} if tool["name"] == "list_fees" else tool
        for tool in data["tools"]
    ]
    blueprint = Blueprint.model_validate({**data, "tools": tools})
    connection = database.create(blueprint)
    for entity in blueprint.tables:
        database.insert(connection, entity, ROWS[entity.name])
    content = database.to_bytes(connection, blueprint)
    with World(blueprint, content, now="2025-01-20 09:00:00").session(caller="PAT-0001") as session:
        rows = session.call("list_fees", {}).value
    assert isinstance(rows, list)
    assert {type(row["flag"]) for row in rows} == {bool}  # type: ignore[index,call-overload]
    made = prepare_suite(blueprint, content, "2025-01-20 09:00:00", "7")
    assert run_suite(made, write_server(blueprint)) == []


def _quick(expected: ExpectedAnswers) -> ExpectedAnswers:
    pairs = [
        pair for pair in zip(expected.cases, expected.observed, strict=True) if pair[0].about.startswith("pay_fee,")
    ]
    return replace(expected, cases=tuple(c for c, _ in pairs), observed=tuple(o for _, o in pairs))


def test_the_same_seed_gives_the_same_cases(clinic: World, proof: DifferentialSuite) -> None:
    again = prepare_suite(clinic.blueprint, clinic.content, clinic.now, "7")
    assert again.expected.cases == proof.expected.cases
    assert again.expected.observed == proof.expected.observed


def test_a_guard_that_no_case_reaches_is_reported() -> None:
    data = blueprint_data()
    impossible = {
        "rule": "R99",
        "concern": "integrity",
        "holds": "1 = 1",
        "error": "never",
        "says": "This always holds.",
    }
    tools = [
        {**tool, "guards": [*tool.get("guards", []), impossible]} if tool["name"] == "set_reminders" else tool
        for tool in data["tools"]
    ]
    blueprint = Blueprint.model_validate({**data, "tools": tools})
    connection = database.create(blueprint)
    for entity in blueprint.tables:
        database.insert(connection, entity, ROWS[entity.name])
    made = prepare_suite(blueprint, database.to_bytes(connection, blueprint), "2025-01-20 09:00:00", "7")
    assert made.guards_unmet == ("set_reminders R99",)
