"""Instances are built by doing: what they say is enough to do it again, and what is left out is settled."""

from random import Random
from typing import Any

import pytest

from skillweave.schema.combination import Combination
from skillweave.schema.contract import RowChange
from skillweave.schema.template import TaskTemplate, ToolGraph
from skillweave.world.world import World
from synth.contracts.writes import columns_filled_by, data_edges, row_sources
from synth.tasks.builder import InstanceBuilder
from synth.tasks.combinations import combinations_of
from synth.tasks.kinds import FailurePoint, Instance, NoInstance
from tests.gates.clinic_tasks import WORLD, a_template, reason, with_tools
from tests.world.clinic import APPOINTMENT, SLOT

SOURCES = {
    "appointment_id": [{"tool": "list_appointments", "column": "appointment_id"}],
    "slot_id": [{"tool": "find_slots", "column": "slot_id"}],
    "fee_id": [{"tool": "list_fees", "column": "fee_id"}],
}
REFERRED = {
    "list_appointments": ["starts_at", "dentist_name"],
    "find_slots": ["starts_at", "dentist_name"],
    "list_fees": ["amount_cents"],
}


SECOND = RowChange(
    table="appointment",
    op="insert",
    key={"appointment_id": "APT-0003"},
    after={
        "appointment_id": "APT-0003",
        "patient_id": "PAT-0001",
        "slot_id": "SLO-0007",
        "status": "scheduled",
        "booked_at": "2025-01-13 08:00:00",
        "cancel_reason": None,
        "note": None,
    },
)
"""Another appointment of Ana."""
OWN = "EXISTS (SELECT 1 FROM appointment WHERE appointment_id = :{} AND patient_id = :caller)"
SWAPPING = with_tools(
    {
        "name": "swap_slots",
        "description": "Swap the slots of two appointments.",
        "kind": "write",
        "parameters": [APPOINTMENT, {**APPOINTMENT, "name": "other_id"}],
        "guards": [
            {
                "rule": f"R3{number}",
                "concern": "ownership",
                "holds": OWN.format(name),
                "error": "not_own",
                "says": "So.",
            }
            for number, name in enumerate(["appointment_id", "other_id"])
        ],
        "effects": [
            {
                "rule": "R32",
                "sql": "UPDATE appointment SET note = 'swapped' WHERE appointment_id IN (:appointment_id, :other_id)",
                "says": "Both are marked.",
            }
        ],
        "returns": {"rows": "many", "select": "SELECT appointment_id FROM appointment WHERE note = 'swapped'"},
    }
)
NOTE = {"name": "note", "type": "string", "required": False, "description": "It."}
OPEN = {
    "parameters": [],
    "returns": {
        "rows": "many",
        "select": "SELECT slot_id, starts_at, 'chair ' || slot_id AS chair FROM slot WHERE is_free ORDER BY slot_id",
    },
}
"""Free slots, each of which has a chair of its own."""
CHAIRS = {"find_slots": ["chair", "starts_at"], "list_appointments": ["status", "starts_at"]}
REFERRING = with_tools(book_appointment={"parameters": [SLOT, {**NOTE, "refers_to": "Appointment.appointment_id"}]})
"""A world where the note of an appointment is another appointment."""


def template(*calls: str, **changes: Any) -> TaskTemplate:
    made = [
        {"tool": tool, "found_by": {p.name: SOURCES[p.name] for p in _rows(tool)}, "same": changes.pop(tool, {})}
        for tool in calls
    ]
    return a_template(calls=made, referred_by=REFERRED, reasons=["I need it."], **changes)


def finding(tool: str, *parameters: str) -> TaskTemplate:
    """A template of one call whose arguments are slots and, for all others, appointments."""
    found_by = {name: SOURCES.get(name, SOURCES["appointment_id"]) for name in parameters}
    return a_template(calls=[{"tool": tool, "found_by": found_by}], referred_by=REFERRED, reasons=["I need it."])


def _rows(tool: str) -> list[Any]:
    return [parameter for parameter in WORLD.blueprint.tool(tool).parameters if parameter.refers_to]


