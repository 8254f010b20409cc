"""The small clinic with people who have many appointments, slots and fees: there is something to ask of it in any form.

It charges for all that is cancelled.

Ana has five appointments, the first in less than a day, and four fees. Ben and Cleo have one appointment each.
"""

import copy
from collections.abc import Iterator
from functools import cache
from typing import Any

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.combination import Combination
from skillweave.schema.record import Row
from skillweave.schema.task import Login
from skillweave.schema.template import TaskTemplate, ToolGraph
from skillweave.world import database
from skillweave.world.world import World
from synth.contracts.writes import data_edges, lookup_sources, row_sources
from synth.tasks.combinations import combination_for
from synth.tasks.forms import form_templates
from synth.tasks.kinds import NoInstance, TemplateSource, derived_templates
from tests.world.clinic import NOW, ROWS, blueprint_data

SELECTS = {
    "list_appointments": "SELECT a.appointment_id, a.status, s.slot_id, s.starts_at, s.dentist_name, s.price_cents "
    "FROM appointment a JOIN slot s ON s.slot_id = a.slot_id WHERE a.patient_id = :caller "
    "AND (:status IS NULL OR a.status = :status) ORDER BY s.starts_at, a.appointment_id",
    "list_fees": "SELECT f.fee_id, s.starts_at, f.amount_cents, f.is_paid FROM fee f JOIN appointment a "
    "ON a.appointment_id = f.appointment_id JOIN slot s ON s.slot_id = a.slot_id "
    "WHERE f.patient_id = :caller ORDER BY f.fee_id",
}
REFERRED = {
    "list_appointments": ["starts_at", "dentist_name"],
    "find_slots": ["starts_at", "dentist_name"],
    "list_fees": ["starts_at"],
}
DAYS = [
    ("2025-01-20 15:00:00", "Dr Hale"),
    ("2025-02-03 09:00:00", "Dr Hale"),
    ("2025-02-11 10:00:00", "Dr Iyer"),
    ("2025-02-19 11:00:00", "Dr Hale"),
    ("2025-03-04 12:00:00", "Dr Iyer"),
    ("2025-03-06 13:00:00", "Dr Iyer"),
    ("2025-03-07 16:00:00", "Dr Hale"),
]
"""When the appointments are, Ana's first."""
CHEAPER: dict[str, Any] = {
    "rule": "R23",
    "sql": "UPDATE slot SET price_cents = price_cents - 500 WHERE slot_id = (SELECT slot_id FROM appointment "
    "WHERE appointment_id = :appointment_id) "
    "AND (SELECT wants_reminders FROM patient WHERE patient_id = :caller)",
    "says": "A slot that somebody with reminders gives up becomes cheaper by 5.00.",
}
"""An effect of each move, by which it leaves a trace for Ana and Ben, and none for Cleo."""

GRADED: dict[str, Any] = {
    "rule": "R13",
    "sql": "INSERT INTO fee (fee_id, patient_id, appointment_id, amount_cents, is_paid) "
    "SELECT :new_id, a.patient_id, a.appointment_id, s.price_cents * "
    "(CASE WHEN julianday(s.starts_at) - julianday(:now) < 20 THEN 3 ELSE 2 END) / 8, 0 "
    "FROM appointment a JOIN slot s ON s.slot_id = a.slot_id WHERE a.appointment_id = :appointment_id",
    "says": "Less than 20 days before the start three eighths of the price are charged, otherwise two.",
}
"""An effect of each cancellation: what it costs follows from the slot's price and day."""


