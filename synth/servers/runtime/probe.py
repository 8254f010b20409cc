"""Runs in the sandbox beside a server: puts cases to its sessions and prints what they answered, one JSON line each.

The first line lists the tools that the server offers, or says, as a string, why it does not start. The engine never
imports this file.
"""

import importlib
import json
import sqlite3
import sys
import traceback
from pathlib import Path
from typing import Any

Cells = tuple[Any, ...]
Changes = dict[str, dict[str, dict[str, Any] | None]]
HARMLESS = (
    sqlite3.SQLITE_INSERT,
    sqlite3.SQLITE_UPDATE,
    sqlite3.SQLITE_DELETE,
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_READ,
    sqlite3.SQLITE_FUNCTION,
    sqlite3.SQLITE_TRANSACTION,
    sqlite3.SQLITE_SAVEPOINT,
)
SHARED = "file:/probe?vfs=memdb"
"""A database in memory that the connections of this process share; it is gone when the last is closed."""


def main() -> None:
    """Read cases from standard input until it ends."""
    out = sys.stdout
    sys.stdout = sys.stderr
    given = json.loads(sys.stdin.readline())
    runtime = importlib.import_module("_runtime")
    database = Path("world.sqlite").read_bytes()
    try:
        server = importlib.import_module(given["server"]).server
        opened = server.session(runtime.ServerState(database, given["now"]))
        tools = [[tool.name, tool.description, tool.schema()] for tool in opened.tools.values()]
    except Exception as fault:
        print(json.dumps(start_failure(fault, given["server"])), file=out, flush=True)
        return
    print(json.dumps(tools), file=out, flush=True)
    copy: WatchedCopy | None = None
    for line in sys.stdin:
        case = json.loads(line)
        copy = copy or WatchedCopy(database, server.people)
        copy.begin(case["patch"])
        state = runtime.ServerState(database, case["now"], case["caller"], case["patch"], opened=copy.connection)
        session = server.session(state)
        answers, faults = [], []
        for tool, arguments in case["calls"]:
            answers.append(session.call(tool, arguments))
            faults.append(session.fault)
        print(json.dumps([answers, copy.changes(), faults]), file=out, flush=True)
        copy = copy if copy.restore() else None


def start_failure(fault: Exception, server: str) -> str:
    """Why a server does not start, with the line of its file."""
    lines = [frame.lineno for frame in traceback.extract_tb(fault.__traceback__) if Path(frame.filename).stem == server]
    return f"{f'line {lines[-1]}: ' if lines else ''}{type(fault).__name__}: {fault}"


class WatchedCopy:
    """A copy of the database for one case after another, each on the same rows. Triggers note the rows that change.

    Two connections share it: the server's, and one that checks no references, for the rows that come before a case and
    after it. Neither has to change its settings, so statements stay prepared from case to case. A case whose statements
    do more than read and write rows gets all rows compared, and its copy is not used again.
    """

    def __init__(self, database: bytes, people: Any) -> None:
        # All statements of a server and of its cases stay prepared; by default only 128 would.
        kept: dict[str, Any] = {"uri": True, "isolation_level": None, "cached_statements": 1024}
        self.connection, self.unchecked = (sqlite3.connect(SHARED, **kept) for _ in range(2))
        content = sqlite3.connect(":memory:")
        content.deserialize(database)
        content.backup(self.unchecked)
        content.close()
        connection = self.connection
        connection.execute("PRAGMA foreign_keys = ON")
        self.state = importlib.import_module("_state")
        found = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").fetchall()
        self.columns: dict[str, list[str]] = {}
        self.rows: dict[str, dict[Any, Cells]] = {}
        """Table and key -> the row that all cases begin with."""
        self.patched: dict[tuple[str, Any], Cells | None] = {}
        self.is_spoiled = False
        connection.execute("CREATE TEMP TABLE probe__touched (name TEXT, key)")
        for (table,) in found:
            cursor = connection.execute(f"SELECT * FROM {table}")
            self.columns[table] = [column[0] for column in cursor.description]
            self.rows[table] = {row[0]: row for row in cursor}
            for event, sides in (("INSERT", ["NEW"]), ("UPDATE", ["OLD", "NEW"]), ("DELETE", ["OLD"])):
                notes = [f"INSERT INTO probe__touched VALUES ('{table}', {s}.{self.columns[table][0]});" for s in sides]
                name = f"probe__{event}_{table}"
                connection.execute(f"CREATE TEMP TRIGGER {name} AFTER {event} ON {table} BEGIN {' '.join(notes)} END")
        if people is not None:
            people.make_views(connection, self.columns)
        # Setting it anew would have all statements prepared anew.
        connection.set_authorizer(self.note)

    def note(self, action: int, *_: object) -> int:
        """Told of all that a statement may do, before it does it."""
        self.is_spoiled = self.is_spoiled or action not in HARMLESS
        return sqlite3.SQLITE_OK

    def begin(self, patch: list[dict[str, Any]]) -> None:
        """Begin a case: change these rows."""
        self.unchecked.execute("BEGIN")
        for change in self.state.in_order(patch):
            self.state.apply_change(self.unchecked, self.columns, change)
        self.unchecked.execute("COMMIT")
        places = [(change["table"], next(iter(change["key"].values()))) for change in patch]
        self.patched = {place: self.row(*place) for place in places}
        self.connection.execute("DELETE FROM probe__touched")
        self.is_spoiled = False

    def row(self, table: str, key: Any) -> Cells | None:
        """A row as it is now."""
        where = f"{self.columns[table][0]} = ?"
        found: Cells | None = self.connection.execute(f"SELECT * FROM {table} WHERE {where}", (key,)).fetchone()
        return found

    def touched(self) -> set[tuple[str, Any]]:
        """Table and key of the rows that may have changed since the case began."""
        if not self.is_spoiled:
            return {*self.connection.execute("SELECT name, key FROM probe__touched")}
        now = ((table, row[0]) for table in self.columns for row in self.connection.execute(f"SELECT * FROM {table}"))
        return {*now, *((table, key) for table, rows in self.rows.items() for key in rows)}

    def changes(self) -> Changes:
        """Row changes, `table key` to the columns that differ; whole rows where one was made or deleted."""
        found: Changes = {}
        for table, key in sorted(self.touched(), key=lambda place: (place[0], str(place[1]))):
            old = self.patched[table, key] if (table, key) in self.patched else self.rows[table].get(key)
            new = self.row(table, key)
            if old != new:
                found[f"{table} {key}"] = row_difference(self.columns[table], old, new)
        return found

    def restore(self) -> bool:
        """End a case: have the rows again that all cases begin with. False if the copy may not be used again."""
        if self.is_spoiled:
            self.connection.close()
            self.unchecked.close()
            return False
        places = {*self.touched(), *self.patched}
        self.unchecked.execute("BEGIN")
        # All go before any returns: a row that is new may hold a value that must be unique.
        for table, key in places:
            self.unchecked.execute(f"DELETE FROM {table} WHERE {self.columns[table][0]} = ?", (key,))
        for table, key in places:
            row = self.rows[table].get(key)
            if row is not None:
                self.unchecked.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)
        self.unchecked.execute("COMMIT")
        return True


def row_difference(names: list[str], left: Cells | None, right: Cells | None) -> dict[str, dict[str, Any] | None]:
    """How one row differs."""
    apart = [n for n in range(len(names)) if left is None or right is None or left[n] != right[n]]
    return {
        "before": None if left is None else {names[n]: left[n] for n in apart},
        "after": None if right is None else {names[n]: right[n] for n in apart},
    }


if __name__ == "__main__":
    main()