def built(
    made: TaskTemplate, seed: int = 0, caller: str = "PAT-0001", world: World = WORLD, patch: tuple[RowChange, ...] = ()
) -> Instance:
    with world.session(caller=caller, patch=patch) as session:
        return InstanceBuilder(world, made, session, Random(seed)).build()


def combinations(made: TaskTemplate) -> list[Combination]:
    callers = ["PAT-0001", "PAT-0002", "PAT-0003"]
    return [one for one in combinations_of(WORLD, made, callers, 5, "7") if isinstance(one, Combination)]


@pytest.mark.parametrize(
    "calls", [("move_appointment",), ("book_appointment",), ("cancel_appointment",), ("set_reminders",), ("pay_fee",)]
)
def test_what_is_built_passes_the_gates_or_is_rejected_for_a_named_reason(calls: tuple[str, ...]) -> None:
    made = template(*calls)
    found = combinations(made)
    assert found
    reasons = [reason(combination, template=made) for combination in found]
    assert set(reasons) <= {None, "already true"}
    assert None in reasons


def test_the_same_seed_builds_the_same_and_callers_do_not_matter_to_each_other() -> None:
    made = template("move_appointment")
    assert combinations(made) == combinations(made)
    assert built(made, 3) == built(made, 3)


def test_an_optional_argument_left_out_leaves_its_column_open() -> None:
    found = [built(template("cancel_appointment"), seed) for seed in range(12)]
    left_out = [one for one in found if "reason" not in one.golden[-1].arguments]
    given = [one for one in found if "reason" in one.golden[-1].arguments]
    assert left_out
    assert given
    assert {str(one.open_columns) for one in left_out} == {"{'appointment': ['cancel_reason']}"}
    assert not any(one.open_columns for one in given)
    assert all(any(value.parameter == "reason" for value in one.values) for one in given)


def test_a_column_that_one_call_fills_with_words_is_open_for_none() -> None:
    twice = template("book_appointment", "book_appointment")
    for seed in range(40):
        try:
            one = built(twice, seed, "PAT-0003")
        except NoInstance:
            continue
        notes = ["note" in one.golden[step].arguments for step in one.steps]
        assert one.open_columns == ({} if any(notes) else {"appointment": ["note"]})
        if notes == [True, False]:
            unsaid = [value for value in one.values if value.call == one.steps[1] and value.parameter == "note"]
            assert [value.value for value in unsaid] == [None]
            return
    pytest.fail("no instance says a note for one appointment only")


def test_of_two_rows_the_later_is_not_told_by_what_only_the_earlier_write_sets_apart() -> None:
    """Both are scheduled when the user speaks; after the first is cancelled the other is the only scheduled one."""
    twice = template("cancel_appointment", "cancel_appointment")
    twice = twice.model_copy(update={"referred_by": {"list_appointments": ["status", "starts_at"]}})
    for seed in range(4):
        made = built(twice, seed, patch=(SECOND,))
        assert {said.key for said in made.rows} == {"APT-0001", "APT-0003"}
        assert all("starts_at" in said.columns for said in made.rows)


def test_of_a_free_slot_that_is_taken_the_day_is_said_and_of_one_s_own_row_what_tells_it_apart() -> None:
    move = template("move_appointment")
    move = move.model_copy(update={"referred_by": CHAIRS})
    said = [built(move, seed, world=with_tools(find_slots=OPEN)).rows for seed in range(12)]
    assert all("starts_at" in row.columns for rows in said for row in rows if row.entity == "Slot")
    assert any("starts_at" not in row.columns for rows in said for row in rows if row.entity == "Appointment")


def test_a_slot_is_looked_up_among_the_free_ones_and_never_through_one_s_appointments() -> None:
    blueprint = with_tools(
        find_slots={"returns": WORLD.blueprint.tool("list_appointments").returns.model_dump()}
    ).blueprint
    move = blueprint.tool("move_appointment")
    for contract, reads in ((WORLD.blueprint, ["find_slots"]), (blueprint, [])):
        graph = ToolGraph(server="SmallClinic", tools=[], edges=data_edges(contract))
        assert [one.tool for one in row_sources(move, contract, graph, []).get("slot_id", [])] == reads


