"""The parts of a server's source that its contract fixes: its registry, and the head of each tool's function.

A model is given them to copy. The offline author writes them itself.
"""

import json
import textwrap

from skillweave.schema.blueprint import Blueprint, FusedBlueprint
from skillweave.schema.contract import Parameter, Tool
from skillweave.world import database
from skillweave.world.ids import minted_by, prefix_of
from skillweave.world.lineage import ColumnLineage
from skillweave.world.sql import parse
from skillweave.world.tools import parameters_schema

BODY_WIDTH = 116
"""Characters of a line inside a function, which is indented by four."""


def string(text: str) -> str:
    """`text` as a string literal on one line, in double quotes."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\x7f")


def strings(text: str, width: int) -> list[str]:
    """`text` as string literals that Python joins, one for each line of `width` characters."""
    if len(string(text)) < width:
        return [string(text)]
    pieces = textwrap.wrap(text, width - 8, drop_whitespace=False, break_on_hyphens=False, break_long_words=False)
    whole = "".join(pieces) == text and all(json.dumps(piece)[1:-1].isprintable() for piece in pieces)
    return [string(piece) for piece in pieces] if whole and len(pieces) > 1 else [string(text)]


LINE_WIDTH = 120
"""Characters of a line at the top level."""
PYTHON = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "date": "Date",
    "datetime": "Moment",
    "array": "list[Any]",
    "object": "dict[str, Any]",
}


def registry(blueprint: Blueprint, now: str) -> list[str]:
    """The lines of `server = Server(...)`. `now` is the clock of a session that is opened without a task."""
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
    """The rules' numbers, as many on each line as fit."""
    flat = f"    rules=[{', '.join(map(string, numbers))}],"
    if len(flat) <= LINE_WIDTH:
        return [flat]
    rows = textwrap.wrap(" ".join(f"{string(number)}," for number in numbers), LINE_WIDTH - 8)
    return ["    rules=[", *(f"        {row}" for row in rows), "    ],"]


def _wrapped(opening: str, parts: list[str], closing: str, indent: int) -> list[str]:
    """A literal on one line if it fits, else one part on each line."""
    margin = " " * indent
    flat = f"{margin}{opening}{', '.join(parts)}{closing}"
    return (
        [flat]
        if len(flat) <= LINE_WIDTH
        else [margin + opening, *(f"{margin}    {part}," for part in parts), margin + closing]
    )


def _people(fused: FusedBlueprint) -> list[str]:
    """The persons whom the domains share, with each domain's account, table and view of them."""
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


def function_head(blueprint: Blueprint, tool: Tool) -> list[str]:
    """The lines of a tool's decorator, signature and docstring. Its body is indented by four."""
    is_docstring = _fits_docstring(tool.description)
    given = [string(tool.kind), *([] if is_docstring else [string(tool.description)]), *_member(blueprint, tool)]
    decorator = f"@server.tool({', '.join(given)})"
    return [decorator, *_signature(tool), *(f"    {line}".rstrip() for line in _docstring(tool, is_docstring))]


def booleans(blueprint: Blueprint, tool: Tool) -> list[str]:
    """The result columns that are returned as true or false, by the names that SQLite gives them."""
    flags = ColumnLineage(blueprint).booleans(tool.returns.select, tool)
    if not any(flags):
        return []
    connection = database.create(blueprint)
    try:
        cursor = connection.execute(tool.returns.select, dict.fromkeys(parse(tool.returns.select).bindings))
        return [column[0] for column, flag in zip(cursor.description, flags, strict=True) if flag]
    finally:
        connection.close()


def _member(blueprint: Blueprint, tool: Tool) -> list[str]:
    """The argument that names the tool's domain, in a world of several."""
    if not isinstance(blueprint, FusedBlueprint):
        return []
    return [f"member={string(blueprint.member_of(tool.name).namespace)}"]


def _signature(tool: Tool) -> list[str]:
    result = "Row" if tool.returns.rows == "one" else "list[Row]"
    if not tool.parameters:
        return [f"def {tool.name}(db: ServerSession) -> {result}:"]
    lines = [line for parameter in tool.parameters for line in _parameter(tool, parameter)]
    return [f"def {tool.name}(", "    db: ServerSession,", "    *,", *lines, f") -> {result}:"]


def _parameter(tool: Tool, parameter: Parameter) -> list[str]:
    schema = parameters_schema(tool)["properties"]
    property_ = schema[parameter.name] if isinstance(schema, dict) else None
    description = str(property_["description"]) if isinstance(property_, dict) else ""
    kind = PYTHON[parameter.type]
    if parameter.enum is not None:
        kind = f"Literal[{', '.join(string(value) for value in parameter.enum)}]"
    kind, default = (kind, "") if parameter.required else (f"{kind} | None", " = None")
    flat = f"    {parameter.name}: Annotated[{kind}, {string(description)}]{default},"
    if len(flat) <= BODY_WIDTH + 4:
        return [flat]
    lines = [f"        {line}" for line in strings(description, BODY_WIDTH)]
    return [f"    {parameter.name}: Annotated[", f"        {kind},", *lines[:-1], f"{lines[-1]},", f"    ]{default},"]


def _fits_docstring(description: str) -> bool:
    """Whether a docstring can hold the description unchanged."""
    return (
        " ".join(description.split()) == description and not set('\\"') & set(description) and description.isprintable()
    )


def _docstring(tool: Tool, is_docstring: bool) -> list[str]:
    left = {guard.rule: guard.says for guard in tool.guards if guard.enforced_by == "agent"}
    text = tool.description if is_docstring else f"The tool {tool.name}."
    lines = textwrap.wrap(text, BODY_WIDTH - 6, break_on_hyphens=False)
    if left:
        lines += ["", "Left to the agent, and carried out all the same:"]
        for rule, says in left.items():
            safe = says.replace("\\", "\\\\").replace('"""', "'''")
            lines += textwrap.wrap(f"- {rule}: {safe}", BODY_WIDTH, subsequent_indent="  ", break_on_hyphens=False)
    if len(lines) == 1:
        return [f'"""{lines[0]}"""']
    return [f'"""{lines[0]}', *lines[1:], '"""']