def _rows() -> dict[str, list[Row]]:
    free = [(f"2025-02-{day:02} 14:00:00", "Dr Hale" if day % 2 else "Dr Iyer") for day in range(4, 14)]
    slots: list[Row] = [
        {
            "slot_id": f"SLO-{number:04}",
            "starts_at": starts_at,
            "dentist_name": dentist,
            "is_free": number > len(DAYS),
            "price_cents": 4000 + 300 * number + (900 if number % 3 == 0 else 0),
        }
        for number, (starts_at, dentist) in enumerate([*DAYS, *free], start=1)
    ]
    appointments: list[Row] = [
        {
            **ROWS["Appointment"][0],
            "appointment_id": f"APT-{number:04}",
            "patient_id": f"PAT-000{max(1, number - 4)}",
            "slot_id": f"SLO-{number:04}",
        }
        for number in range(1, 8)
    ]
    fees: list[Row] = [
        {**ROWS["Fee"][0], "fee_id": f"FEE-{at:04}", "appointment_id": f"APT-{at:04}", "amount_cents": amount}
        for at, amount in enumerate([1250, 4300, 2175, 6050], start=1)
    ]
    return {**ROWS, "Slot": slots, "Appointment": appointments, "Reminder": [], "Fee": fees}


def _blueprint() -> Blueprint:
    data = copy.deepcopy(blueprint_data())
    for tool in data["tools"]:
        tool["returns"]["select"] = SELECTS.get(tool["name"], tool["returns"]["select"])
        tool["effects"] = [GRADED if effect["rule"] == "R13" else effect for effect in tool.get("effects", [])]
        tool["effects"] = [*([CHEAPER] if tool["name"] == "move_appointment" else []), *tool["effects"]]
    return Blueprint.model_validate(data)


def _world() -> World:
    blueprint = _blueprint()
    connection = database.create(blueprint)
    rows = _rows()
    for entity in blueprint.tables:
        database.insert(connection, entity, rows[entity.name])
    return World(blueprint, connection, now=NOW)


WORLD = _world()
SOURCE = TemplateSource(
    WORLD.blueprint,
    ToolGraph(
        server="SmallClinic", tools=[one.name for one in WORLD.blueprint.tools], edges=data_edges(WORLD.blueprint)
    ),
    REFERRED,
)


def goal(name: str, tool: str, **changes: Any) -> TaskTemplate:
    """What somebody wants of one tool."""
    found_by = row_sources(WORLD.blueprint.tool(tool), WORLD.blueprint, SOURCE.graph, [])
    base = {
        "id": f"SmallClinic/{name}",
        "server": "SmallClinic",
        "kind": "do",
        "title": name.replace("_", " ").capitalize(),
        "calls": [{"tool": tool, "found_by": found_by}],
        "lookups": lookup_sources(WORLD.blueprint, SOURCE.graph),
        "referred_by": REFERRED,
        "reasons": ["I need it."],
    }
    return TaskTemplate.model_validate({**base, **changes})


GOALS = [
    goal("book", "book_appointment"),
    goal("cancel", "cancel_appointment"),
    goal("move", "move_appointment"),
    goal("pay", "pay_fee"),
    goal(
        "ask_fee",
        "list_fees",
        kind="inform",
        tell=[{"call": 1, "column": "amount_cents", "noun": "fee", "ask": ["the fee of {row}"]}],
    ),
]


@cache
def plain_templates() -> list[TaskTemplate]:
    """The goals, and what is declined, left out or not offered."""
    return [*GOALS, *derived_templates(GOALS, SOURCE)]


@cache
def templates() -> list[TaskTemplate]:
    """The templates in all forms."""
    return form_templates(plain_templates(), SOURCE)


def named(name: str) -> TaskTemplate:
    """A template by the end of its id."""
    return next(one for one in [*plain_templates(), *templates()] if one.id == f"SmallClinic/{name}")


def instances(template: TaskTemplate, seed: str = "7", login: Login = "session") -> Iterator[Combination]:
    """The instances of a template, of one person after the other."""
    for number, caller in enumerate(WORLD.callers):
        try:
            yield combination_for(WORLD, template, caller, login, seed, number=number)
        except NoInstance:
            continue


def instance(template: TaskTemplate, login: Login = "session") -> Combination:
    """The instance of a template that has the most courses to prove it, if possible without a decline; the first."""
    found = [one for seed in "789" for one in instances(template, seed, login)]
    return max(found, key=lambda one: (not one.asked, sum(len(form.wrong) + len(form.right) for form in one.forms)))