PAIRS = with_tools(
    find_slots={
        "parameters": [],
        "returns": {
            "rows": "many",
            "select": "SELECT s.slot_id, s.starts_at, s.dentist_name, p.full_name AS chair FROM slot s JOIN patient p "
            "WHERE s.is_free ORDER BY s.starts_at, s.slot_id, p.patient_id",
        },
    }
)
"""Free slots, each once with every chair."""


def test_a_row_that_stands_in_several_is_found_by_what_these_have_alike() -> None:
    book = template("book_appointment")
    book.referred_by["find_slots"] = ["chair", "starts_at", "dentist_name"]
    found = combinations_of(PAIRS, book, ["PAT-0001", "PAT-0002"], 5, "7")
    made = [one for one in found if isinstance(one, Combination)]
    assert made
    for one in made:
        (row,) = one.rows
        assert {*row.columns} <= {"starts_at", "dentist_name"}
        assert reason(one, template=book, world=PAIRS) is None
        vague = row.model_copy(update={"columns": {"chair": "Ana Moreno"}})
        assert reason(one.model_copy(update={"rows": [vague]}), template=book, world=PAIRS) == "row not told apart"


def test_a_row_of_which_all_that_is_alike_fits_others_is_explained() -> None:
    book = template("book_appointment")
    book.referred_by["find_slots"] = ["chair"]
    with PAIRS.session(caller="PAT-0001") as session, pytest.raises(NoInstance) as none:
        InstanceBuilder(PAIRS, book, session, Random(1), explains=True).build()
    assert none.value.stop
    assert none.value.stop.why.endswith("the 3 rows that show it have none of these alike")
    book.referred_by["find_slots"] = ["dentist_name"]
    with PAIRS.session(caller="PAT-0001") as session, pytest.raises(NoInstance) as none:
        InstanceBuilder(PAIRS, book, session, Random(1), explains=True).build()
    assert none.value.stop
    assert "the 3 rows that show it have dentist_name alike, and dentist_name 'Dr " in none.value.stop.why


def test_a_link_that_leads_nowhere_is_named_at_the_call_that_has_it() -> None:
    made = template("cancel_appointment", "book_appointment", book_appointment={"note": "1.nothing"})
    with WORLD.session(caller="PAT-0001") as session, pytest.raises(NoInstance) as none:
        InstanceBuilder(WORLD, made, session, Random(1), explains=True).build()
    assert none.value.stop == FailurePoint(1, -1, "call 1 gives no nothing")


def test_two_arguments_of_one_call_never_name_the_same_row() -> None:
    swap = finding("swap_slots", "appointment_id", "other_id")
    for seed in range(12):
        arguments = built(swap, seed, world=SWAPPING, patch=(SECOND,)).golden[-1].arguments
        assert {*arguments.values()} == {"APT-0001", "APT-0003"}
    with pytest.raises(NoInstance, match="no lawful call of swap_slots"):
        built(swap, world=SWAPPING)


@pytest.mark.parametrize("names_a_row", [True, False])
def test_only_a_column_that_names_no_row_is_left_open(names_a_row: bool) -> None:
    """The same tool, its note once a text and once an appointment."""
    world = REFERRING if names_a_row else WORLD
    made = finding("book_appointment", "slot_id", *(["note"] if names_a_row else []))
    found = [built(made, seed, world=world) for seed in range(12)]
    left_out = [one for one in found if "note" not in one.golden[-1].arguments]
    assert left_out
    for one in left_out:
        said = [(value.parameter, value.value) for value in one.values]
        assert (one.open_columns, said) == (({}, [("note", None)]) if names_a_row else ({"appointment": ["note"]}, []))


def test_nobody_without_an_appointment_gets_an_instance_that_moves_one() -> None:
    with pytest.raises(NoInstance, match="no lawful call of move_appointment"):
        built(template("move_appointment"), caller="PAT-0003")


