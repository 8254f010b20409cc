"""The source of a server, compiled from its contract.

Each tool becomes a function that a reader can follow beside the policy. It is the contract in other words, so proving
it equal to the contract shows this compiler right, and nothing about the contract.
"""

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.fused import FusedBlueprint
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
        *_server(blueprint, now),
    ]
    return "\n".join(lines)


def _server(blueprint: Blueprint, now: str) -> list[str]:
    minted = {
        entity.table: prefix_of(entity) for tool in blueprint.tools for entity in minted_by(tool, blueprint).values()
    }
    ids = ", ".join(f"{string(table)}: {string(prefix)}" for table, prefix in sorted(minted.items()))
    flat = f"server = Server({string(blueprint.server)}, now={string(now)}, ids={{{ids}}})"
    people = _people(blueprint) if isinstance(blueprint, FusedBlueprint) else []
    if len(flat) <= 120 and not people:
        return [flat]
    pairs = [f"        {string(table)}: {string(prefix)}," for table, prefix in sorted(minted.items())]
    given = [f"    ids={{{ids}}},"] if len(ids) < 105 else ["    ids={", *pairs, "    },"]
    return ["server = Server(", f"    {string(blueprint.server)},", f"    now={string(now)},", *given, *people, ")"]


def _people(fused: FusedBlueprint) -> list[str]:
    """The persons whom the domains share, and what each of them calls theirs."""
    lines = ["    people=People(", f"        {string(fused.core.table)},", f"        key={string(fused.core.key)},"]
    lines.append("        members={")
    for member, view in zip(fused.members, fused.people, strict=True):
        named = {"account": member.account, "table": view.own, "view": view.entity.table}
        columns = [string(attribute.name) for attribute in view.entity.attributes]
        flat = f"{' ' * 16}columns=[{', '.join(columns)}],"
        wrapped = [f"{' ' * 16}columns=[", *(f"{' ' * 20}{name}," for name in columns), f"{' ' * 16}],"]
        lines += [
            f"            {string(member.namespace)}: Member(",
            f"{' ' * 16}{string(member.title)},",
            *(f"{' ' * 16}{name}={string(value)}," for name, value in named.items()),
            *([flat] if len(flat) <= 120 else wrapped),
            "            ),",
        ]
    return [*lines, "        },", "    ),"]


def _tail() -> str:
    return 'if __name__ == "__main__":\n    server.run()'
