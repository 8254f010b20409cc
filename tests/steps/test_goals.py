"""Goals are tried as they come: one that nobody can have goes back with the reason, and is left out if it stays so."""

from pathlib import Path
from typing import Any

from skillweave.base.manifest import ItemRecord
from skillweave.schema.contract import Tool
from skillweave.schema.reports import DatabaseCoverage, DatabaseSummary
from skillweave.schema.template import Goal, ToolGraph
from synth.artifacts import BLUEPRINTS, DATABASE, SUMMARIES, TEMPLATES, TOOL_GRAPHS
from synth.contracts.writes import data_edges
from synth.questions.types import RowWords
from synth.steps.s14_task_template_generation import TemplateParams, task_template_generation
from tests.fusion.stage import Stage
from tests.gates.clinic_tasks import WORLD
from tests.world.clinic import NOW

KEY = "SmallClinic"
WORDS = [
    RowWords(read="list_appointments", columns=["starts_at", "dentist_name"]),
    RowWords(read="find_slots", columns=["starts_at", "dentist_name"]),
    RowWords(read="list_fees", columns=["amount_cents"]),
]
COVERAGE = DatabaseCoverage(
    tools=0, tools_succeeding=0, failing_tools=[], effects=0, effects_taking_place=0, idle_effects=[], guards=0,
    guards_first_broken=0, unmet=[], unsound=[],
)  # fmt: skip


def goal(name: str, *tools: str, **changes: Any) -> Goal:
    calls = [{"tool": tool} for tool in tools]
    return Goal.model_validate(
        {"name": name, "kind": "do", "title": "So.", "calls": calls, "reasons": ["It is time."], **changes}
    )


def staged(
    folder: Path, *goals: Goal, more: tuple[Goal, ...] = (), words: list[RowWords] = WORDS
) -> tuple[ItemRecord, Stage]:
    """The step on the clinic's data, with an author who says the same every time."""
    answers: dict[str, Any] = {"tasks.references": words, "tasks.goals": [*goals], f"tasks.goals {KEY}/more": [*more]}
    stage = Stage(folder, NOW, answers)
    stage.give(BLUEPRINTS, KEY, WORLD.blueprint)
    stage.give_file(DATABASE, KEY, WORLD.content)
    stage.give(SUMMARIES, KEY, DatabaseSummary(server=KEY, rows={"slot": 8}, calls={}, events={}, coverage=COVERAGE))
    stage.give(TOOL_GRAPHS, KEY, ToolGraph(server=KEY, tools=[], edges=data_edges(WORLD.blueprint)))
    return stage.run(task_template_generation, KEY, TemplateParams(goals=9)), stage


def complaints(stage: Stage) -> str:
    """All that authors were told of their answers."""
    return "\n".join(str(request.messages[-1].content) for request in stage.requests if request.attempt)


def kept(stage: Stage) -> list[str]:
    """The goals as they are asked for plainly."""
    found = (one for one in stage.read(TEMPLATES, KEY) if one.kind in ("do", "inform") and not one.forms)
    return [one.id.partition("/")[2] for one in found]


def test_a_goal_that_nobody_can_have_goes_back_with_the_rule_at_which_the_nearest_fail(tmp_path: Path) -> None:
    twice = goal("cancel_twice", "cancel_appointment", "cancel_appointment")
    record, stage = staged(tmp_path, goal("cancel", "cancel_appointment"), twice)
    assert "goal 'cancel_twice': call 2, cancel_appointment: no lawful call; of 3 people tried" in complaints(stage)
    assert "nearest fail" in complaints(stage)
    assert "goal 'cancel'" not in complaints(stage)
    assert kept(stage) == ["cancel"]
    assert record.rejected == {"a goal that nobody can have": 1}


def test_words_that_tell_no_rows_apart_go_back_once(tmp_path: Path) -> None:
    vague = [RowWords(read="find_slots", columns=["dentist_name"]), *WORDS[::2]]
    record, stage = staged(tmp_path, goal("cancel", "cancel_appointment"), words=vague)
    assert "find_slots: " in complaints(stage)
    assert "rows in 3 persons' lists together, " in complaints(stage)
    assert "from others of the same list by dentist_name; add what people would say of a row" in complaints(stage)
    assert "starts_at" in complaints(stage)
    # Their author stays with them; what people would say is not for the step to decide.
    assert stage.read(TEMPLATES, KEY)[0].referred_by["find_slots"] == ["dentist_name"]
    assert not record.rejected


def test_rows_that_cannot_be_told_apart_are_named_to_the_goals_author(tmp_path: Path) -> None:
    record, stage = staged(tmp_path, goal("book", "book_appointment"), goal("cancel", "cancel_appointment"), words=[])
    told = "the row that slot_id takes cannot be told apart by nothing, which is all that people say of find_slots"
    assert f"goal 'book': call 1, book_appointment: {told}" in complaints(stage)
    assert record.state == "rejected"


def test_what_cannot_be_told_is_named(tmp_path: Path) -> None:
    told = {"call": 1, "column": "is_paid", "noun": "state", "ask": ["whether it is paid"]}
    asks = goal("is_it_paid", "list_fees", kind="inform", tell=[told])
    _, stage = staged(tmp_path, goal("cancel", "cancel_appointment"), asks)
    told_so = (
        "goal 'is_it_paid': of 3 people tried, 3 can make its calls, and none has a value to be told: for 2 of them"
    )
    assert f"{told_so} list_fees lists nothing" in complaints(stage)
    assert kept(stage) == ["cancel"]


def test_a_link_to_a_list_is_no_link(tmp_path: Path) -> None:
    calls = [{"tool": "find_slots"}, {"tool": "book_appointment", "same": {"slot_id": "1.slot_id"}}]
    _, stage = staged(tmp_path, goal("cancel", "cancel_appointment"), goal("book", calls=calls))
    assert "call 2: '1.slot_id': find_slots lists many rows, and `same` does not say which" in complaints(stage)
    assert kept(stage) == ["cancel"]


def test_how_many_can_make_a_write_is_told_beforehand_and_where_one_fails(tmp_path: Path) -> None:
    _, stage = staged(tmp_path, goal("cancel_twice", "cancel_appointment", "cancel_appointment"))
    asked = next(request for request in stage.requests if request.question == "tasks.goals")
    assert "- cancel_appointment (write, 2 of 3 people can today): " in str(asked.messages[-1].content)
    assert "as things stand, 2 of 3 people can make one" in complaints(stage)


def test_writes_that_nobody_wants_are_asked_about_once_more(tmp_path: Path) -> None:
    more = (goal("remind", "set_reminders"), goal("cancel", "cancel_appointment"))
    _, stage = staged(tmp_path, goal("cancel", "cancel_appointment"), more=more)
    (again,) = [request for request in stage.requests if request.key == f"{KEY}/more"]
    unwanted = again.variables["unwanted"]
    assert isinstance(unwanted, list)
    assert "set_reminders" in [tool.name for tool in unwanted if isinstance(tool, Tool)]
    assert "cancel_appointment" not in [tool.name for tool in unwanted]
    assert "Patients pay only their own fees." in str(again.messages[-1].content)
    assert kept(stage) == ["cancel", "remind"]


def test_where_no_further_goals_come_there_are_those_that_there_are(tmp_path: Path) -> None:
    record, stage = staged(tmp_path, goal("cancel", "cancel_appointment"), more=(goal("dream", "no_such_tool"),))
    assert record.state == "done"
    assert kept(stage) == ["cancel"]
