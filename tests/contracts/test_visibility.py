"""Result columns: what they show, and which rows they tell of, however the query is written."""

import pytest

from skillweave.schema.contract import Returns, Tool
from synth.contracts.visibility import (
    column_origins,
    columns_shown,
    hidden_deciding_columns,
    keys_shown,
    parameters_without_read,
    subject_entity,
    subject_keys,
)
from tests.gates.clinic_tasks import with_tools
from tests.offline.test_variation import SETTINGS
from tests.simulation.worlds import a_blueprint
from tests.world.clinic import a_blueprint as clinic

PLAIN = "SELECT slot_id, starts_at FROM slot ORDER BY slot_id"
WRITTEN = [
    PLAIN,
    "WITH open (slot, day) AS (SELECT slot_id, starts_at FROM slot) SELECT slot AS slot_id, day AS starts_at FROM open",
    "SELECT q.slot_id, q.starts_at FROM (SELECT * FROM slot WHERE is_free) AS q",
    "SELECT slot_id, starts_at FROM slot WHERE is_free UNION SELECT s.slot_id, s.starts_at FROM slot s",
    "WITH a AS (SELECT slot_id FROM slot), b AS (SELECT slot_id FROM a UNION ALL SELECT slot_id FROM a) "
    "SELECT slot_id, starts_at FROM slot JOIN b USING (slot_id)",
]


def read(select: str) -> Tool:
    return Tool(name="look", description="", kind="read", returns=Returns(rows="many", select=select))


@pytest.mark.parametrize("select", WRITTEN)
def test_a_query_shows_the_same_however_it_is_written(select: str) -> None:
    tool, plain = read(select), read(PLAIN)
    assert keys_shown(clinic(), tool) == {"Slot": {"slot_id"}}
    assert subject_entity(clinic(), tool) == "Slot"
    assert subject_keys(clinic(), tool) == {"Slot": {"slot_id"}}
    assert columns_shown(plain) <= columns_shown(tool)


@pytest.mark.parametrize("select", WRITTEN[:4])
def test_origins_are_seen_through_queries_within(select: str) -> None:
    assert column_origins(read(select)) == {"slot_id": ("slot", "slot_id"), "starts_at": ("slot", "starts_at")}


def test_parts_that_show_different_columns_have_no_origin_but_may_show_keys_of_the_same_rows() -> None:
    both = read("SELECT slot_id, booked_at AS at FROM appointment UNION SELECT slot_id, starts_at FROM slot")
    assert column_origins(both) == {"slot_id": None, "at": None}
    assert keys_shown(clinic(), both) == {"Slot": {"slot_id"}}
    assert (subject_entity(clinic(), both), subject_keys(clinic(), both)) == (None, {})
    assert {("appointment", "booked_at"), ("slot", "starts_at")} <= columns_shown(both)
    mixed = read("SELECT slot_id FROM slot UNION SELECT appointment_id FROM appointment")
    assert keys_shown(clinic(), mixed) == {}


def test_a_list_for_a_row_that_the_call_gives_is_about_what_it_joins_to_it() -> None:
    joined = "SELECT s.slot_id FROM fee f JOIN slot s ON s.price_cents > f.amount_cents"
    for_each, for_one = read(joined), read(f"{joined} WHERE f.fee_id = :fee_id AND s.is_free")
    assert subject_keys(clinic(), for_each) == {}
    assert subject_keys(clinic(), for_one) == {"Slot": {"slot_id"}}


def test_what_is_computed_within_has_no_origin_and_an_aggregate_shows_no_row() -> None:
    most = read("SELECT q.dearest, q.day FROM (SELECT MAX(price_cents) AS dearest, date(starts_at) AS day FROM slot) q")
    assert column_origins(most) == {"dearest": None, "day": None}
    assert columns_shown(most) == {("slot", "starts_at")}


@pytest.mark.parametrize(
    ("select", "told"),
    [
        ("SELECT a.appointment_id, s.slot_id FROM appointment a JOIN slot s USING (slot_id)", ["Appointment"]),
        ("SELECT s.slot_id, a.appointment_id FROM slot s JOIN appointment a USING (slot_id)", ["Appointment"]),
        ("SELECT s.slot_id FROM slot s LEFT JOIN appointment a USING (slot_id)", ["Slot"]),
        ("SELECT f.fee_id FROM appointment a LEFT JOIN fee f ON f.appointment_id = a.appointment_id", ["Fee"]),
        ("SELECT s.slot_id FROM slot s JOIN (SELECT slot_id AS own FROM appointment) a ON a.own = s.slot_id", []),
    ],
)
def test_a_list_of_one_s_own_tells_no_free_rows(select: str, told: list[str]) -> None:
    assert sorted(subject_keys(clinic(), read(select))) == told


def test_rows_and_facts_that_no_read_shows_are_named() -> None:
    assert (parameters_without_read(clinic()), hidden_deciding_columns(clinic())) == ([], [])
    own = clinic().tool("list_appointments").returns.model_dump()
    lost = with_tools(find_slots={"returns": own}).blueprint
    assert parameters_without_read(lost) == [("book_appointment", "slot_id"), ("move_appointment", "slot_id")]
    asking = {"name": "slot_id", "type": "string", "refers_to": "Slot.slot_id", "description": "It."}
    by_key = with_tools(find_slots={"parameters": [asking]}).blueprint
    assert ("find_slots", "slot_id") in parameters_without_read(by_key)
    select = "SELECT appointment_id FROM appointment WHERE patient_id = :caller ORDER BY appointment_id"
    bare = with_tools(list_appointments={"parameters": [], "returns": {"rows": "many", "select": select}}).blueprint
    hidden = {(tool, place) for tool, _, place in hidden_deciding_columns(bare)}
    assert ("book_appointment", "appointment.status") in hidden


@pytest.mark.parametrize("domain", SETTINGS)
def test_every_service_shows_what_its_tools_take(domain: str) -> None:
    assert parameters_without_read(a_blueprint(domain)) == []
