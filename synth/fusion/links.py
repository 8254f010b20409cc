"""Links between domains: values and states that one gives another, checked on the contracts; and the fused tool graph.

The check shows that both tools exist, that the producer returns or changes what the link names, and that the consumer
can take it. Only execution shows whether a link holds in a story.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from skillweave.schema.blueprint import Blueprint, BridgeRule, FusedBlueprint, FusedMember, FusedTool
from skillweave.schema.contract import Parameter, Tool
from skillweave.schema.entity import Attribute, Entity
from skillweave.schema.fusion import Link, StoryCall, Storyline
from skillweave.schema.template import ToolEdge, ToolGraph
from synth.contracts.visibility import column_origins
from synth.contracts.writes import auth_edges, columns_read, columns_written

ValueType = Literal["money", "time", "key", "text", "number", "flag", "any"]
"""The type of a value, as far as a contract shows it."""

_LINK = re.compile(r"(?:date\()?(?P<call>[0-9]{1,4})\.(?:(?P<row>\w+)\.)?(?P<column>\w+)\)?")
_COMPATIBLE: frozenset[tuple[ValueType, ValueType]] = frozenset(
    {("key", "text"), ("number", "money"), ("money", "number")}
)


class LinkSource(NamedTuple):
    """The source of a linked argument's value."""

    call: int
    """Counted from 1."""
    row: str | None
    """The parameter whose row holds it; None: the call's result holds it."""
    column: str
    is_day: bool
    """Whether to take only the day of a datetime."""


def link_source(link: str) -> LinkSource | None:
    """Parse a link of a story: `2.amount`, `1.fine_id.title`, `date(1.starts_at)`. None if it has another form."""
    match = _LINK.fullmatch(link)
    if match is None or link.startswith("date(") != link.endswith(")"):
        return None
    return LinkSource(int(match["call"]), match["row"], match["column"], link.startswith("date("))


def links_of(story: Storyline, fused: FusedBlueprint) -> Iterator[Link]:
    """The links between domains that a story needs: values, named rows, and bridge rules."""
    rules = {rule.rule: rule for rule in story.bridges}
    for call in story.calls:
        for parameter, link in call.same.items():
            yield from _value_link(story, fused, call, parameter, link)
        for parameter, reference in call.names.items():
            yield from _row_link(fused, call, parameter, reference)
        if call.demanded_by in rules:
            yield from _rule_link(fused, call, rules[call.demanded_by])


def _value_link(story: Storyline, fused: FusedBlueprint, call: StoryCall, parameter: str, link: str) -> Iterator[Link]:
    origin = link_source(link)
    if origin is None or not 1 <= origin.call <= len(story.calls):
        return
    call_linked = story.calls[origin.call - 1]
    producer, owner = call_linked.tool, call_linked.server
    if origin.row is not None:
        owner = call_linked.names.get(origin.row, call_linked.server).partition(".")[0]
        producer = _read_returning(fused, owner, origin.column) or producer
    if owner != call.server:
        yield Link(
            kind="value",
            source=owner,
            producer=producer,
            column=origin.column,
            target=call.server,
            consumer=call.tool,
            parameter=parameter,
            why=story.title,
        )


def _row_link(fused: FusedBlueprint, call: StoryCall, parameter: str, reference: str) -> Iterator[Link]:
    server, _, entity = reference.partition(".")
    key = next((e.key for e in fused.tables if (e.server, e.origin) == (server, entity)), "")  # type: ignore[attr-defined]
    producer = _read_returning(fused, server, key)
    if producer and server != call.server:
        yield Link(
            kind="value",
            source=server,
            producer=producer,
            column=key,
            target=call.server,
            consumer=call.tool,
            parameter=parameter,
            why=f"a {entity} is named",
        )


def _rule_link(fused: FusedBlueprint, call: StoryCall, rule: BridgeRule) -> Iterator[Link]:
    guarded_tool = fused.tool(rule.tool)
    producer = fused.tool(fused.member(call.server).tools[call.tool])
    assert isinstance(guarded_tool, FusedTool)
    column = _shared_column(producer, rule.holds)
    if column and guarded_tool.server != call.server:
        entity, attribute = column
        owner = next(table for table in fused.tables if table.table == entity)
        yield Link(
            kind="rule",
            source=call.server,
            producer=call.tool,
            target=guarded_tool.server,
            consumer=guarded_tool.origin,
            entity=owner.origin,  # type: ignore[attr-defined]
            attribute=attribute,
            why=rule.says,
        )


def _shared_column(producer: Tool, holds: str) -> tuple[str, str | None] | None:
    """A table, and maybe a column of it, that a tool writes and a guard reads; None if there is none."""
    written = columns_written([effect.sql for effect in producer.effects])
    read = columns_read(holds)
    columns = sorted((table, column) for table, column in written & read if column is not None)
    tables = sorted({table for table, column in written if column is None} & {table for table, _ in read})
    if columns:
        return columns[0]
    return (tables[0], None) if tables else None


