"""Who calls, as the domain of a tool knows them: a person of a fused world has a key of their own in each domain."""

import sqlite3

from skillweave.schema.role import Role
from skillweave.world.world import World


def account_of(connection: sqlite3.Connection, world: World, role: Role, caller: str | None) -> str | None:
    """The key by which a domain knows who calls; in a single domain's world it is the caller."""
    people = world.people
    if caller is None or role.account == people.key:
        return caller
    row = connection.execute(f"SELECT {role.account} FROM {people.table} WHERE {people.key} = ?", (caller,)).fetchone()
    return None if row is None else row[0]
