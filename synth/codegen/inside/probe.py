"""Runs in the sandbox beside a server: puts cases to its sessions, one JSON line each, and tells what they answered.

The first line tells the tools that the server offers.
"""

import importlib
import json
import sys
from pathlib import Path
from typing import Any

State = dict[str, dict[str, dict[str, Any]]]


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
    original = rows(opened.connection)
    for line in sys.stdin:
        case = json.loads(line)
        session = server.session(runtime.State(database, case["now"], case["caller"], case["patch"]))
        before = rows(session.connection) if case["patch"] else original
        start = session.connection.total_changes
        answers = [session.call(tool, arguments) for tool, arguments in case["calls"]]
        changed = session.connection.total_changes != start
        changes = difference(before, rows(session.connection)) if changed else {}
        session.connection.close()
        print(json.dumps([answers, changes]), file=out, flush=True)


def rows(connection: Any) -> State:
    """All rows by table and key."""
    tables = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
    found: State = {}
    for (table,) in tables:
        cursor = connection.execute(f"SELECT * FROM {table}")
        names = [column[0] for column in cursor.description]
        found[table] = {row[0]: dict(zip(names, row, strict=True)) for row in cursor}
    return found


def difference(before: State, after: State) -> dict[str, Any]:
    """Row changes, `table key` to the columns that differ; whole rows where one was made or deleted."""
    changes = {}
    for table, old in before.items():
        new = after[table]
        for key in old.keys() | new.keys():
            left, right = old.get(key), new.get(key)
            if left == right:
                continue
            if left is not None and right is not None:
                names = [name for name in left if left[name] != right[name]]
                left, right = ({name: side[name] for name in names} for side in (left, right))
            changes[f"{table} {key}"] = {"before": left, "after": right}
    return changes


if __name__ == "__main__":
    main()
