"""Goals of which something is left out."""

from collections.abc import Sequence
from typing import Any

from skillweave.schema.template import TaskTemplate, ToolGraph
from synth.tasks.kinds import KINDS, TemplateSource
from synth.tasks.kinds.clarify import GOALS, PER_GOAL
from tests.world.clinic import a_blueprint

BLUEPRINT = a_blueprint()
FOUND: dict[str, Any] = {
    "appointment_id": [{"tool": "list_appointments", "column": "appointment_id"}],
    "slot_id": [{"tool": "find_slots", "column": "slot_id"}],
}


def a_goal(name: str, *calls: dict[str, Any], **changes: Any) -> TaskTemplate:
    base = {"id": f"SmallClinic/{name}", "server": "SmallClinic", "kind": "do", "title": "", "reasons": ["So."]}
    return TaskTemplate.model_validate({**base, "calls": calls, **changes})


MOVE = a_goal("move", {"tool": "move_appointment", "found_by": FOUND})


def clarify_templates(goals: Sequence[TaskTemplate]) -> list[TaskTemplate]:
    graph = ToolGraph(server="SmallClinic", tools=[], edges=[])
    return KINDS["clarify"].templates(goals, TemplateSource(BLUEPRINT, graph, {}))


def left_out(*goals: TaskTemplate) -> dict[str, tuple[int, str]]:
    found = clarify_templates(goals)
    return {one.id: (one.withheld[0].call, one.withheld[0].parameter) for one in found}


def test_what_is_left_out_of_a_goal_is_a_template_of_its_own() -> None:
    found = clarify_templates([MOVE])
    assert [one.id for one in found] == ["SmallClinic/clarify_move_appointment_id", "SmallClinic/clarify_move_slot_id"]
    assert {(one.kind, one.base) for one in found} == {("clarify", MOVE.id)}
    assert [one.calls for one in found] == [MOVE.calls] * 2


def test_what_an_earlier_call_gives_is_never_left_out() -> None:
    linked = a_goal(
        "book_and_move",
        {"tool": "book_appointment", "found_by": {"slot_id": FOUND["slot_id"]}},
        {"tool": "move_appointment", "found_by": FOUND, "same": {"appointment_id": "1.appointment_id"}},
    )
    assert "appointment_id" not in {parameter for _, parameter in left_out(linked).values()}


def test_of_two_calls_of_one_tool_nothing_is_left_out() -> None:
    cancel = {"tool": "cancel_appointment", "found_by": FOUND}
    assert left_out(a_goal("cancel_two", cancel, cancel)) == {}


def test_what_need_not_be_said_is_not_left_out() -> None:
    assert left_out(a_goal("cancel", {"tool": "cancel_appointment", "found_by": FOUND})) == {
        "SmallClinic/clarify_cancel_appointment_id": (1, "appointment_id")
    }


def test_questions_are_complete() -> None:
    assert left_out(MOVE.model_copy(update={"kind": "inform"})) == {}


def test_the_same_is_left_out_of_few_goals_and_of_the_shortest_first() -> None:
    long = a_goal("long", {"tool": "list_fees"}, {"tool": "move_appointment", "found_by": FOUND})
    goals = [long, *(MOVE.model_copy(update={"id": f"SmallClinic/move_{n}"}) for n in range(GOALS))]
    found = clarify_templates(goals)
    assert {one.base for one in found} == {f"SmallClinic/move_{n}" for n in range(GOALS)}
    assert len(found) == GOALS * PER_GOAL
