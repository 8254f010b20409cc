"""Task templates: goals combined with the tool graph, which says how each row that a call names can be found."""

from collections.abc import Iterator, Mapping, Sequence

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import Tool
from skillweave.schema.template import Goal, TaskTemplate, TemplateCall, ToolGraph
from synth.contracts.dependencies import lookup_sources, row_sources
from synth.tasks.kinds import KINDS


def template_of_goal(
    goal: Goal, blueprint: Blueprint, graph: ToolGraph, referred_by: Mapping[str, Sequence[str]]
) -> TaskTemplate:
    """The template of a goal.

    Args:
        referred_by: Read -> columns of its result by which people refer to its rows, best first.
    """
    calls = [
        TemplateCall(
            tool=call.tool, same=call.same, found_by=row_sources(blueprint.tool(call.tool), blueprint, graph, call.same)
        )
        for call in goal.calls
    ]
    return TaskTemplate(
        id=f"{blueprint.server}/{goal.name}",
        server=blueprint.server,
        kind=goal.kind,
        title=goal.title,
        calls=calls,
        lookups=lookup_sources(blueprint, graph),
        referred_by={read: list(columns) for read, columns in referred_by.items()},
        tell=goal.tell,
        reasons=goal.reasons,
    )


def goal_faults(
    goals: Sequence[Goal], blueprint: Blueprint, graph: ToolGraph, columns: Mapping[str, Sequence[str]]
) -> list[list[str]]:
    """Why each goal cannot become a template, in words for its author; empty if it can.

    Args:
        columns: Tool -> the columns of its result.
    """
    names: set[str] = set()
    complaints = []
    for goal in goals:
        faults = ["there is another goal of that name"] if goal.name in names else []
        faults += _call_faults(goal, blueprint, graph, columns)
        faults += [*KINDS[goal.kind].goal_faults(goal, blueprint), *_tell_faults(goal, columns)]
        complaints.append([f"goal {goal.name!r}: {fault}" for fault in faults])
        names.add(goal.name)
    return complaints


def _call_faults(
    goal: Goal, blueprint: Blueprint, graph: ToolGraph, columns: Mapping[str, Sequence[str]]
) -> Iterator[str]:
    tools = {tool.name: tool for tool in blueprint.tools if tool.kind != "auth"}
    for place, call in enumerate(goal.calls, start=1):
        if call.tool not in tools:
            yield f"call {place}: there is no tool {call.tool!r} to call; there are {', '.join(tools)}"
            continue
        tool = tools[call.tool]
        for name, link in call.same.items():
            yield from (f"call {place}: {fault}" for fault in _link_faults(place, name, link, tools, goal, columns))
        for parameter in tool.parameters:
            open_row = parameter.refers_to and parameter.required and parameter.name not in call.same
            if open_row and not row_sources(tool, blueprint, graph, {}).get(parameter.name):
                yield f"call {place}: no read shows the row that {tool.name}.{parameter.name} names; leave the goal out"


def _link_faults(
    place: int,
    parameter: str,
    link: str,
    tools: Mapping[str, Tool],
    goal: Goal,
    columns: Mapping[str, Sequence[str]],
) -> Iterator[str]:
    tool = tools[goal.calls[place - 1].tool]
    taken = [one.name for one in tool.parameters]
    if parameter not in taken:
        yield f"{tool.name} takes no {parameter!r}; it takes {', '.join(taken) or 'nothing'}"
    earlier = {f"{number}": call.tool for number, call in enumerate(goal.calls[: place - 1], start=1)}
    number, _, column = link.partition(".")
    if number not in earlier:
        yield f"{link!r} is not of the form '<call>.<column>' with a call before this one"
    elif column not in columns.get(earlier[number], []):
        yield f"{link!r}: {earlier[number]} returns {', '.join(columns.get(earlier[number], []))}"
    elif (read := tools.get(earlier[number])) and read.returns.rows == "many" and not _takes(read, column):
        yield (
            f"{link!r}: {read.name} lists many rows, and `same` does not say which; leave that call and the link out: "
            f"the row that {tool.name} takes is found by itself"
        )


def _takes(tool: Tool, name: str) -> bool:
    return any(parameter.name == name for parameter in tool.parameters)


def _tell_faults(goal: Goal, columns: Mapping[str, Sequence[str]]) -> Iterator[str]:
    for told in goal.tell:
        name = goal.calls[told.call - 1].tool if told.call <= len(goal.calls) else ""
        if told.column not in columns.get(name, []):
            returned = f"it returns {', '.join(columns.get(name, []))}" if name else f"it has {len(goal.calls)} calls"
            yield f"tell names {told.column!r} of call {told.call}; {returned}"
