"""Runs in the sandbox beside a server: puts cases to its sessions, one JSON line each, and tells what they answered.

The first line tells the tools that the server offers.
"""

import importlib
import json
import sqlite3
import sys
from pathlib import Path
from typing import Any

Changes = dict[str, dict[str, dict[str, Any] | None]]


def main() -> None:
    """Read cases from standard input until it ends."""
    out = sys.stdout
    sys.stdout = sys.stderr
    given = json.loads(sys.stdin.readline())
    server = importlib.import_module(given["server"]).server
    runtime = importlib.import_module("_runtime")
    database = Path("world.sqlite").read_bytes()
    opened = server.session(runtime.State(database, given["now"]))
    tools = [[tool.name, tool.description, tool.schema()] for tool in opened.tools.values()]
    print(json.dumps(tools), file=out, flush=True)
    for line in sys.stdin:
        case = json.loads(line)
        session = server.session(runtime.State(database, case["now"], case["caller"], case["patch"]))
        before, start = session.connection.serialize(), session.connection.total_changes
        answers = [session.call(tool, arguments) for tool, arguments in case["calls"]]
        changed = session.connection.total_changes != start
        changes = difference(before, session.connection) if changed else {}
        session.connection.close()
        print(json.dumps([answers, changes]), file=out, flush=True)


def difference(before: bytes, after: sqlite3.Connection) -> Changes:
    """Row changes, `table key` to the columns that differ; whole rows where one was made or deleted."""
    origin = sqlite3.connect(":memory:")
    origin.deserialize(before)
    changes: Changes = {}
    for (table,) in after.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").fetchall():
        names, old = rows(origin, table)
        _, new = rows(after, table)
        # Whole tables are compared first: most have not changed.
        if old == new:
            continue
        by_key = [{row[0]: row for row in side} for side in (old, new)]
        for row in sorted(set(old) ^ set(new), key=lambda row: str(row[0])):
            left, right = (side.get(row[0]) for side in by_key)
            apart = [n for n in range(len(names)) if left is None or right is None or left[n] != right[n]]
            changes[f"{table} {row[0]}"] = {
                "before": None if left is None else {names[n]: left[n] for n in apart},
                "after": None if right is None else {names[n]: right[n] for n in apart},
            }
    origin.close()
    return changes


def rows(connection: sqlite3.Connection, table: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """The columns of a table and its rows, which lie in the order of their keys."""
    cursor = connection.execute(f"SELECT * FROM {table}")
    return [column[0] for column in cursor.description], cursor.fetchall()


if __name__ == "__main__":
    main()
