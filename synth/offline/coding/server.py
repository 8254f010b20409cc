"""The source of a server, compiled from its contract.

Each tool becomes a function that a reader can follow beside the policy. It is the contract in other words, so proving
it equal to the contract shows this compiler right, and nothing about the contract.
"""

from skillweave.schema.blueprint import Blueprint
from skillweave.world.ids import minted_by, prefix_of
from synth.offline.coding.function import write_function
from synth.offline.coding.literals import string

DEFAULT_NOW = "2025-01-20 09:00:00"


def write_server(blueprint: Blueprint, now: str = DEFAULT_NOW) -> str:
    """The server's Python source. `now` is the clock of a session that is opened without a task."""
    functions = ["\n".join(write_function(blueprint, tool)) for tool in blueprint.tools]
    return "\n\n\n".join([_head(blueprint, now, "\n".join(functions)), *functions, _tail()]) + "\n"


def _head(blueprint: Blueprint, now: str, functions: str) -> str:
    title = blueprint.title.replace("\\", "").replace('"', "'")
    typed = [name for name in ("Annotated", "Any", "Literal") if f"{name}[" in functions or f"{name}]" in functions]
    used = [name for name in ("Date", "Moment", "Refused", "Row") if name in functions]
    imports = [f"from typing import {', '.join(typed)}\n"] if typed else []
    lines = [
        f'"""The tools of {title}, as an MCP server.',
        "",
        "A tool refuses what breaks its rules; rules that a docstring names as left to the agent are not checked here.",
        '"""',
        "",
        *imports,
        f"from _runtime import {', '.join([*used, 'Server', 'Session'])}",
        "",
        *_server(blueprint, now),
    ]
    return "\n".join(lines)


def _server(blueprint: Blueprint, now: str) -> list[str]:
    minted = {
        entity.table: prefix_of(entity) for tool in blueprint.tools for entity in minted_by(tool, blueprint).values()
    }
    ids = ", ".join(f"{string(table)}: {string(prefix)}" for table, prefix in sorted(minted.items()))
    flat = f"server = Server({string(blueprint.server)}, now={string(now)}, ids={{{ids}}})"
    if len(flat) <= 120:
        return [flat]
    pairs = [f"        {string(table)}: {string(prefix)}," for table, prefix in sorted(minted.items())]
    given = [f"    ids={{{ids}}},"] if len(ids) < 105 else ["    ids={", *pairs, "    },"]
    return ["server = Server(", f"    {string(blueprint.server)},", f"    now={string(now)},", *given, ")"]


def _tail() -> str:
    return 'if __name__ == "__main__":\n    server.run()'
