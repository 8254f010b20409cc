"""Small libraries, by hand: alike in all but their server's name, so that nothing but the name keeps them apart in one
world. Even their ids are the same.
"""

import sqlite3
from collections.abc import Sequence
from typing import Any

from skillweave.schema.blueprint import Blueprint, FusedBlueprint
from skillweave.schema.record import Row
from skillweave.world.world import World
from synth.fusion.persons import fused_rows
from synth.simulation.generation import state_of

NOW = "2025-03-17 09:00:00"
PERSONS = 4
"""Of whom the last is in the first library alone."""


def _text(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": "string", **more}


def _member(core: str, key: str) -> dict[str, Any]:
    return {
        "name": core,
        "person": True,
        "role_of": "Person",
        "prefix": "MEM",
        "attributes": [
            _text(key),
            _text("full_name", shared=True),
            _text("tier"),
            _text("email", shared=True, unique=True),
            _text("phone", shared=True, nullable=True),
            _text("branch_id", references="Branch.branch_id"),
            {"name": "points", "type": "integer"},
        ],
    }


def _tables(core: str, key: str, statuses: Sequence[str]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    member = f"{core}.{key}"
    entities = [
        _member(core, key),
        {"name": "Branch", "prefix": "BRA", "attributes": [_text("branch_id"), _text("city")]},
        {
            "name": "Copy",
            "prefix": "COP",
            "attributes": [
                _text("copy_id"),
                _text("branch_id", references="Branch.branch_id"),
                _text("title"),
                _text("status", enum=list(statuses)),
            ],
        },
    ]
    relationships = [
        {
            "name": "Loan",
            "prefix": "LOA",
            "attributes": [
                _text("loan_id"),
                _text(key, references=member),
                _text("guarantor_id", references=member, nullable=True),
                _text("copy_id", references="Copy.copy_id"),
                {"name": "due_on", "type": "date"},
            ],
        },
        {
            "name": "Fine",
            "prefix": "FIN",
            "attributes": [
                _text("fine_id"),
                _text(key, references=member),
                _text("loan_id", references="Loan.loan_id", nullable=True),
                {"name": "amount_cents", "type": "integer", "unit": "cents"},
                _text("note", nullable=True),
            ],
        },
    ]
    return entities, relationships


def _guard(rule: str, holds: str, error: str) -> dict[str, Any]:
    return {"rule": rule, "concern": "eligibility", "holds": holds, "error": error, "says": f"{error} must not be."}


def _parameter(name: str, refers_to: str | None = None, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": "string", "description": "It.", "refers_to": refers_to, **more}


def _tools(table: str, core: str, key: str, statuses: Sequence[str]) -> list[dict[str, Any]]:
    own = f"EXISTS (SELECT 1 FROM loan WHERE loan_id = :loan_id AND {key} = :caller)"
    return [
        {
            "name": "sign_in",
            "description": "Sign a member in.",
            "kind": "auth",
            "parameters": [_parameter("email")],
            "guards": [_guard("R1", f"EXISTS (SELECT 1 FROM {table} WHERE email = :email)", "unknown_email")],
            "returns": {"rows": "one", "select": f"SELECT * FROM {table} WHERE email = :email"},
        },
        {
            "name": "list_loans",
            "description": "All loans of a member.",
            "kind": "read",
            "returns": {
                "rows": "many",
                "select": f"SELECT loan.*, g.full_name AS guarantor FROM loan LEFT JOIN {table} g "
                f"ON g.{key} = loan.guarantor_id WHERE loan.{key} = :caller ORDER BY loan_id",
            },
        },
        {
            "name": "renew_loan",
            "description": "Renew a loan.",
            "kind": "write",
            "parameters": [_parameter("loan_id", "Loan.loan_id")],
            "guards": [
                _guard("R2", own, "not_your_loan"),
                {**_guard("R3", "NOT EXISTS (SELECT 1 FROM fine f WHERE f.loan_id = :loan_id)", "fined")}
                | {"enforced_by": "agent"},
            ],
            "effects": [
                {
                    "rule": "R4",
                    "sql": "UPDATE loan SET due_on = date(loan.due_on, '+7 days') WHERE loan.loan_id = :loan_id",
                    "says": "The loan is due 7 days later.",
                },
                {
                    "rule": "R5",
                    "sql": f"INSERT INTO fine VALUES (:new_id, :caller, :loan_id, (SELECT points FROM {table} "
                    f"WHERE {key} = :caller), 'fine for the loan')",
                    "says": "A fine is noted.",
                },
            ],
            "returns": {"rows": "many", "select": f"SELECT * FROM fine WHERE {key} = :caller ORDER BY fine_id"},
        },
        {
            "name": "change_phone",
            "description": "Change the phone number.",
            "kind": "write",
            "parameters": [_parameter("phone", examples=["+44 1", "+44 2"])],
            "guards": [_guard("R2", ":phone LIKE '+%'", "no_country")],
            "effects": [
                {
                    "rule": "R6",
                    "sql": f"UPDATE {table} SET phone = :phone, tier = 'was ' || COALESCE(phone, 'without'), "
                    f"points = points + 1 WHERE {table}.{key} = :caller",
                    "says": "The number is changed.",
                }
            ],
            "returns": {"rows": "one", "select": f"SELECT phone, tier, points FROM {table} WHERE {key} = :caller"},
        },
        {
            "name": "mark_copy",
            "description": "Mark a copy.",
            "kind": "write",
            "parameters": [_parameter("copy_id", "Copy.copy_id"), _parameter("status", enum=list(statuses))],
            "guards": [
                _guard("R7", "(SELECT status FROM copy WHERE copy_id = :copy_id) <> :status", "same_status"),
            ],
            "effects": [
                {
                    "rule": "R8",
                    "sql": "UPDATE copy SET status = :status WHERE copy_id = :copy_id",
                    "says": "The copy is marked.",
                }
            ],
            "returns": {"rows": "one", "select": "SELECT copy_id, status FROM copy WHERE copy_id = :copy_id"},
        },
    ]


def library(
    server: str,
    *,
    core: str = "Member",
    key: str = "member_id",
    statuses: Sequence[str] = ("here", "lent"),
    reads: Sequence[str] = (),
    writes: Sequence[str] = (),
    **changes: Any,
) -> Blueprint:
    """A library with further statements, each as the result or the effect of a tool of its own."""
    entities, relationships = _tables(core, key, statuses)
    more = [
        {
            "name": f"{'write' if sql in writes else 'read'}_{number}",
            "description": "More.",
            "kind": "write" if sql in writes else "read",
            "effects": [{"rule": f"R{100 + number}", "sql": sql, "says": "More."}] if sql in writes else [],
            "returns": {"rows": "many", "select": "SELECT 1 AS done" if sql in writes else sql},
        }
        for number, sql in enumerate([*reads, *writes])
    ]
    given: dict[str, Any] = {
        "server": server,
        "domain": f"library {server}",
        "title": f"The {server} Library",
        "core_entity": core,
        "entities": entities,
        "relationships": relationships,
        "tools": [*_tools(core.lower(), core, key, statuses), *more],
        "invariants": [{"id": "no_debt", "never": "SELECT fine_id FROM fine WHERE fine.amount_cents < 0"}],
        "events": [
            {
                "name": "copy_lost",
                "pick": "SELECT copy.copy_id FROM copy ORDER BY copy_id",
                "effects": ["DELETE FROM fine WHERE loan_id IN (SELECT loan_id FROM loan WHERE copy_id = :copy_id)"],
            }
        ],
    }
    return Blueprint.model_validate(given | changes)


def rows_of(blueprint: Blueprint, count: int = PERSONS) -> dict[str, list[Row]]:
    """Its rows: the same ids in every library, other values."""
    server, key = blueprint.server, blueprint.core.key
    status = blueprint.entity("Copy").attribute("status").enum or []
    branches = [f"BRA-000{number}" for number in (1, 2)]
    copies = [f"COP-000{number}" for number in range(1, 5)]
    members = [f"MEM-000{number}" for number in range(1, count + 1)]
    persons: list[Row] = [
        {
            key: member,
            "full_name": f"Person {number}",
            "tier": f"{server} {number % 2}",
            "email": f"p{number}@example.org",
            "phone": f"+44 {number}00" if number % 2 else None,
            "branch_id": branches[number % 2],
            "points": len(server) * 10 + number,
        }
        for number, member in enumerate(members, start=1)
    ]
    loans: list[Row] = [
        {
            "loan_id": f"LOA-00{member[-1]}{place}",
            key: member,
            "guarantor_id": members[0] if place else None,
            "copy_id": copies[(place + len(server)) % 4],
            "due_on": f"2025-04-{10 + place + len(server)}",
        }
        for member in members
        for place in range(2)
    ]
    fines: list[Row] = [
        {
            "fine_id": f"FIN-00{member[-1]}0",
            key: member,
            "loan_id": f"LOA-00{member[-1]}0",
            "amount_cents": 100 * int(member[-1]) + len(server),
            "note": f"{server} hold",
        }
        for member in members[:2]
    ]
    return {
        blueprint.core.table: persons,
        "branch": [{"branch_id": one, "city": f"{server} {one}"} for one in branches],
        "copy": [
            {
                "copy_id": one,
                "branch_id": branches[place % 2],
                "title": f"{server} copy {place}",
                "status": status[place % len(status)],
            }
            for place, one in enumerate(copies)
        ],
        "loan": loans,
        "fine": fines,
    }


def counts(blueprints: Sequence[Blueprint]) -> dict[str, int]:
    """How many persons each library knows."""
    return {one.server: PERSONS if place == 0 else PERSONS - 1 for place, one in enumerate(blueprints)}


def people(blueprints: Sequence[Blueprint]) -> list[Row]:
    """Everybody, with the key that they have in each library."""
    known = counts(blueprints)
    found: list[Row] = []
    for number in range(1, PERSONS + 1):
        keys = {server: f"MEM-000{number}" if number <= count else None for server, count in known.items()}
        found.append({"person_id": f"PER-P00{number}", "full_name": f"Person {number}", **keys})
    return found


def databases(blueprints: Sequence[Blueprint]) -> dict[str, sqlite3.Connection]:
    """Each library's own database."""
    known = counts(blueprints)
    return {one.server: state_of(rows_of(one, known[one.server]), one) for one in blueprints}


def single_worlds(blueprints: Sequence[Blueprint]) -> dict[str, World]:
    """The world of each library."""
    return {one.server: World(one, databases(blueprints)[one.server], now=NOW) for one in blueprints}


def fused_world(fused: FusedBlueprint, blueprints: Sequence[Blueprint]) -> World:
    """The world of all of them."""
    return World(fused, state_of(fused_rows(fused, databases(blueprints), people(blueprints)), fused), now=NOW)
