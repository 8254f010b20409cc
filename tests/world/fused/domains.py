"""Three small domains that share a person, and the world that they are fused into.

They are alike down to the names of their tools and visits. Ana and Ben are known to all three, Cleo to the
clinic alone.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from skillweave.schema.blueprint import Blueprint, BridgeRule, FusedBlueprint
from skillweave.schema.record import Row
from skillweave.world import database
from skillweave.world.world import World
from synth.fusion.blueprint import fuse

NOW = "2025-01-20 09:00:00"
PEOPLE = {"PAT-P001": "Ana Lopez", "PAT-P002": "Ben Okoro", "PAT-P003": "Cleo Marsh"}
DOMAINS = {"Clinic": "Patient", "Gym": "Guest", "Insurer": "Member"}
CUSTOMERS = {"Clinic": 3, "Gym": 2, "Insurer": 2}


def a_domain(server: str) -> Blueprint:
    """One of the three, on its own."""
    entity = DOMAINS[server]
    table, key = entity.lower(), f"{entity.lower()}_id"
    own_visit = f"EXISTS (SELECT 1 FROM visit v WHERE v.visit_id = :visit_id AND v.{key} = :caller)"
    visit = {"name": "visit_id", "type": "string", "refers_to": "Visit.visit_id", "description": "The visit."}
    email = {"name": "email", "type": "string", "description": "The new address."}
    profile = f"SELECT {key}, full_name, email, note, is_vip FROM {table} WHERE {key} = :caller"
    return Blueprint.model_validate(
        {
            "server": server,
            "domain": f"visits to a {server.lower()}",
            "title": f"The {server}",
            "core_entity": entity,
            "entities": [
                {
                    "name": entity,
                    "person": True,
                    "role_of": "Patient",
                    "prefix": f"{server[0]}P",
                    "attributes": [
                        {"name": key, "type": "string"},
                        {"name": "full_name", "type": "string", "shared": True},
                        {"name": "email", "type": "string", "unique": True, "shared": True},
                        {"name": "note", "type": "string", "nullable": True},
                        {"name": "is_vip", "type": "boolean"},
                    ],
                }
            ],
            "relationships": [
                {
                    "name": "Visit",
                    "prefix": f"{server[0]}V",
                    "attributes": [
                        {"name": "visit_id", "type": "string"},
                        {"name": key, "type": "string", "references": f"{entity}.{key}"},
                        {"name": "status", "type": "string", "enum": ["open", "done"]},
                    ],
                }
            ],
            "tools": [
                _tool(
                    "identify", "auth", profile.replace(":caller", f"(SELECT {key} FROM {table} WHERE email = :email)")
                )
                | {
                    "parameters": [email],
                    "guards": [
                        _guard("R1", f"EXISTS (SELECT 1 FROM {table} WHERE email = :email)", "no_match", "existence")
                    ],
                },
                _tool("my_profile", "read", profile),
                _tool("list_visits", "read", f"SELECT visit_id, status FROM visit WHERE {key} = :caller ORDER BY 1")
                | {"returns": _returns(f"SELECT visit_id, status FROM visit WHERE {key} = :caller ORDER BY 1", "many")},
                _tool("change_email", "write", profile)
                | {
                    "parameters": [email],
                    "effects": [_effect("R2", f"UPDATE {table} SET email = :email WHERE {key} = :caller")],
                },
                _tool("swap_note", "write", profile)
                | {
                    "parameters": [email],
                    "effects": [
                        _effect("R3", f"UPDATE {table} SET email = :email, note = email WHERE {table}.{key} = :caller")
                    ],
                },
                _tool("set_note", "write", profile)
                | {"effects": [_effect("R4", f"UPDATE {table} SET note = 'seen' WHERE {key} = :caller")]},
                _tool("visit", "write", "SELECT visit_id, status FROM visit WHERE visit_id = :new_id")
                | {
                    "effects": [
                        _effect("R5", f"INSERT INTO visit (visit_id, {key}, status) VALUES (:new_id, :caller, 'open')")
                    ]
                },
                _tool("finish", "write", "SELECT visit_id, status FROM visit WHERE visit_id = :visit_id")
                | {
                    "parameters": [visit],
                    "guards": [_guard("R6", own_visit, "not_yours", "ownership")],
                    "effects": [_effect("R7", "UPDATE visit SET status = 'done' WHERE visit_id = :visit_id")],
                },
            ],
            "invariants": [{"id": "known", "never": f"SELECT {key} FROM visit WHERE {key} IS NULL"}],
        }
    )


def _tool(name: str, kind: str, select: str) -> dict[str, Any]:
    return {"name": name, "description": f"{name}.", "kind": kind, "returns": _returns(select, "one")}


def _returns(select: str, rows: str) -> dict[str, Any]:
    return {"rows": rows, "select": select}


def _guard(rule: str, holds: str, error: str, concern: str) -> dict[str, Any]:
    return {"rule": rule, "concern": concern, "holds": holds, "error": error, "says": f"{error} says no."}


def _effect(rule: str, sql: str) -> dict[str, Any]:
    return {"rule": rule, "sql": sql, "says": "It is done."}


def account(server: str, person: str) -> str | None:
    """The key that a person has in a domain."""
    rank = int(person[-3:])
    return f"{server[0]}P-{rank:04d}" if rank <= CUSTOMERS[server] else None


def rows_of(server: str) -> dict[str, list[Row]]:
    """What a domain's own database holds, by entity."""
    entity, known = DOMAINS[server], [person for person in PEOPLE if account(server, person)]
    persons: list[Row] = [
        {
            f"{entity.lower()}_id": account(server, person),
            **shared_of(person),
            "note": None,
            "is_vip": person[-1] == "1",
        }
        for person in known
    ]
    visits: list[Row] = [
        {"visit_id": f"{server[0]}V-{rank:04d}", f"{entity.lower()}_id": account(server, person), "status": "open"}
        for rank, person in enumerate(known, start=1)
    ]
    return {entity: persons, "Visit": visits}


