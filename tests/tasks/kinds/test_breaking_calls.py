"""What people ask for although a rule forbids it: wishes that make sense go first."""

from random import Random
from typing import Any

from synth.search.arguments import Arguments, argument_search
from synth.tasks.kinds.refuse import breaking_calls
from tests.gates.clinic_tasks import with_tools
from tests.world.clinic import NOW

EFFECT = "UPDATE patient SET wants_reminders = 0 WHERE patient_id = :caller"
LATER = "date(:wanted_on) > date(:now, '+5 days')"


def wishes(parameter: dict[str, Any], holds: str) -> list[Arguments]:
    """Calls that break the one rule of a tool with one parameter, those that make most sense first."""
    tool = {
        "name": "note_wish",
        "description": "Note a wish.",
        "kind": "write",
        "parameters": [{"description": "What is wished for.", **parameter}],
        "guards": [{"rule": "R30", "concern": "deadline", "holds": holds, "error": "unfit", "says": "It has to fit."}],
        "effects": [{"rule": "R31", "sql": EFFECT, "says": "It is noted."}],
        "returns": {"rows": "one", "select": "SELECT p.full_name FROM patient p WHERE p.patient_id = :caller"},
    }
    world = with_tools(tool)
    with world.session(caller="PAT-0001") as session:
        return [
            *breaking_calls(
                argument_search(session, world.blueprint.tool("note_wish"), Random(1)), session, "R30", alone=True
            )
        ]


def test_a_day_gone_by_is_not_wished_for_where_lawful_ones_lie_ahead() -> None:
    days = [str(one["wanted_on"]) for one in wishes({"name": "wanted_on", "type": "date"}, LATER)]
    assert days[0] >= NOW[:10]
    assert min(days) < NOW[:10]


def test_nobody_is_born_in_twenty_years() -> None:
    found = wishes({"name": "date_of_birth", "type": "date"}, "date(:date_of_birth) <= date(:now)")
    assert found
    assert all(NOW[:4] <= str(one["date_of_birth"])[:4] <= str(int(NOW[:4]) + 1) for one in found)


def test_figures_like_those_on_record_go_first() -> None:
    amount = {"name": "sum_cents", "type": "integer", "examples": [4500, 6000]}
    found = [one["sum_cents"] for one in wishes(amount, ":sum_cents < 5000")]
    assert found[0] in range(5000, 6001)


def test_nobody_speaks_of_an_amount_under_one() -> None:
    amount = {"name": "sum_cents", "type": "integer", "examples": [50, 80, 100, 4500]}
    found = [int(str(one["sum_cents"])) for one in wishes(amount, ":sum_cents > 5000")]
    assert {100, 4500} <= {*found}
    assert min(found) == 100


def test_of_what_is_no_amount_few_are_wished_for() -> None:
    days = {"name": "days", "type": "integer", "examples": [1, 5]}
    assert {one["days"] for one in wishes(days, ":days > 9")} >= {1, 5}
