"""Hints: arguments that a search would hardly come upon, as a tool's own contract knows another domain's as mere text.

A text that a bridge rule compares with keys of another domain names such a row; one that it compares with a company's
name is that name; a day that it compares with a row's is that row's.
"""

from collections.abc import Mapping

from skillweave.schema.contract import Parameter, Tool
from skillweave.schema.fused import BridgeRule, FusedBlueprint
from skillweave.schema.record import Row, Value
from skillweave.world.session import ContractSession
from synth.planner.search import Arguments
from synth.planner.slots import bindings, slots

DAYS = 4
"""Days of one row that are tried."""


def pointed(tool: Tool, rule: BridgeRule, fused: FusedBlueprint) -> Tool:
    """The tool with its texts as a bridge rule takes them: as keys of other domains' rows, or names of companies."""
    keys = _keys(fused)
    titles = _titles(rule, fused)
    known = slots(tool)

    def told(parameter: Parameter) -> Parameter:
        if not _is_text(parameter) or parameter.name not in bindings(rule.holds):
            return parameter
        targets = [keys[column] for column in known[parameter.name].columns if column in keys]
        if targets:
            return parameter.model_copy(update={"refers_to": targets[0]})
        return parameter.model_copy(update={"examples": [*titles, *parameter.examples]}) if titles else parameter

    parameters = [told(parameter) for parameter in tool.parameters]
    changed = {old.name for old, new in zip(tool.parameters, parameters, strict=True) if old != new}
    examples = [] if any(changed & row.keys() for row in tool.examples) else tool.examples
    return tool.model_copy(update={"parameters": parameters, "examples": examples}) if changed else tool


def fits(
    session: ContractSession, tool: Tool, other: Tool, arguments: Arguments, rule: BridgeRule, fused: FusedBlueprint
) -> list[dict[str, Value]]:
    """Arguments of a tool that go with a call of another one: the same rows, the days of those, the company's name."""
    columns, keys = _columns(rule), _keys(fused)
    named = {
        str(parameter.refers_to): arguments[parameter.name]
        for parameter in other.parameters
        if parameter.refers_to and arguments.get(parameter.name) is not None
    }
    fixed: dict[str, Value] = {
        name: named[keys[column]]
        for name, slot in slots(tool).items()
        for column in slot.columns
        if keys.get(column) in named
    }
    titles = _titles(rule, fused)
    for parameter in tool.parameters:
        if titles and parameter.name not in fixed and _is_text(parameter) and parameter.name in columns:
            fixed[parameter.name] = titles[0]
    dates = [one.name for one in tool.parameters if one.type == "date" and one.name in columns]
    if not dates:
        return [fixed]
    return [{**fixed, dates[0]: day} for day in _days(session, named, fused)[:DAYS]]


def _columns(rule: BridgeRule) -> frozenset[str]:
    """Words of a rule's condition: its columns and bindings among them."""
    return frozenset("".join(sign if sign.isalnum() or sign == "_" else " " for sign in rule.holds).split())


def _titles(rule: BridgeRule, fused: FusedBlueprint) -> list[str]:
    return [member.title for member in fused.members if member.title.replace("'", "''") in rule.holds]


def _is_text(parameter: Parameter) -> bool:
    return parameter.type == "string" and parameter.enum is None and parameter.refers_to is None


def _keys(fused: FusedBlueprint) -> dict[tuple[str, str], str]:
    """(table, column) -> `Entity.attribute` of the key that it holds."""
    found = {}
    for entity in fused.tables:
        for attribute in entity.attributes:
            if attribute.name == entity.key:
                found[entity.table, attribute.name] = f"{entity.name}.{entity.key}"
            elif attribute.references:
                found[entity.table, attribute.name] = attribute.references
    return found


def _days(session: ContractSession, named: Mapping[str, Value], fused: FusedBlueprint) -> list[str]:
    """The days in the rows of these keys, and in the rows that those refer to; `named` are by `Entity.attribute`."""
    found: list[str] = []
    for reference, key in named.items():
        entity, _ = fused.target(reference)
        for row in _rows(session, reference, key, fused):
            found += _days_in(row)
            for attribute in entity.attributes:
                if attribute.references and row[attribute.name] is not None:
                    for near in _rows(session, attribute.references, row[attribute.name], fused):
                        found += _days_in(near)
    return list(dict.fromkeys(found))


def _rows(session: ContractSession, reference: str, key: object, fused: FusedBlueprint) -> list[Row]:
    entity, attribute = fused.target(reference)
    return session.query(f"SELECT * FROM {entity.table} WHERE {attribute.name} = :key", {"key": str(key)})


def _days_in(row: Row) -> list[str]:
    texts = [value for value in row.values() if isinstance(value, str) and len(value) in (10, 19)]
    return [text[:10] for text in texts if text[4:5] == "-" and text[7:8] == "-"]
