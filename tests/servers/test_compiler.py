"""Guards in Python mean what they mean in SQL, NULL included, and servers are written as people write them."""

import importlib.util
import subprocess
import sys
from itertools import product
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import pytest

from skillweave.base.errors import WorldError
from skillweave.schema.blueprint import Blueprint
from skillweave.schema.record import Json
from skillweave.world import database
from skillweave.world.world import World
from synth.offline.coding.scope import Scope
from synth.offline.coding.server import write_server
from synth.offline.coding.translator import Translator
from synth.offline.services import built_in
from synth.servers.skeleton import static_faults
from tests.servers.served import serve_from
from tests.world.clinic import ROWS, a_blueprint, blueprint_data

PARAMETERS: list[dict[str, Json]] = [
    {"name": "appointment_id", "type": "string", "description": "."},
    {"name": "word", "type": "string", "required": False, "description": "."},
    {"name": "count", "type": "integer", "required": False, "description": "."},
    {"name": "share", "type": "number", "required": False, "description": "."},
    {"name": "flag", "type": "boolean", "required": False, "description": "."},
    {"name": "day", "type": "date", "required": False, "description": "."},
]
REASON = "(SELECT cancel_reason FROM appointment WHERE appointment_id = :appointment_id)"
GUARDS = [
    ":count > 3",
    "NOT :count > 3",
    ":count BETWEEN 1 AND 5",
    ":count NOT BETWEEN 1 AND 5",
    ":count IS NULL OR :count >= 2",
    ":count IS NOT NULL AND NOT (:count < 2 OR :flag)",
    "NOT (:count IS NULL AND :word IS NULL)",
    ":word IN ('travel', 'other')",
    ":word NOT IN ('travel', 'other')",
    "NOT :word IN ('travel')",
    ":word = 'travel' OR :flag",
    ":word <> 'travel'",
    "NOT :flag",
    ":flag = 1",
    ":share >= :count",
    ":share * 2 > :count",
    ":count = 'travel'",
    ":day >= date(:now)",
    ":day <= '2025-01-22'",
    f"{REASON} = :word",
    f"{REASON} <> :word",
    f"{REASON} IS NULL",
    f"NOT {REASON} IS NULL",
    f"{REASON} IN ('travel', 'illness')",
    f"{REASON} NOT IN ('travel', 'illness')",
    f"NOT ({REASON} = 'travel' AND :flag)",
    "EXISTS (SELECT 1 FROM appointment WHERE appointment_id = :appointment_id AND cancel_reason = 'travel')",
    "EXISTS (SELECT 1 FROM appointment a WHERE a.appointment_id = :appointment_id "
    "AND (a.note IS NULL OR a.note <> :word))",
    "NOT EXISTS (SELECT 1 FROM appointment WHERE appointment_id = :appointment_id)",
    "NOT EXISTS (SELECT 1 FROM appointment WHERE appointment_id = :appointment_id AND status = 'cancelled')",
    "(SELECT COUNT(*) FROM appointment WHERE patient_id = :caller AND status = 'scheduled') < :count",
    f":count <= CASE {REASON} WHEN 'travel' THEN 2 WHEN 'illness' THEN 4 ELSE 1 END",
    ":count < CASE :word WHEN 'travel' THEN 2 WHEN 'other' THEN 4 ELSE 1 END",
    ":count < CASE WHEN :flag THEN 2 ELSE 4 END",
    "length(trim(:word)) > 2",
    "COALESCE(:count, 0) < 3",
    f"{REASON} = (SELECT full_name FROM patient WHERE patient_id = :caller)",
    "-2 < :count AND -1.5 < :share",
]


def checking(guards: list[str]) -> Blueprint:
    """The clinic with one read for each guard."""
    data = blueprint_data()
    tools = [
        {
            "name": f"check_{number}",
            "description": "Check.",
            "kind": "read",
            "parameters": PARAMETERS,
            "guards": [{"rule": "R1", "concern": "integrity", "holds": holds, "error": "broken", "says": "It holds."}],
            "returns": {"rows": "one", "select": "SELECT 1 AS held"},
        }
        for number, holds in enumerate(guards)
    ]
    return Blueprint.model_validate({**data, "tools": [data["tools"][0], *tools]})


