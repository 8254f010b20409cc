"""Sensible wishes: before others, and never in the way of lawful calls."""

from random import Random

import pytest

from skillweave.schema.contract import Effect, Guard, Parameter, Returns, Tool
from skillweave.world.world import World
from synth.search.arguments import argument_search
from synth.search.slots import sensible_conditions
from tests.gates.clinic_tasks import with_tools


def a_tool(select: str = "SELECT 1 AS one", effects: tuple[str, ...] = (), **parameters: str) -> Tool:
    return Tool(
        name="find_day",
        description="Find a day.",
        kind="write" if effects else "read",
        parameters=[Parameter(name=name, type=kind, description="") for name, kind in parameters.items()],
        guards=[Guard(rule="R1", concern="quota", holds="1 = 1", error="refused", says="No.")],
        effects=[Effect(rule="R2", says="Done.", sql=sql) for sql in effects],
        returns=Returns(rows="many", select=select),
    )


@pytest.mark.parametrize(
    "where",
    [
        "date(s.starts_at) >= :from_day AND date(s.starts_at) <= date(:to_day)",
        "s.starts_at BETWEEN :from_day AND :to_day",
        "s.status = 'open' AND :from_day <= s.starts_at AND :to_day > s.starts_at",
    ],
)
def test_the_end_of_a_span_is_not_before_its_start(where: str) -> None:
    (condition,) = sensible_conditions(
        a_tool(f"SELECT s.slot_id FROM slot s WHERE {where}", from_day="date", to_day="date")
    )
    assert condition.bindings == {"from_day", "to_day"}
    assert condition.holds.endswith(":from_day <= :to_day")


def test_bounds_of_two_columns_are_no_span() -> None:
    where = "s.starts_at <= :to_day AND s.ends_at >= :from_day"
    assert (
        sensible_conditions(a_tool(f"SELECT s.slot_id FROM slot s WHERE {where}", from_day="date", to_day="date")) == ()
    )


def test_what_is_computed_or_added_changes_something_anyway() -> None:
    effects = ("UPDATE visit SET moves = moves + 1, day = date(:day, '+1 day') WHERE visit_id = :visit",)
    assert sensible_conditions(a_tool(effects=effects, visit="string", day="date")) == ()


def renaming(holds: str = "1 = 1") -> World:
    return with_tools(
        {
            "name": "choose_reminders",
            "description": "Set whether reminders are sent.",
            "kind": "write",
            "parameters": [{"name": "wanted", "type": "boolean", "description": "Whether they are."}],
            "guards": [{"rule": "R40", "concern": "eligibility", "holds": holds, "error": "not_so", "says": "So."}],
            "effects": [
                {
                    "rule": "R41",
                    "sql": "UPDATE patient SET wants_reminders = :wanted WHERE patient_id = :caller",
                    "says": "It is set.",
                }
            ],
            "returns": {"rows": "one", "select": "SELECT wants_reminders FROM patient WHERE patient_id = :caller"},
        }
    )


SAME = "(:wanted + 0) = (SELECT wants_reminders FROM patient WHERE patient_id = :caller)"


@pytest.mark.parametrize(("holds", "places"), [("1 = 1", [True, False]), (SAME, [False])])
def test_a_change_to_another_value_comes_before_one_to_the_same(holds: str, places: list[bool]) -> None:
    world = renaming(holds)
    tool = world.blueprint.tool("choose_reminders")
    with world.session() as session:
        for row in session.rows("patient"):
            session.caller = str(row["patient_id"])
            found = [bool(one["wanted"]) for one in argument_search(session, tool, Random(1)).meeting()]
            assert [value != bool(row["wants_reminders"]) for value in found] == places
