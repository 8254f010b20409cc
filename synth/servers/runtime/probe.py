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
WRITES = (sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE)
HARMLESS = (
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_READ,
    sqlite3.SQLITE_FUNCTION,
    sqlite3.SQLITE_TRANSACTION,
    sqlite3.SQLITE_SAVEPOINT,
)


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
    origin = OriginalRows(database)
    for line in sys.stdin:
        case = json.loads(line)
        session = server.session(runtime.ServerState(database, case["now"], case["caller"], case["patch"]))
        watch = ChangeRecorder(session.connection, origin, case["patch"])
        answers, faults = [], []
        for tool, arguments in case["calls"]:
            answers.append(session.call(tool, arguments))
            faults.append(session.fault)
        changes = watch.changes()
        session.connection.close()
        print(json.dumps([answers, changes, faults]), file=out, flush=True)


def start_failure(fault: Exception, server: str) -> str:
    """Why a server does not start, with the line of its file."""
    lines = [frame.lineno for frame in traceback.extract_tb(fault.__traceback__) if Path(frame.filename).stem == server]
    return f"{f'line {lines[-1]}: ' if lines else ''}{type(fault).__name__}: {fault}"


class OriginalRows:
    """The rows of the database that all sessions begin with: table and key to the row."""

    def __init__(self, database: bytes) -> None:
        connection = sqlite3.connect(":memory:")
        connection.deserialize(database)
        found = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").fetchall()
        self.columns: dict[str, list[str]] = {}
        self.rows: dict[str, dict[Any, Cells]] = {}
        for (table,) in found:
            cursor = connection.execute(f"SELECT * FROM {table}")
            self.columns[table] = [column[0] for column in cursor.description]
            self.rows[table] = {row[0]: row for row in cursor}
        connection.close()


class ChangeRecorder:
    """What a session changes: only tables that one of its statements may write to are looked at in the end."""

    def __init__(self, connection: sqlite3.Connection, origin: OriginalRows, patch: list[dict[str, Any]]) -> None:
        self.connection, self.origin = connection, origin
        self.written: set[str] = set()
        self.patched: dict[str, dict[Any, Cells | None]] = {}
        for change in patch:
            table, (column, key) = change["table"], next(iter(change["key"].items()))
            row = connection.execute(f"SELECT * FROM {table} WHERE {column} = ?", (key,)).fetchone()
            self.patched.setdefault(table, {})[key] = row
        self.start = connection.total_changes
        connection.set_authorizer(self.note)

    def note(self, action: int, first: str | None, *_: object) -> int:
        """Told of all that a statement may do, before it does it."""
        if action in WRITES:
            self.written.add(str(first))
        elif action not in HARMLESS:
            self.written.update(self.origin.columns)
        return sqlite3.SQLITE_OK

    def changes(self) -> Changes:
        """Row changes, `table key` to the columns that differ; whole rows where one was made or deleted."""
        found: Changes = {}
        self.connection.set_authorizer(None)
        if self.connection.total_changes == self.start:
            return found
        for table in sorted(self.written & set(self.origin.columns)):
            names, old = self.origin.columns[table], self.origin.rows[table]
            if table in self.patched:
                merged = {**old, **self.patched[table]}
                old = {key: row for key, row in merged.items() if row is not None}
            new = {row[0]: row for row in self.connection.execute(f"SELECT * FROM {table}")}
            apart = [key for key, row in new.items() if old.get(key) != row]
            for key in sorted([*apart, *(old.keys() - new.keys())], key=str):
                found[f"{table} {key}"] = row_difference(names, old.get(key), new.get(key))
        return found


def row_difference(names: list[str], left: Cells | None, right: Cells | None) -> dict[str, dict[str, Any] | None]:
    """How one row differs."""
    apart = [n for n in range(len(names)) if left is None or right is None or left[n] != right[n]]
    return {
        "before": None if left is None else {names[n]: left[n] for n in apart},
        "after": None if right is None else {names[n]: right[n] for n in apart},
    }


if __name__ == "__main__":
    main()