def filled(blueprint: Blueprint) -> World:
    connection = database.create(blueprint)
    for entity in blueprint.tables:
        database.insert(connection, entity, ROWS[entity.name])
    for number, reason in enumerate(("illness", "travel", None), start=3):
        connection.execute(
            "INSERT INTO appointment VALUES (?, 'PAT-0001', 'SLO-0002', 'cancelled', ?, ?, '2025-01-11 08:00:00')",
            (f"APT-000{number}", reason, "travel" if reason else None),
        )
    return World(blueprint, connection, now="2025-01-20 09:00:00")


def imported(path: Path) -> ModuleType:
    sys.path.insert(0, str(path.parent))
    try:
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    finally:
        sys.path.remove(str(path.parent))


VALUES: dict[str, list[Json]] = {
    "appointment_id": ["APT-0001", "APT-0003", "APT-0004", "APT-0005", "APT-0009"],
    "word": [None, "travel", "ill"],
    "count": [None, -2, 2, 4, 2**63 - 1],
    "share": [None, 2.0],
    "flag": [None, True, False],
    "day": [None, "2025-01-20"],
}


def test_guards_in_python_hold_when_they_hold_in_sql(tmp_path: Path) -> None:
    blueprint = checking(GUARDS)
    world = filled(blueprint)
    server: Any = imported(serve_from(tmp_path / "outputs", world)).server
    session, contract = server.session(caller="PAT-0001"), world.session(caller="PAT-0001")
    wrong = []
    for number, holds in enumerate(GUARDS):
        names = [name for name in VALUES if f":{name}" in holds] or ["count"]
        for values in product(*(VALUES[name] for name in names)):
            arguments = {"appointment_id": "APT-0001", **dict(zip(names, values, strict=True))}
            expected = contract.call(f"check_{number}", arguments)
            if session.call(f"check_{number}", arguments)["ok"] != expected.ok:
                wrong.append((holds, arguments, expected.ok))
    assert wrong == []


@pytest.mark.parametrize(
    ("holds", "broken"),
    [
        (":count > 3", ("count is None", "count <= 3")),
        (":count IS NULL OR :count >= 2", ("count is not None", "count < 2")),
        (":word IN ('a', 'b')", ('word not in ("a", "b")',)),
        (
            "EXISTS (SELECT 1 FROM appointment WHERE appointment_id = :appointment_id AND patient_id = :caller)",
            ("appointment is None", 'appointment["patient_id"] != db.caller'),
        ),
        ("(SELECT COUNT(*) FROM fee WHERE patient_id = :caller) < 3", ("fee_count >= 3",)),
        (":share * 2 > 3", ('not db.true(":share * 2 > 3", share=share)',)),
    ],
)
def test_what_python_says_better_is_python(holds: str, broken: tuple[str, ...]) -> None:
    blueprint = checking([holds])
    assert Translator(Scope(blueprint, blueprint.tools[1])).condition(holds).broken == broken


def rendered() -> list[Blueprint]:
    """Each setting of the catalogue as a blueprint, every second soft rule left to the agent."""
    found = []
    for service in built_in().services.values():
        for setting in service.header.settings:
            made = service.render(setting, service.draw(setting, Random(setting.domain)))
            parts = {name: getattr(made, name) for name in ("core_entity", "entities", "relationships", "tools")}
            found.append(
                Blueprint(
                    server=setting.domain,
                    domain=setting.topic,
                    title=setting.title,
                    invariants=made.invariants,
                    events=made.events,
                    **parts,
                )
            )
    return found


def test_every_service_compiles_to_source_that_a_formatter_leaves_alone(tmp_path: Path) -> None:
    for blueprint in [a_blueprint(), *rendered()]:
        source = write_server(blueprint)
        assert static_faults(source, blueprint) == []
        assert source == write_server(blueprint)
        (tmp_path / f"{blueprint.server}.py").write_text(source, encoding="utf-8")
    done = subprocess.run(
        ["ruff", "format", "--check", "--isolated", "--line-length", "120", str(tmp_path)],
        capture_output=True,
        text=True,
        env={"PATH": str(Path(sys.executable).parent)},
    )
    assert done.returncode == 0, done.stdout


def test_a_binding_that_keys_no_row_is_an_error() -> None:
    data = blueprint_data()
    tools = [
        {
            **tool,
            "effects": [{"rule": "R1", "sql": "UPDATE fee SET fee_id = :new_id WHERE fee_id = :fee_id", "says": "."}],
        }
        if tool["name"] == "pay_fee"
        else tool
        for tool in data["tools"]
    ]
    with pytest.raises(WorldError, match="keys no inserted row"):
        write_server(Blueprint.model_validate({**data, "tools": tools}))