def test_an_argument_that_does_more_than_fill_a_column_is_no_filler() -> None:
    blueprint = WORLD.blueprint
    assert columns_filled_by(blueprint.tool("cancel_appointment"), "reason") == {"appointment": ["cancel_reason"]}
    assert columns_filled_by(blueprint.tool("book_appointment"), "note") == {"appointment": ["note"]}
    assert columns_filled_by(blueprint.tool("book_appointment"), "slot_id") is None
    assert columns_filled_by(blueprint.tool("find_slots"), "date") is None


DENTIST = {"name": "dentist", "type": "string", "description": "Whose fees."}
BY_DENTIST = with_tools(
    list_fees={
        "parameters": [DENTIST],
        "returns": {
            "rows": "many",
            "select": "SELECT f.fee_id, f.amount_cents FROM fee f JOIN appointment a ON a.appointment_id = "
            "f.appointment_id JOIN slot s ON s.slot_id = a.slot_id WHERE f.patient_id = :caller "
            "AND s.dentist_name = :dentist ORDER BY f.fee_id",
        },
    }
)
LIKE_IT = with_tools(
    find_slots={
        "parameters": [APPOINTMENT],
        "returns": {
            "rows": "many",
            "select": "SELECT s.slot_id, s.starts_at, s.dentist_name FROM slot s WHERE s.is_free AND EXISTS (SELECT 1 "
            "FROM appointment WHERE appointment_id = :appointment_id) ORDER BY s.slot_id",
        },
    }
)


def test_a_look_up_is_given_what_stands_two_references_off() -> None:
    fee = built(template("pay_fee"), world=BY_DENTIST)
    with BY_DENTIST.session(caller="PAT-0001") as session:
        dentists = session.query(
            "SELECT s.dentist_name FROM fee f JOIN appointment a ON a.appointment_id = f.appointment_id "
            "JOIN slot s ON s.slot_id = a.slot_id WHERE f.fee_id = :fee",
            {"fee": str(fee.golden[-1].arguments["fee_id"])},
        )
    assert fee.golden[0].arguments == {"dentist": dentists[0]["dentist_name"]}


def test_a_look_up_may_ask_for_a_row_that_an_earlier_call_has_given() -> None:
    made = template("move_appointment", "move_appointment")
    second = made.calls[1].model_copy(update={"same": {"appointment_id": "1.appointment_id"}})
    made = made.model_copy(
        update={
            "calls": [made.calls[0], second],
            "lookups": {"find_slots": {"appointment_id": made.calls[0].found_by["appointment_id"]}},
        }
    )
    golden = built(made, world=LIKE_IT).golden
    assert [one.tool for one in golden if one.tool != "list_appointments"] == ["find_slots", "move_appointment"] * 2


ON_THE_DAY = with_tools(
    find_slots={
        "parameters": [{"name": "chosen_at", "type": "string", "description": "When the first one was booked."}],
        "returns": {
            "rows": "many",
            "select": "SELECT s.slot_id, s.starts_at, s.dentist_name FROM slot s WHERE s.is_free AND EXISTS (SELECT 1 "
            "FROM appointment WHERE booked_at = :chosen_at) ORDER BY s.slot_id",
        },
    },
    list_appointments={
        "returns": {
            "rows": "many",
            "select": "SELECT a.appointment_id, s.starts_at, s.dentist_name, a.booked_at AS chosen_at "
            "FROM appointment a JOIN slot s ON s.slot_id = a.slot_id WHERE a.patient_id = :caller ORDER BY s.starts_at",
        },
    },
)


def test_a_look_up_is_given_what_a_row_already_looked_up_holds_under_that_name() -> None:
    golden = built(template("move_appointment"), world=ON_THE_DAY).golden
    assert [call.tool for call in golden] == ["list_appointments", "find_slots", "move_appointment"]
    assert golden[1].grounding == {"chosen_at": "call 0 [0].chosen_at"}
