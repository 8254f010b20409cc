"""A world: a blueprint with its database, a policy and a clock. It opens sessions."""

import math
import sqlite3
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

from skillweave.base.store import digest_bytes
from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import Policy, RowChange
from skillweave.schema.record import Row
from skillweave.schema.task import Task
from skillweave.world.diff import read_row, reader_of
from skillweave.world.noise import ToolNoise
from skillweave.world.prepared import PreparedWorld
from skillweave.world.session import ContractSession
from skillweave.world.state import State

PersonColumns = Mapping[str, Mapping[str, str]]
"""Table -> column that names a person -> column of the core entity with the same value."""


class World(PreparedWorld):
    """A blueprint and a database from which sessions are opened. Sessions of different threads never share rows."""

    def __init__(
        self,
        blueprint: Blueprint,
        state: bytes | Path | sqlite3.Connection,
        *,
        now: str,
        policy: Policy | None = None,
        most_steps: float = math.inf,
    ) -> None:
        """Make a world.

        Args:
            blueprint: The contract.
            state: The database: a file, a file's content, or a connection.
            now: The default clock of sessions, `YYYY-MM-DD HH:MM:SS`.
            policy: The policy that agents read, if there is one.
            most_steps: Steps of SQLite's virtual machine that all sessions together may take.

        Raises:
            ArtifactError: The database is not one of this blueprint.
        """
        super().__init__(blueprint, state, most_steps=most_steps)
        self.policy = policy
        self.now = now

    def session(
        self,
        task: Task | None = None,
        *,
        caller: str | None = None,
        now: str | None = None,
        patch: Sequence[RowChange] = (),
        hidden: frozenset[str] = frozenset(),
        fresh: bool = False,
    ) -> ContractSession:
        """Open a session, from a task or from the other arguments.

        Args:
            task: Gives caller, clock, patch, hidden tools and planted faults, and overrides the other arguments.
            caller: Key of the person who is signed in; None if nobody is.
            now: The clock, `YYYY-MM-DD HH:MM:SS`; None for the world's clock.
            patch: Row changes to make to the world's database before the session begins.
            hidden: Names of tools that the session does not offer.
            fresh: Whether it finds out everything itself, also where others share what they find out.

        Raises:
            WorldError: The caller is not in the data, the clock has another form, or the patch does not fit.
        """
        if task is not None:
            caller = task.env_variables.LOGGED_IN_USER if task.login == "session" else None
            now, patch, hidden = task.now, task.initial_state.patch, frozenset(task.tools_hidden)
        noise = ToolNoise(task.noise) if task is not None and task.noise is not None else None
        clock = self.now if now is None else now
        state = State(self, patch, None if fresh else self.states)
        return ContractSession(state, caller=caller, now=clock, hidden=hidden, noise=noise)

    def close(self) -> None:
        """Close the database copies that no session holds."""
        self.pool.close()

    @cached_property
    def digest(self) -> str:
        """sha256 of all that sessions depend on: the content of the database file, and the blueprint."""
        return digest_bytes(self.content + self.blueprint.model_dump_json().encode())

    @cached_property
    def callers(self) -> list[str]:
        """Keys of the people who have an account in each of the world's domains, sorted."""
        accounts = [role.account for role in self.blueprint.roles]
        rows = self._originals[self.people.table]
        return sorted(key for key, row in rows.items() if all(row[account] is not None for account in accounts))

    def row_of(self, caller: str, tool: str) -> Row | None:
        """A person's original row, with the columns that the domain of a tool knows.

        Args:
            caller: The person's key.
            tool: A tool of the domain. KeyError if there is no such tool.

        Returns:
            The person's row; None if the person has no account in that domain.
        """
        role = self.role(tool)
        account = (self.original(self.people.table, caller) or {}).get(role.account)
        if account is None:
            return None
        with self.pool.lent() as copy:
            return read_row(copy.connection, reader_of(role.entity), str(account))

    def person_of(self, column: str, key: str) -> str | None:
        """The person who has a key in a domain, in the original database.

        Args:
            column: The column of the core entity that holds that domain's keys.
            key: The key in that domain.

        Returns:
            The person's own key; None if nobody has that key.
        """
        return self._persons[column].get(key)

    @cached_property
    def person_columns(self) -> PersonColumns:
        """The columns that name persons."""
        core, accounts = self.blueprint.core, {role.own.name: role.account for role in self.blueprint.roles}
        found = {
            entity.table: {
                column.name: accounts[target]
                for column in entity.attributes
                if (target := (column.references or "").partition(".")[0]) in accounts
            }
            for entity in self.blueprint.tables
        }
        keys = {role.own.table: {role.key: role.account} for role in self.blueprint.roles}
        for table, accounts_of in {core.table: {core.key: core.key}, **keys}.items():
            found[table] = {**accounts_of, **found[table]}
        return found

    @cached_property
    def _persons(self) -> dict[str, dict[str, str]]:
        """Column of the core entity -> key that it holds -> the person's own key."""
        rows = self._originals[self.people.table]
        columns = [self.people.key, *(role.account for role in self.blueprint.roles)]
        return {column: {str(row[column]): key for key, row in rows.items()} for column in columns}
