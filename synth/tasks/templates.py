"""Templates: goals laid over the tool graph, which says how each row that a call needs can be found."""

from collections.abc import Collection, Mapping, Sequence

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import Tool
from skillweave.schema.goal import Goal
from skillweave.schema.template import Source, TaskTemplate, TemplateCall
from skillweave.schema.tool_graph import ToolGraph
from synth.graph.columns import subject


def template(
    goal: Goal, blueprint: Blueprint, graph: ToolGraph, referred_by: Mapping[str, Sequence[str]]
) -> TaskTemplate:
    """The template of a goal."""
    calls = [
        TemplateCall(
            tool=call.tool, same=call.same, found_by=sources_of(blueprint.tool(call.tool), blueprint, graph, call.same)
        )
        for call in goal.calls
    ]
    return TaskTemplate(
        id=f"{blueprint.server}/{goal.name}",
        server=blueprint.server,
        kind=goal.kind,
        title=goal.title,
        calls=calls,
        lookups=lookups_of(blueprint, graph),
        referred_by={read: list(columns) for read, columns in referred_by.items()},
        tell=goal.tell,
        reasons=goal.reasons,
    )


def faults(goal: Goal, blueprint: Blueprint, graph: ToolGraph, columns: Mapping[str, Sequence[str]]) -> list[str]:
    """Why a goal cannot be a template, in words for its author; empty where it can."""
    found = []
    tools = {tool.name: tool for tool in blueprint.tools}
    for place, call in enumerate(goal.calls, start=1):
        if call.tool not in tools:
            found.append(f"goal {goal.name!r}: there is no tool {call.tool!r}; there are {', '.join(tools)}")
            continue
        tool = tools[call.tool]
        found += [
            f"goal {goal.name!r}, call {place}: {fault}" for fault in _link_faults(call.same, tool, goal, columns)
        ]
        for parameter in tool.parameters:
            open_row = parameter.refers_to and parameter.required and parameter.name not in call.same
            if open_row and not sources_of(tool, blueprint, graph, {}).get(parameter.name):
                found.append(f"goal {goal.name!r}: no read shows the row that {tool.name}.{parameter.name} names")
    if goal.kind == "do" and not any(call.tool in tools and tools[call.tool].kind == "write" for call in goal.calls):
        found.append(f"goal {goal.name!r}: a `do` goal needs a write")
    if goal.kind == "inform" and not goal.tell:
        found.append(f"goal {goal.name!r}: an `inform` goal needs something to tell")
    for told in goal.tell:
        name = goal.calls[told.call - 1].tool if told.call <= len(goal.calls) else ""
        if told.column not in columns.get(name, []):
            found.append(f"goal {goal.name!r}: tell names {told.column!r}, which call {told.call} does not return")
    return found


def _link_faults(same: Mapping[str, str], tool: Tool, goal: Goal, columns: Mapping[str, Sequence[str]]) -> list[str]:
    found = []
    for parameter, link in same.items():
        number, _, column = link.partition(".")
        if parameter not in {p.name for p in tool.parameters}:
            found.append(f"{tool.name} has no parameter {parameter!r}")
        if not number.isdigit() or not 1 <= int(number) <= len(goal.calls) or not column:
            found.append(f"{link!r} is not of the form '<call>.<column>'")
        elif column not in columns.get(goal.calls[int(number) - 1].tool, []):
            earlier = goal.calls[int(number) - 1].tool
            found.append(f"{link!r}: {earlier} returns {', '.join(columns.get(earlier, []))}")
    return found


def lookups_of(blueprint: Blueprint, graph: ToolGraph) -> dict[str, dict[str, list[Source]]]:
    """Read -> parameter that names a row -> the reads that show it."""
    reads = [tool for tool in blueprint.tools if tool.kind == "read"]
    return {tool.name: sources for tool in reads if (sources := sources_of(tool, blueprint, graph, []))}


def sources_of(tool: Tool, blueprint: Blueprint, graph: ToolGraph, given: Collection[str]) -> dict[str, list[Source]]:
    """Parameter -> the reads that show such a row; only where none lists rows of that very kind, any that name it."""
    own: dict[str, list[Source]] = {}
    others: dict[str, list[Source]] = {}
    for edge in graph.edges:
        if edge.kind != "data" or edge.target != tool.name or edge.parameter in given or not edge.parameter:
            continue
        reference = tool.parameter(edge.parameter).refers_to or ""
        source = blueprint.tool(edge.source)
        if source.kind == "read":
            found = own if subject(blueprint, source) == reference.partition(".")[0] else others
            found.setdefault(edge.parameter, []).append(Source(tool=edge.source, column=edge.column or ""))
    return {**others, **own}