def _read_returning(fused: FusedBlueprint, server: str, column: str) -> str | None:
    """The first read of a domain that returns a column of this name."""
    for tool in fused.tools:
        if tool.server == server and tool.kind == "read" and column in column_origins(tool):
            return tool.origin
    return None


def link_faults(links: Sequence[Link], blueprints: Mapping[str, Blueprint]) -> list[str]:
    """The faults of links, in words for the author.

    Args:
        blueprints: The contracts of both domains, by server.
    """
    return [f"{link.source} to {link.target}: {fault}" for link in links if (fault := _link_fault(link, blueprints))]


def _link_fault(link: Link, blueprints: Mapping[str, Blueprint]) -> str | None:
    if link.source == link.target or not {link.source, link.target} <= blueprints.keys():
        return f"a link goes from one to the other of {', '.join(sorted(blueprints))}"
    source, target = blueprints[link.source], blueprints[link.target]
    tools = [(source, link.producer), (target, link.consumer)]
    for blueprint, name in tools:
        if name not in {tool.name for tool in blueprint.tools}:
            return f"{blueprint.server} has no tool {name!r}; it has {', '.join(tool.name for tool in blueprint.tools)}"
    producer, consumer = source.tool(link.producer), target.tool(link.consumer)
    if consumer.kind != "write":
        return f"{consumer.name} is a {consumer.kind}; what is needed must be needed by a write"
    if link.kind == "value":
        return _value_fault(link, source, producer, consumer)
    return _rule_fault(link, source, producer)


def _value_fault(link: Link, source: Blueprint, producer: Tool, consumer: Tool) -> str | None:
    origins = column_origins(producer)
    parameter = next((parameter for parameter in consumer.parameters if parameter.name == link.parameter), None)
    if link.column not in origins:
        return f"{producer.name} returns no {link.column!r}; it returns {', '.join(origins)}"
    if parameter is None:
        return f"{consumer.name} takes no {link.parameter!r}"
    attribute = _attribute(source, origins[link.column])
    if attribute is not None and attribute.shared:
        return f"{link.column!r} is the person's own and known to every company"
    type_given, type_taken = _value_type(link.column, attribute, source), _parameter_type(parameter)
    if (
        "any" not in (type_given, type_taken)
        and type_given != type_taken
        and (type_given, type_taken) not in _COMPATIBLE
    ):
        return f"{link.column!r} is {type_given}, and {parameter.name!r} takes {type_taken}"
    return None


def _rule_fault(link: Link, source: Blueprint, producer: Tool) -> str | None:
    entity = next((entity for entity in source.tables if entity.name == link.entity), None)
    if entity is None:
        return f"{source.server} has no entity {link.entity!r}"
    written = columns_written([effect.sql for effect in producer.effects])
    if (entity.table, None) in written or (entity.table, link.attribute) in written:
        return None
    return f"{producer.name} does not change {link.entity}.{link.attribute or 'rows'}"


def _attribute(blueprint: Blueprint, origin: tuple[str, str] | None) -> Attribute | None:
    entity = next((entity for entity in blueprint.tables if origin and entity.table == origin[0]), None)
    return (
        next((attribute for attribute in entity.attributes if origin and attribute.name == origin[1]), None)
        if entity
        else None
    )


def _value_type(column: str, attribute: Attribute | None, blueprint: Blueprint) -> ValueType:
    if column.endswith("_cents") or (attribute and attribute.unit == "cents"):
        return "money"
    if attribute is None:
        return "any"
    if attribute.references or any(_is_key(entity, attribute) for entity in blueprint.tables):
        return "key"
    return _BY_TYPE[attribute.type]


def _is_key(entity: Entity, attribute: Attribute) -> bool:
    return entity.attributes[0] is attribute


def _parameter_type(parameter: Parameter) -> ValueType:
    if parameter.name.endswith("_cents"):
        return "money"
    return "key" if parameter.refers_to else _BY_TYPE.get(parameter.type, "any")


_BY_TYPE: dict[str, ValueType] = {
    "string": "text",
    "integer": "number",
    "number": "number",
    "boolean": "flag",
    "date": "time",
    "datetime": "time",
}


def fused_graph(fused: FusedBlueprint, graphs: Mapping[str, ToolGraph]) -> ToolGraph:
    """The tool graph of a fused world: its domains' graphs under the names that their tools have there.

    Any domain's auth tool signs in for all of them. Other edges stay within their domain, because no parameter refers
    to another domain's rows.

    Args:
        fused: The contract of the fused world.
        graphs: The tool graph of each of its domains, by server.
    """
    edges = [
        _fused_edge(edge, member)
        for member in fused.members
        for edge in graphs[member.server].edges
        if edge.kind != "auth"
    ]
    return ToolGraph(
        server=fused.server,
        tools=[tool.name for tool in fused.tools],
        edges=[*auth_edges(fused), *edges],
    )


def _fused_edge(edge: ToolEdge, member: FusedMember) -> ToolEdge:
    return edge.model_copy(
        update={
            "source": member.tools[edge.source],
            "target": member.tools[edge.target],
            "rule": member.rules[edge.rule] if edge.rule is not None else None,
        }
    )