def shared_of(person: str) -> Row:
    """What all domains know of a person."""
    name = PEOPLE[person]
    return {"full_name": name, "email": f"{name.split()[0].lower()}@example.com"}


def a_world(server: str) -> World:
    """A single-domain world."""
    blueprint = a_domain(server)
    connection = database.create(blueprint)
    for entity in blueprint.tables:
        database.insert(connection, entity, rows_of(server)[entity.name])
    return World(blueprint, connection, now=NOW)


def a_fused_blueprint(bridges: Sequence[BridgeRule] = (), servers: Sequence[str] = ()) -> FusedBlueprint:
    """The domains' contracts as one."""
    return fuse([a_domain(server) for server in servers or DOMAINS]).with_bridges(bridges)


def fused_rows(blueprint: FusedBlueprint) -> Mapping[str, list[Row]]:
    """What the fused database holds, by table."""
    servers = [member.server for member in blueprint.members]
    people = [person for person in PEOPLE if any(account(server, person) for server in servers)]
    persons: list[Row] = [
        {"person_id": person, **shared_of(person), **{server: account(server, person) for server in servers}}
        for person in people
    ]
    found = {blueprint.core.table: persons}
    for member in blueprint.members:
        for entity, rows in rows_of(member.server).items():
            found[f"{member.server}__{entity}"] = rows
    return found


def a_fused_database(blueprint: FusedBlueprint) -> bytes:
    """The fused database, as a file holds it."""
    connection = database.create(blueprint)
    connection.execute("BEGIN")
    connection.execute("PRAGMA defer_foreign_keys = ON")
    rows = fused_rows(blueprint)
    for entity in blueprint.tables:
        database.insert(connection, entity, rows[entity.table])
    connection.execute("COMMIT")
    return database.to_bytes(connection, blueprint)


def a_fused_world(bridges: Sequence[BridgeRule] = (), servers: Sequence[str] = ()) -> World:
    """The three domains as one world."""
    blueprint = a_fused_blueprint(bridges, servers)
    return World(blueprint, a_fused_database(blueprint), now=NOW)
