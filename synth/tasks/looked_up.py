"""What a call has to have looked up: one look-up for each row that its arguments name, and that nothing has given."""

from collections.abc import Mapping

from skillweave.schema.contract import Parameter, Tool
from skillweave.schema.record import Json, Value
from skillweave.schema.template import Source, TemplateCall
from synth.planner.search import Arguments
from synth.tasks.apart import agrees, sayable
from synth.tasks.linked import Linked
from synth.tasks.lookup import Earlier, Finder, Given, Lookup, alike


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
        elif name in linked:
            finder.given.append(_earlier(parameter.refers_to, value, linked[name]))
        else:
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
    rows = {name: of for name in linked if (of := tool.parameter(name).refers_to)}
    finder.given += [_earlier(of, arguments[name], linked[name]) for name, of in rows.items()]
    for name, value in arguments.items():
        reference = tool.parameter(name).refers_to
        sources = call.found_by.get(name, [])
        if reference and name not in linked and finder.find(reference, value, sources) is None:
            return "; ".join(_unfound(finder, tool.parameter(name), value, source) for source in sources)
    return ""


def _unfound(finder: Finder, parameter: Parameter, value: Value, source: Source) -> str:
    name, read, columns = parameter.name, source.tool, finder.template.referred_by.get(source.tool, [])
    results = [rows for _, rows in finder.shown(source, parameter.refers_to or "", value)]
    if not results:
        needs = ", ".join(one.name for one in finder.blueprint.tool(read).parameters if one.required)
        return f"{read}, which shows the row that {name} takes, asks for {needs}, which nothing gives"
    rows = next((rows for rows in results if any(row.get(source.column) == value for row in rows)), None)
    if rows is None:
        return f"{read} does not show the row that {name} takes"
    said = f"the row that {name} takes cannot be told apart by {', '.join(columns) or 'nothing'}, which is all that"
    said += f" people say of {read}"
    row, others = alike(rows, source.column, value)
    times = len(rows) - len(others)
    words = sayable(row, columns)
    has = f"the {times} rows that show it have {', '.join(words) or 'none of these'} alike" if times > 1 else ""
    if columns and not words:
        return f"{said}: {has or 'all of these are empty'}"
    if words and any(agrees(other, words) for other in others):
        return f"{said}: {f'{has}, and' if has else 'another row has the same'} {_examples(words)}" + (
            ", which fits others too" if has else ""
        )
    return said


def _examples(words: Mapping[str, Json]) -> str:
    return ", ".join(f"{column} {value!r}" for column, value in words.items())


def _needs(finder: Finder, call: TemplateCall, parameter: Parameter) -> int:
    """How much the easiest look-up of a parameter asks for: what asks for nothing comes first."""
    tools = [finder.blueprint.tool(source.tool) for source in call.found_by.get(parameter.name, [])]
    return min((sum(p.required for p in tool.parameters) for tool in tools), default=99)


def _given(value: Value, found: Lookup | None, link: Linked | None) -> Given:
    """An argument as its look-ups are given it: with its own source where an earlier call has given it."""
    if link is None or link.of is None:
        return Given(value, found)
    return Given(value, source=link.source({}), row=link.of.lookup)


def _earlier(reference: str, key: Value, link: Linked) -> Earlier:
    of = link.of
    return Earlier(reference, key, of.row, of.place, of.lookup) if of else Earlier(reference, key, {}, "", None)
