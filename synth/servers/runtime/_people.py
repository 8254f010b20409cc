"""The persons of a world of several domains: the account that each domain keeps of them, and what all domains share.

A domain reads and changes its persons through a view that joins the account's columns with the shared ones. The views
are made on each connection; a database file holds none.
"""

import sqlite3
from collections.abc import Mapping
from typing import NamedTuple


class Member(NamedTuple):
    """A domain of the world."""

    title: str
    """The company's name."""
    account: str
    """The column of the shared persons' table that holds the key of the account here; NULL for persons without one."""
    table: str
    """The table of accounts: what only this domain knows of a person."""
    view: str
    """The view that joins accounts and shared columns, under the name that the domain's statements use."""
    columns: list[str]
    """The view's columns, the key first."""


class People:
    """The shared persons of a world, and their accounts with its members."""

    def __init__(self, table: str, key: str, members: Mapping[str, Member]) -> None:
        """`table` holds the persons and `key` is its key; `members` are by the namespace of their tools."""
        self.table, self.key, self.members = table, key, members

    def account(self, connection: sqlite3.Connection, member: str, person: str) -> str | None:
        """The key of the person's account with a member; None if there is none."""
        column = self.members[member].account
        return self._first_value(connection, f"SELECT {column} FROM {self.table} WHERE {self.key} = ?", person)

    def person(self, connection: sqlite3.Connection, member: str, account: str) -> str | None:
        """The key of the person whose account with a member that is."""
        column = self.members[member].account
        return self._first_value(connection, f"SELECT {self.key} FROM {self.table} WHERE {column} = ?", account)

    def is_person(self, connection: sqlite3.Connection, person: str) -> bool:
        """Whether there is such a person."""
        query = f"SELECT {self.key} FROM {self.table} WHERE {self.key} = ?"
        return self._first_value(connection, query, person) is not None

    def make_views(self, connection: sqlite3.Connection, columns: Mapping[str, list[str]]) -> None:
        """Make the members' views on a connection; `columns` are those of the tables."""
        for member in self.members.values():
            self._make_view(connection, member, set(columns.get(member.table, ())))

    def _make_view(self, connection: sqlite3.Connection, member: Member, own: set[str]) -> None:
        key = member.columns[0]
        shown = ", ".join(f"{'own' if name in own else 'shared'}.{name}" for name in member.columns)
        joined = f"{member.table} AS own JOIN {self.table} AS shared ON shared.{member.account} = own.{key}"
        connection.execute(f"CREATE TEMP VIEW {member.view} AS SELECT {shown} FROM {joined}")
        parts = {
            f"UPDATE {member.table} SET %s WHERE {key} = OLD.{key};": [name for name in member.columns if name in own],
            f"UPDATE {self.table} SET %s WHERE {member.account} = OLD.{key};": [
                name for name in member.columns if name not in own
            ],
        }
        updates = [sql % ", ".join(f"{name} = NEW.{name}" for name in names) for sql, names in parts.items() if names]
        connection.execute(
            f"CREATE TEMP TRIGGER {member.view}__update INSTEAD OF UPDATE ON {member.view} "
            f"BEGIN {' '.join(updates)} END"
        )

    @staticmethod
    def _first_value(connection: sqlite3.Connection, sql: str, key: str) -> str | None:
        row = connection.execute(sql, (key,)).fetchone()
        return None if row is None else row[0]
