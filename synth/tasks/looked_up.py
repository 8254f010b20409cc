"""What a call has to have looked up: one look-up for each row that its arguments name, and that nothing has given."""

from collections.abc import Mapping

from skillweave.schema.contract import Parameter, Tool
from skillweave.schema.record import Value
from skillweave.schema.template import Source, TemplateCall
from synth.planner.search import Arguments
from synth.tasks.linked import Linked
from synth.tasks.lookup import Finder, Given, Lookup


def looked_up_for(
    finder: Finder,
    tool: Tool,
    call: TemplateCall,
    arguments: Arguments,
    named: Mapping[str, Lookup],
    linked: Mapping[str, Linked],
) -> dict[str, Lookup] | None:
    """A look-up for each argument that names a row which nothing before has given; None where one is missing."""
    finder.domain = tool.name
    open_rows = []
    for name, value in arguments.items():
        parameter = tool.parameter(name)
        if parameter.refers_to is None:
            finder.known[name] = _given(value, named.get(name), linked.get(name))
        elif name not in linked:
            open_rows.append(parameter)
    found = dict(named)
    for parameter in sorted(open_rows, key=lambda parameter: _needs(finder, call, parameter)):
        sources = call.found_by.get(parameter.name, [])
        lookup = finder.find(parameter.refers_to or "", arguments[parameter.name], sources)
        if lookup is None:
            return None
        found[parameter.name] = lookup
        finder.known[parameter.name] = Given(arguments[parameter.name], lookup)
        finder.seen.append(lookup)
    return found


def unfound(finder: Finder, tool: Tool, call: TemplateCall, arguments: Arguments, linked: Mapping[str, Linked]) -> str:
    """In words for an author, which row that the arguments name no read shows, or shows apart from others."""
    finder.domain = tool.name
    finder.known |= {name: Given(value) for name, value in arguments.items() if not tool.parameter(name).refers_to}
    for name, value in arguments.items():
        reference = tool.parameter(name).refers_to
        sources = call.found_by.get(name, [])
        if reference and name not in linked and finder.find(reference, value, sources) is None:
            return "; ".join(_unfound(finder, name, value, source) for source in sources)
    return ""


def _unfound(finder: Finder, name: str, value: Value, source: Source) -> str:
    columns = ", ".join(finder.template.referred_by.get(source.tool, [])) or "nothing"
    needs = [parameter for parameter in finder.blueprint.tool(source.tool).parameters if parameter.required]
    if not needs and all(row.get(source.column) != value for row in finder.rows(source.tool, {})):
        return f"{source.tool} does not show the row that {name} takes"
    return f"the row that {name} takes cannot be told apart by {columns}, which is all that people say of {source.tool}"


def _needs(finder: Finder, call: TemplateCall, parameter: Parameter) -> int:
    """How much the easiest look-up of a parameter asks for: what asks for nothing comes first."""
    tools = [finder.blueprint.tool(source.tool) for source in call.found_by.get(parameter.name, [])]
    return min((sum(p.required for p in tool.parameters) for tool in tools), default=99)


def _given(value: Value, found: Lookup | None, link: Linked | None) -> Given:
    """An argument as its look-ups are given it: with its own source where an earlier call has given it."""
    if link is None or link.of is None:
        return Given(value, found)
    return Given(value, source=link.source({}), row=link.of.lookup)
