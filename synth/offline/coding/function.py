"""One tool as one Python function: signature, docstring, refusals, effects, result."""

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import Tool
from skillweave.world.ids import minted_by
from synth.codegen.literals import string
from synth.codegen.skeleton import booleans, function_head
from synth.offline.coding.expression import bound
from synth.offline.coding.guard import Line, write_guard
from synth.offline.coding.literals import call
from synth.offline.coding.scope import Scope, stem_of
from synth.offline.coding.tokens import tokens_of


def write_function(blueprint: Blueprint, tool: Tool) -> list[str]:
    """The lines of the tool's function, decorator first."""
    body = [line for text in _body(blueprint, tool) for line in ([text] if isinstance(text, str) else text.statement())]
    return [*function_head(blueprint, tool), *(f"    {line}".rstrip() for line in body)]


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
    flags = booleans(blueprint, tool)
    arguments = [*([f"[{', '.join(string(flag) for flag in flags)}]"] if flags else []), *bound(tokens_of(select))]
    if tool.kind != "auth":
        return call("return db.only(" if tool.returns.rows == "one" else "return db.all(", select, arguments, ")")
    role = blueprint.role(tool.name)
    person = scope.name(stem_of(role.own))
    signed_in = f'db.sign_in({person}["{role.key}"])'
    return [*call(f"{person} = db.only(", select, arguments, ")"), signed_in, f"return {person}"]
