"""Combinations on the small clinic: a sound one of each sort, from which tests plant what is wrong."""

import copy
from collections.abc import Collection
from typing import Any

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.combination import Combination, MentionedRow, MentionedValue, ValidatedTask
from skillweave.schema.criteria import GoldenCall
from skillweave.schema.template import TaskTemplate, TemplateCall
from skillweave.world.world import World
from synth.gates.judging import validate_combination
from synth.tasks.replay import Rejected
from tests.world.clinic import NOW, a_world, blueprint_data

RULES = [f"R{number}" for number in range(1, 40)]
"""A policy that states every rule."""


def call(tool: str, /, **arguments: tuple[Any, str]) -> GoldenCall:
    """A golden call; each argument with its source."""
    return GoldenCall(
        tool=tool,
        arguments={name: value for name, (value, _) in arguments.items()},
        grounding={name: source for name, (_, source) in arguments.items()},
    )


def said(
    at: int, parameter: str | None, entity: str | None, key: str | None, read: str, **columns: Any
) -> MentionedRow:
    """What the user says of a row."""
    return MentionedRow(call=at, parameter=parameter, entity=entity, key=key, read=read, columns=columns)


def value(at: int, parameter: str, given: Any) -> MentionedValue:
    """A value that the user gives as it is."""
    return MentionedValue(call=at, parameter=parameter, value=given)


def a_combination(golden: list[GoldenCall], **changes: Any) -> Combination:
    """A combination of Ana, signed in by her channel."""
    base: dict[str, Any] = {
        "id": "SmallClinic/test/000",
        "template": "SmallClinic/test",
        "server": "SmallClinic",
        "kind": "do",
        "login": "session",
        "caller": "PAT-0001",
        "now": NOW,
        "golden": golden,
        "steps": [len(golden) - 1],
        "rows": [],
        "values": [],
    }
    return Combination.model_validate({**base, **changes})


def a_template(**changes: Any) -> TaskTemplate:
    """A template; the gates read what it tells, and nothing else."""
    base = {"id": "SmallClinic/test", "server": "SmallClinic", "kind": "do", "title": ""}
    return TaskTemplate.model_validate({**base, "calls": [], "reasons": ["So."], **changes})


APPOINTMENTS = call("list_appointments")
SLOTS = call("find_slots")
OWN_APPOINTMENT = said(
    2, "appointment_id", "Appointment", "APT-0001", "list_appointments", starts_at="2025-01-21 12:30:00"
)
SLOT_4 = said(2, "slot_id", "Slot", "SLO-0004", "find_slots", starts_at="2025-01-22 14:30:00", dentist_name="Dr Iyer")
MOVE = call(
    "move_appointment",
    appointment_id=("APT-0001", "call 0 [0].appointment_id"),
    slot_id=("SLO-0004", "call 1 [2].slot_id"),
)


def a_move(**changes: Any) -> Combination:
    """Ana moves her appointment to another slot: nothing is wrong with it."""
    golden = changes.pop("golden", [APPOINTMENTS, SLOTS, MOVE])
    return a_combination(golden, **{"rows": [OWN_APPOINTMENT, SLOT_4], **changes})


def with_tools(*tools: dict[str, Any], **changed: dict[str, Any]) -> World:
    """The clinic with more tools, or with some of its own changed, by name."""
    data = copy.deepcopy(blueprint_data())
    data["tools"] = [{**tool, **changed.get(tool["name"], {})} for tool in data["tools"]] + list(tools)
    return a_world(Blueprint.model_validate(data))


WORLD = a_world()


def judged(
    combination: Combination,
    *,
    world: World = WORLD,
    template: TaskTemplate | None = None,
    stated: Collection[str] = RULES,
) -> ValidatedTask:
    """What the gates make of a combination."""
    return validate_combination(world, combination, _with_calls(template or a_template(), combination), stated)


def _with_calls(template: TaskTemplate, combination: Combination) -> TaskTemplate:
    """The template with the calls that the combination takes for its own, where it names none."""
    calls = [TemplateCall(tool=combination.calls[step].tool) for step in combination.steps]
    return template if template.calls else template.model_copy(update={"calls": calls})


def reason(combination: Combination, **setting: Any) -> str | None:
    """Why the gates reject a combination; None where they do not."""
    try:
        judged(combination, **setting)
    except Rejected as rejected:
        return rejected.reason
    return None
