"""The parts of a server's source that its contract fixes: its registry, and the head of each tool's function.

An author is given them to copy; the built-in author writes them itself.
"""

import textwrap

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import Parameter, Tool
from skillweave.schema.fused import FusedBlueprint
from skillweave.world import database
from skillweave.world.ids import minted_by, prefix_of
from skillweave.world.lineage import Lineage
from skillweave.world.sql import parse
from skillweave.world.tools import parameters_schema
from synth.codegen.literals import WIDTH, string, strings

LINE = 120
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
    """The lines of `server = Server(...)`."""
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
    if len(flat) <= LINE:
        return [flat]
    rows = textwrap.wrap(" ".join(f"{string(number)}," for number in numbers), LINE - 8)
    return ["    rules=[", *(f"        {row}" for row in rows), "    ],"]


def _wrapped(opening: str, parts: list[str], closing: str, indent: int) -> list[str]:
    """A literal on one line where it fits, else a part a line."""
    margin = " " * indent
    flat = f"{margin}{opening}{', '.join(parts)}{closing}"
    return (
        [flat]
        if len(flat) <= LINE
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


def function_head(blueprint: Blueprint, tool: Tool) -> list[str]:
    """Decorator, signature and docstring of a tool's function; its body is indented by four."""
    described = _plain(tool.description)
    given = [string(tool.kind), *([] if described else [string(tool.description)]), *_member(blueprint, tool)]
    decorator = f"@server.tool({', '.join(given)})"
    return [decorator, *_signature(tool), *(f"    {line}".rstrip() for line in _docstring(tool, described))]


def booleans(blueprint: Blueprint, tool: Tool) -> list[str]:
    """Result columns that come back as true or false, by the names that SQLite gives them."""
    flags = Lineage(blueprint).booleans(tool.returns.select, tool)
    if not any(flags):
        return []
    connection = database.create(blueprint)
    try:
        cursor = connection.execute(tool.returns.select, dict.fromkeys(parse(tool.returns.select).bindings))
        return [column[0] for column, flag in zip(cursor.description, flags, strict=True) if flag]
    finally:
        connection.close()


def _member(blueprint: Blueprint, tool: Tool) -> list[str]:
    """Whose tool it is, in a world of several domains."""
    if not isinstance(blueprint, FusedBlueprint):
        return []
    return [f"member={string(blueprint.member_of(tool.name).namespace)}"]


def _signature(tool: Tool) -> list[str]:
    result = "Row" if tool.returns.rows == "one" else "list[Row]"
    if not tool.parameters:
        return [f"def {tool.name}(db: Session) -> {result}:"]
    lines = [line for parameter in tool.parameters for line in _parameter(tool, parameter)]
    return [f"def {tool.name}(", "    db: Session,", "    *,", *lines, f") -> {result}:"]


def _parameter(tool: Tool, parameter: Parameter) -> list[str]:
    schema = parameters_schema(tool)["properties"]
    described = schema[parameter.name] if isinstance(schema, dict) else None
    description = str(described["description"]) if isinstance(described, dict) else ""
    kind = PYTHON[parameter.type]
    if parameter.enum is not None:
        kind = f"Literal[{', '.join(string(value) for value in parameter.enum)}]"
    kind, default = (kind, "") if parameter.required else (f"{kind} | None", " = None")
    flat = f"    {parameter.name}: Annotated[{kind}, {string(description)}]{default},"
    if len(flat) <= WIDTH + 4:
        return [flat]
    lines = [f"        {line}" for line in strings(description, WIDTH)]
    return [f"    {parameter.name}: Annotated[", f"        {kind},", *lines[:-1], f"{lines[-1]},", f"    ]{default},"]


def _plain(description: str) -> bool:
    """Whether a docstring can hold the description as it is."""
    return (
        " ".join(description.split()) == description and not set('\\"') & set(description) and description.isprintable()
    )


def _docstring(tool: Tool, described: bool) -> list[str]:
    left = {guard.rule: guard.says for guard in tool.guards if guard.enforced_by == "agent"}
    text = tool.description if described else f"The tool {tool.name}."
    lines = textwrap.wrap(text, WIDTH - 6, break_on_hyphens=False)
    if left:
        lines += ["", "Left to the agent, and carried out all the same:"]
        for rule, says in left.items():
            safe = says.replace("\\", "\\\\").replace('"""', "'''")
            lines += textwrap.wrap(f"- {rule}: {safe}", WIDTH, subsequent_indent="  ", break_on_hyphens=False)
    if len(lines) == 1:
        return [f'"""{lines[0]}"""']
    return [f'"""{lines[0]}', *lines[1:], '"""']
