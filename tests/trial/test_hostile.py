"""Hostile replies in s04, of the right form, that nobody can live by: each ends with a reason, none in an error."""

from pathlib import Path
from typing import Any

import pytest

from skillweave.schema.contract import Event, Invariant
from skillweave.schema.entity import Entity
from synth.questions.types import Mended, Rules
from tests.questions.library import answer
from tests.trial.company import TOOLS, blueprinted, complaints, contracts, in_sql

COPY = (
    "INSERT INTO loan (loan_id, member_id, book_id, lent_on, due_on, renewals, status) SELECT loan_id || 'x', "
    "member_id, book_id, lent_on, due_on, renewals, status FROM loan WHERE loan_id = :loan_id"
)
MANY = "abcdef"
NAMES = " || ".join(f"{name}.full_name" for name in MANY)


def rules(never: str = "SELECT 1 WHERE 0", event: Event | None = None) -> Rules:
    """One invariant, and maybe an event."""
    return Rules(invariants=[Invariant(id="odd", never=never)], events=[event] if event else [])


@pytest.mark.parametrize("end", [";", " -- never", " ; "])
def test_how_an_invariant_ends_matters_not(tmp_path: Path, end: str) -> None:
    record, _ = blueprinted(tmp_path, rules=rules(f"SELECT loan_id FROM loan WHERE renewals < 0{end}"))
    assert (record.state, record.rejected) == ("done", {})


@pytest.mark.parametrize(
    ("never", "told"),
    [
        ("SELECT book_id FROM book WHERE json_extract(title, '$.a') > 1", "malformed JSON"),
        ("SELECT loan_id FROM loan WHERE abs(-9223372036854775807 - 1 - renewals * 0) > 1", "integer overflow"),
        (f"SELECT 1 FROM {', '.join(f'member {name}' for name in MANY)} WHERE {NAMES} = 'x'", "too long"),
    ],
)
def test_an_invariant_that_cannot_be_asked_goes_back_and_is_taken_out(tmp_path: Path, never: str, told: str) -> None:
    record, stage = blueprinted(tmp_path, rules=rules(never))
    assert (record.state, record.rejected) == ("done", {"an invariant that does not hold": 1})
    asked = next(request for request in stage.requests if request.question == "blueprint.mend")
    assert told in str(asked.messages[-1].content)


@pytest.mark.parametrize(
    ("pick", "effect", "told"),
    [
        ("SELECT loan_id FROM loan", "UPDATE loan SET status = 'zzz' WHERE loan_id = :loan_id", "CHECK constraint"),
        ("SELECT loan_id FROM loan", COPY, "UNIQUE constraint"),
        ("SELECT loan_id, abs(-9223372036854775807 - 1 - renewals * 0) AS x FROM loan", COPY, "integer overflow"),
    ],
)
def test_an_event_that_cannot_happen_goes_back_and_is_taken_out(
    tmp_path: Path, pick: str, effect: str, told: str
) -> None:
    event = Event(name="odd_event", pick=pick, effects=[effect], weight=100)
    record, stage = blueprinted(tmp_path, rules=rules(event=event))
    assert (record.state, record.rejected) == ("done", {"an event that cannot happen": 1})
    asked = next(request for request in stage.requests if request.question == "blueprint.mend")
    assert told in str(asked.messages[-1].content)


def test_a_tool_whose_result_fails_is_told_why(tmp_path: Path) -> None:
    made = contracts()
    made["search_books"] = in_sql(made["search_books"], "late_fee_cents", "9e999 AS late_fee_cents")
    record, stage = blueprinted(tmp_path, made=made)
    assert (record.state, record.rejected) == ("done", {"a tool that nobody could use": 1})
    asked = next(request for request in stage.requests if request.question == "blueprint.mend")
    assert "holds inf" in str(asked.messages[-1].content)


def test_a_guard_that_fails_on_what_people_give_costs_its_tool_alone(tmp_path: Path) -> None:
    made = contracts()
    made["renew_loan"] = in_sql(made["renew_loan"], "EXISTS", "json_extract(:loan_id, '$.a') IS NULL AND EXISTS")
    record, _ = blueprinted(tmp_path, made=made)
    assert record.state == "done"
    assert sum(record.rejected.values()) == 1


def test_a_mend_must_leave_a_world(tmp_path: Path) -> None:
    broken = rules("SELECT book_id FROM book")
    record, stage = blueprinted(tmp_path, rules=broken, mended=Mended(drop=["odd", *TOOLS[3:]]))
    assert record.state == "done"
    assert "make a world" in complaints(stage, "blueprint.mend")


@pytest.mark.parametrize(
    ("generate", "told"),
    [
        ({"low": 10, "high": 1}, "low <= high"),
        ({"low": 1, "high": 3, "step": 0}, "a step above 0"),
        ({"values": []}, "must hold values"),
        ({"values": [1, 2], "weights": [0, 0]}, "must hold values"),
        ({"low": 1, "high": 1e300}, "low <= high"),
    ],
)
def test_values_that_cannot_be_drawn_are_told_with_the_table(
    tmp_path: Path, generate: dict[str, Any], told: str
) -> None:
    _, stage = blueprinted(tmp_path, tables=(table("Shelf", generate=generate),))
    assert told in complaints(stage, "blueprint.relationships")


def test_a_description_is_no_code_and_a_table_may_be_called_anything(tmp_path: Path) -> None:
    odd = table("Generate", initial=1).model_copy(update={"description": 'x"""\n    raise SystemExit(3)\n    """'})
    record, _ = blueprinted(tmp_path, tables=(odd, table("Derive", initial=1)))
    assert (record.state, record.rejected) == ("done", {})


def test_a_table_of_a_name_that_sqlite_keeps_is_told(tmp_path: Path) -> None:
    _, stage = blueprinted(tmp_path, tables=(table("SqliteShelf", initial=1),))
    assert "SQLite's own" in complaints(stage, "blueprint.relationships")


def test_sql_that_fails_while_rows_are_drawn_costs_its_table_alone(tmp_path: Path) -> None:
    fails = table("Shelf", generate={"sql": "abs(-9223372036854775807 - 1)"})
    record, _ = blueprinted(tmp_path, tables=(fails,))
    assert (record.state, record.rejected) == ("done", {"a table that nothing fills": 1})


def table(name: str, **attribute: Any) -> Entity:
    """A table of three rows with one odd attribute."""
    attributes = [{"name": "shelf_id", "type": "string"}, {"name": "x", "type": "integer", **attribute}]
    return Entity.model_validate({"name": name, "attributes": attributes, "rows": {"count": 3}})


def test_the_library_itself_is_sound(tmp_path: Path) -> None:
    record, _ = blueprinted(tmp_path, rules=answer("blueprint.rules"))
    assert (record.state, record.rejected) == ("done", {})
