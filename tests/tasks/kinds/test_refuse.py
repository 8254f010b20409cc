"""Refusals and absences: each rule of a write is asked to be broken, each single write to be done by none."""

from collections import Counter

import pytest

from skillweave.schema.template import TaskTemplate, ToolGraph
from synth.contracts.writes import data_edges
from synth.tasks.kinds import KINDS, TemplateSource
from synth.tasks.kinds.refuse import REASONS, TOOLS
from tests.gates.clinic_tasks import WORLD, a_template
from tests.tasks.test_builder import REFERRED

BLUEPRINT = WORLD.blueprint
GRAPH = ToolGraph(server="SmallClinic", tools=[tool.name for tool in BLUEPRINT.tools], edges=data_edges(BLUEPRINT))
CANCEL = a_template(
    id="SmallClinic/cancel",
    title="Cancel an appointment",
    calls=[{"tool": "cancel_appointment"}],
    tell=[{"call": 1, "column": "fee_cents", "noun": "fee", "ask": ["the fee"]}],
    reasons=["I am ill."],
)


def made(*goals: TaskTemplate) -> list[TaskTemplate]:
    return KINDS["refuse"].templates(
        goals, TemplateSource(BLUEPRINT, GRAPH, {**REFERRED, "list_appointments": ["status", "starts_at"]})
    )


def test_each_rule_of_a_write_is_broken_by_one_tool_or_two() -> None:
    found = Counter(one.forbidden for one in made())
    rules = {guard.rule for tool in BLUEPRINT.tools if tool.kind == "write" for guard in tool.guards}
    assert found.keys() == rules
    assert max(found.values()) == TOOLS


def test_a_rule_is_broken_by_what_people_ask_for_anyway() -> None:
    first = next(one for one in made(CANCEL) if one.forbidden == "R2")
    assert first.calls[0].tool == "cancel_appointment"
    assert (first.base, first.title, first.reasons) == (CANCEL.id, CANCEL.title, CANCEL.reasons)
    assert not first.tell


def test_without_a_goal_the_reasons_fit_any_wish() -> None:
    first = next(one for one in made() if one.forbidden == "R16")
    assert (first.base, first.title, first.reasons) == (None, "Drop reminder", [*REASONS])


@pytest.mark.parametrize(
    ("holds", "is_another"),
    [
        (
            "EXISTS (SELECT 1 FROM appointment a WHERE a.appointment_id = :appointment_id AND a.slot_id <> :slot_id)",
            True,
        ),
        (":slot_id <> (SELECT slot_id FROM appointment WHERE appointment_id = :appointment_id)", True),
        ("NOT EXISTS (SELECT 1 FROM appointment a WHERE a.appointment_id <> :appointment_id)", False),
        (":slot_id > (SELECT slot_id FROM appointment WHERE appointment_id = :appointment_id)", True),
        ("(SELECT slot_id FROM appointment WHERE appointment_id = :appointment_id) < :slot_id", True),
        (":slot_id >= (SELECT slot_id FROM appointment WHERE appointment_id = :appointment_id)", True),
        ("(SELECT slot_id FROM appointment WHERE appointment_id = :appointment_id) <= :slot_id", True),
        (":slot_id = (SELECT slot_id FROM appointment WHERE appointment_id = :appointment_id)", False),
        (":slot_id > (SELECT appointment_id FROM appointment WHERE appointment_id = :appointment_id)", False),
        ("(SELECT COUNT(*) FROM appointment WHERE patient_id = :caller) < :slot_id", False),
        (":slot_id > 'slot_1'", False),
        (":slot_id <> 'slot_1'", False),
        (":slot_id <> :appointment_id", False),
    ],
)
def test_reasons_for_a_change_are_not_those_of_who_asks_for_what_there_is(holds: str, is_another: bool) -> None:
    tool = BLUEPRINT.tool("move_appointment")
    guards = [guard.model_copy(update={"holds": holds}) if guard.rule == "R5" else guard for guard in tool.guards]
    changed = tool.model_copy(update={"guards": guards})
    blueprint = BLUEPRINT.model_copy(
        update={"tools": [changed if one.name == tool.name else one for one in BLUEPRINT.tools]}
    )
    goal = a_template(id="SmallClinic/move", calls=[{"tool": tool.name}], reasons=["Another day suits me better."])
    found = next(
        one
        for one in KINDS["refuse"].templates([goal], TemplateSource(blueprint, GRAPH, REFERRED))
        if (one.calls[0].tool, one.forbidden) == (tool.name, "R5")
    )
    assert found.base == goal.id
    assert found.reasons == ([*REASONS] if is_another else goal.reasons)


def test_requests_are_made_for_the_rules_alone_that_are_named() -> None:
    found = KINDS["refuse"].templates([], TemplateSource(BLUEPRINT, GRAPH, REFERRED, ["R16", "R10"]))
    assert [one.forbidden for one in found] == ["R10", "R16"]
    assert KINDS["refuse"].templates([], TemplateSource(BLUEPRINT, GRAPH, REFERRED, [])) == []


def test_nobody_names_a_row_by_what_forbids_the_request() -> None:
    by_rule = {(one.forbidden, one.calls[0].tool): one.referred_by["list_appointments"] for one in made()}
    assert by_rule["R3", "cancel_appointment"] == ["starts_at"]
    assert by_rule["R10", "cancel_appointment"] == ["status", "starts_at"]


def test_goals_of_one_write_are_asked_for_where_nothing_does_them() -> None:
    two = a_template(id="SmallClinic/two", calls=[{"tool": "cancel_appointment"}, {"tool": "pay_fee"}])
    ask = a_template(id="SmallClinic/ask", kind="inform", calls=[{"tool": "list_fees"}])
    (found,) = KINDS["unavailable"].templates([CANCEL, two, ask], TemplateSource(BLUEPRINT, GRAPH, REFERRED))
    assert (found.id, found.kind, found.base) == ("SmallClinic/unavailable_cancel", "unavailable", CANCEL.id)
    assert found.is_hidden
    assert not found.tell
