"""The source of a server, compiled from its contract.

Each tool becomes a function that a reader can follow beside the policy. It is the contract in other words, so proving
it equal to the contract shows this compiler right, and nothing about the contract.
"""

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.fused import FusedBlueprint
from synth.codegen.skeleton import registry
from synth.offline.coding.function import write_function

DEFAULT_NOW = "2025-01-20 09:00:00"
WIDTH = 120


def write_server(blueprint: Blueprint, now: str = DEFAULT_NOW) -> str:
    """The server's Python source. `now` is the clock of a session that is opened without a task."""
    functions = ["\n".join(write_function(blueprint, tool)) for tool in blueprint.tools]
    return "\n\n\n".join([_head(blueprint, now, "\n".join(functions)), *functions, _tail()]) + "\n"


def _head(blueprint: Blueprint, now: str, functions: str) -> str:
    title = blueprint.title.replace("\\", "").replace('"', "'")
    typed = [name for name in ("Annotated", "Any", "Literal") if f"{name}[" in functions or f"{name}]" in functions]
    used = [name for name in ("Date", "Moment", "Refused", "Row") if name in functions]
    imports = [f"from typing import {', '.join(typed)}\n"] if typed else []
    imported = [*used, "Server", "Session"]
    if isinstance(blueprint, FusedBlueprint):
        imported = sorted([*imported, "Member", "People"])
    lines = [
        f'"""The tools of {title}, as an MCP server.',
        "",
        "A tool refuses what breaks its rules; rules that a docstring names as left to the agent are not checked here.",
        '"""',
        "",
        *imports,
        f"from _runtime import {', '.join(imported)}",
        "",
        *registry(blueprint, now),
    ]
    return "\n".join(lines)


def _tail() -> str:
    return 'if __name__ == "__main__":\n    server.run()'
