"""Hints: arguments that a search would hardly come upon, as a tool's own contract knows another domain's as mere text.

A text that a bridge rule compares with keys of another domain names such a row; one that it compares with a company's
name is that name; a day that it compares with a row's is that row's.
"""

from collections.abc import Mapping
from itertools import chain

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
    keys = {(entity.table, entity.key): f"{entity.name}.{entity.key}" for entity in fused.tables}
    titles = _titles(rule, fused)
    known = slots(tool)

    def told(parameter: Parameter) -> Parameter:
        if not _is_text(parameter) or parameter.name not in bindings(rule.holds):
            return parameter
        target = next((keys[column] for column in known[parameter.name].columns if column in keys), None)
        if target is not None:
            return parameter.model_copy(update={"refers_to": target})
        return parameter.model_copy(update={"examples": [*titles, *parameter.examples]}) if titles else parameter

    return tool.model_copy(update={"parameters": [told(parameter) for parameter in tool.parameters]})


def fits(
    session: ContractSession, tool: Tool, other: Tool, arguments: Arguments, rule: BridgeRule, fused: FusedBlueprint
) -> list[dict[str, Value]]:
    """Arguments of a tool that go with a call of another one: the same rows, the days of those, the company's name."""
    columns = _columns(rule)
    keys = _named(other, arguments, fused)
    fixed: dict[str, Value] = {
        name: keys[column] for name, slot in slots(tool).items() for column in slot.columns if column in keys
    }
    titles = _titles(rule, fused)
    for parameter in tool.parameters:
        if titles and parameter.name not in fixed and _is_text(parameter) and parameter.name in columns:
            fixed[parameter.name] = titles[0]
    dates = [one.name for one in tool.parameters if one.type == "date" and one.name in columns]
    if not dates:
        return [fixed]
    return [{**fixed, dates[0]: day} for day in _days(session, keys, fused)[:DAYS]]


def _columns(rule: BridgeRule) -> frozenset[str]:
    """Words of a rule's condition: its columns and bindings among them."""
    return frozenset("".join(sign if sign.isalnum() or sign == "_" else " " for sign in rule.holds).split())


def _titles(rule: BridgeRule, fused: FusedBlueprint) -> list[str]:
    return [member.title for member in fused.members if member.title.replace("'", "''") in rule.holds]


def _is_text(parameter: Parameter) -> bool:
    return parameter.type == "string" and parameter.enum is None and parameter.refers_to is None


def _named(tool: Tool, arguments: Arguments, fused: FusedBlueprint) -> dict[tuple[str, str], Value]:
    """(table, key column) -> the key that a call names."""
    found: dict[tuple[str, str], Value] = {}
    for parameter in tool.parameters:
        if parameter.refers_to and arguments.get(parameter.name) is not None:
            entity, attribute = fused.target(parameter.refers_to)
            found[entity.table, attribute.name] = arguments[parameter.name]
    return found


def _days(session: ContractSession, keys: Mapping[tuple[str, str], Value], fused: FusedBlueprint) -> list[str]:
    """The days in the rows of these keys, and in the rows that those refer to."""
    rows = list(chain.from_iterable(_rows(session, table, column, key) for (table, column), key in keys.items()))
    near: list[Row] = []
    for table, row in rows:
        entity = next(one for one in fused.tables if one.table == table)
        for attribute in entity.attributes:
            if attribute.references and row[attribute.name] is not None:
                target, column = fused.target(attribute.references)
                near += [found for _, found in _rows(session, target.table, column.name, row[attribute.name])]
    values = chain.from_iterable(row.values() for row in [*(row for _, row in rows), *near])
    days = [str(value)[:10] for value in values if isinstance(value, str) and _is_day(value)]
    return list(dict.fromkeys(days))


def _rows(session: ContractSession, table: str, column: str, key: object) -> list[tuple[str, Row]]:
    assert isinstance(key, str)
    return [(table, row) for row in session.query(f"SELECT * FROM {table} WHERE {column} = :key", {"key": key})]


def _is_day(value: str) -> bool:
    return len(value) in (10, 19) and value[4:5] == "-" and value[7:8] == "-"
