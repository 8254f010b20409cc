"""The source of a server, compiled from its contract.

Each tool becomes a function that a reader can follow beside the policy. It is the contract in other words, so proving
it equal to the contract shows this compiler right, and nothing about the contract.
"""

from textwrap import wrap

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.fused import FusedBlueprint
from skillweave.world.ids import minted_by, prefix_of
from synth.offline.coding.function import write_function
from synth.offline.coding.literals import string

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
        *_server(blueprint, now),
    ]
    return "\n".join(lines)


def _server(blueprint: Blueprint, now: str) -> list[str]:
    minted = {
        entity.table: prefix_of(entity) for tool in blueprint.tools for entity in minted_by(tool, blueprint).values()
    }
    ids = [f"{string(table)}: {string(prefix)}" for table, prefix in sorted(minted.items())]
    rules = _rules(blueprint.rules)
    return [
        "server = Server(",
        f"    {string(blueprint.server)},",
        f"    now={string(now)},",
        *_wrapped("ids={", ids, "},", 4),
        *rules,
        *(_people(blueprint) if isinstance(blueprint, FusedBlueprint) else []),
        ")" if len(rules) == 1 else ")  # fmt: skip",
    ]


def _rules(numbers: list[str]) -> list[str]:
    """The rules' numbers, as many on a line as fit."""
    flat = f"    rules=[{', '.join(map(string, numbers))}],"
    if len(flat) <= WIDTH:
        return [flat]
    rows = wrap(" ".join(f"{string(number)}," for number in numbers), WIDTH - 8)
    return ["    rules=[", *(f"        {row}" for row in rows), "    ],"]


def _wrapped(opening: str, parts: list[str], closing: str, indent: int) -> list[str]:
    """A literal on one line where it fits, else a part a line."""
    margin = " " * indent
    flat = f"{margin}{opening}{', '.join(parts)}{closing}"
    return (
        [flat]
        if len(flat) <= WIDTH
        else [margin + opening, *(f"{margin}    {part}," for part in parts), margin + closing]
    )


def _people(fused: FusedBlueprint) -> list[str]:
    """The persons whom the domains share, and what each of them calls theirs."""
    lines = ["    people=People(", f"        {string(fused.core.table)},", f"        key={string(fused.core.key)},"]
    lines.append("        members={")
    for member, view in zip(fused.members, fused.people, strict=True):
        named = {"account": member.account, "table": view.own, "view": view.entity.table}
        columns = [string(attribute.name) for attribute in view.entity.attributes]
        lines += [
            f"            {string(member.namespace)}: Member(",
            f"{' ' * 16}{string(member.title)},",
            *(f"{' ' * 16}{name}={string(value)}," for name, value in named.items()),
            *_wrapped("columns=[", columns, "],", 16),
            "            ),",
        ]
    return [*lines, "        },", "    ),"]


def _tail() -> str:
    return 'if __name__ == "__main__":\n    server.run()'
