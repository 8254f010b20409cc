"""One tool as one Python function: signature, docstring, refusals, effects, result."""

import textwrap

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import Parameter, Tool
from skillweave.schema.fused import FusedBlueprint
from skillweave.world import database
from skillweave.world.ids import minted_by
from skillweave.world.lineage import Lineage
from skillweave.world.tools import parameters_schema
from synth.offline.coding.expression import bound
from synth.offline.coding.guard import Line, write_guard
from synth.offline.coding.literals import WIDTH, call, string, strings
from synth.offline.coding.scope import Scope, stem_of
from synth.offline.coding.tokens import tokens_of

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


def write_function(blueprint: Blueprint, tool: Tool) -> list[str]:
    """The lines of the tool's function, decorator first."""
    body = [line for text in _body(blueprint, tool) for line in ([text] if isinstance(text, str) else text.statement())]
    described = _plain(tool.description)
    given = [string(tool.kind), *([] if described else [string(tool.description)]), *_member(blueprint, tool)]
    decorator = f"@server.tool({', '.join(given)})"
    return [decorator, *_signature(tool), *(f"    {line}".rstrip() for line in [*_docstring(tool, described), *body])]


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


def _body(blueprint: Blueprint, tool: Tool) -> list[Line]:
    scope = Scope(blueprint, tool)
    lines: list[Line] = []
    for guard in tool.guards:
        if guard.enforced_by == "tool":
            lines += write_guard(guard, scope)
    minted = minted_by(tool, blueprint)
    if lines and (minted or tool.effects):
        lines.append("")
    lines += [f'{binding} = db.new_id("{entity.table}")' for binding, entity in minted.items()]
    for effect in tool.effects:
        lines += call("db.run(", effect.sql, bound(tokens_of(effect.sql)), ")")
    return [*lines, *_result(blueprint, tool, scope)]


def _result(blueprint: Blueprint, tool: Tool, scope: Scope) -> list[str]:
    select = tool.returns.select
    flags = _booleans(blueprint, tool)
    arguments = [*([f"[{', '.join(string(flag) for flag in flags)}]"] if flags else []), *bound(tokens_of(select))]
    if tool.kind != "auth":
        return call("return db.only(" if tool.returns.rows == "one" else "return db.all(", select, arguments, ")")
    role = blueprint.role(tool.name)
    person = scope.name(stem_of(role.own))
    signed_in = f'db.sign_in({person}["{role.key}"])'
    return [*call(f"{person} = db.only(", select, arguments, ")"), signed_in, f"return {person}"]


def _booleans(blueprint: Blueprint, tool: Tool) -> list[str]:
    """Result columns that come back as true or false, by the names that SQLite gives them."""
    flags = Lineage(blueprint).booleans(tool.returns.select, tool)
    if not any(flags):
        return []
    connection = database.create(blueprint)
    try:
        cursor = connection.execute(tool.returns.select, dict.fromkeys(_names(tool.returns.select)))
        return [column[0] for column, flag in zip(cursor.description, flags, strict=True) if flag]
    finally:
        connection.close()


def _names(sql: str) -> list[str]:
    return [token[1:] for token in tokens_of(sql) if token.startswith(":")]
