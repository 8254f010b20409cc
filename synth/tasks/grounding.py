"""Where the arguments of a template's call come from: an earlier call (a link), or a look-up of the row they name."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.combination import MentionedValue
from skillweave.schema.contract import Parameter, Tool
from skillweave.schema.record import Json, Value
from skillweave.schema.template import RowSource, TemplateCall
from synth.contracts.dependencies import columns_filled_by
from synth.fusion.links import LinkSource, link_source
from synth.search.arguments import Arguments
from synth.search.lookup import EarlierRow, LookupArgument, LookupFinder, RowLookup, common_row
from synth.search.row_words import row_matches, sayable_columns
from synth.tasks.kinds import Instance, NoInstance


class ShownRow(NamedTuple):
    """A row that an argument names, as a call has shown it."""

    row: Mapping[str, Json]
    place: str
    """Where its columns stand: `call 3 [2].`."""
    lookup: RowLookup | None
    """How it was found; None: it is a result of its own."""


class LinkedArgument(NamedTuple):
    """A linked argument."""

    value: Value
    column: str
    is_day: bool
    of: ShownRow | None
    """The row that has the column; None: a row that the same call names, and that is still to be looked up ..."""
    own: str = ""
    """... namely by this argument."""

    def source(self, places: Mapping[str, str]) -> str:
        """Its grounding, given where the rows stand that the call itself names."""
        where = f"{self.of.place if self.of else places[self.own]}{self.column}"
        return f"computed date({where})" if self.is_day else where


@dataclass
class ArgumentLinks:
    """Follows the links of a template's calls in what has been made of it so far."""

    made: Instance
    shown: dict[tuple[int, str], ShownRow] = field(default_factory=dict)
    """Call, counted from 1, and parameter -> the row that the argument names."""

    def of(self, call: TemplateCall, number: int, named: Mapping[str, RowLookup]) -> dict[str, LinkedArgument]:
        """The linked arguments of a call; NoInstance where a link leads nowhere."""
        return {parameter: self._follow(link, number, named) for parameter, link in call.same.items()}

    def remember(self, number: int, found: Mapping[str, ShownRow], linked: Mapping[str, LinkedArgument]) -> None:
        """Keep which rows a call's arguments name."""
        for parameter, row in found.items():
            self.shown[number, parameter] = row
        for parameter, link in linked.items():
            of = link.of or found[link.own]
            if of.lookup is None or of.lookup.column == link.column:
                self.shown[number, parameter] = of

    def _follow(self, link: str, number: int, named: Mapping[str, RowLookup]) -> LinkedArgument:
        place = link_source(link)
        if place is None or not 1 <= place.call <= number or (place.call == number and place.row is None):
            raise NoInstance(f"{link!r} is no link")
        if place.call == number:
            found = named.get(place.row or "")
            value = found.row.get(place.column) if found else None
            return LinkedArgument(self._value(value, place, link), place.column, place.is_day, None, place.row or "")
        of = self._row(place, link)
        return LinkedArgument(
            self._value(of.row.get(place.column), place, link), self._column(place, of), place.is_day, of
        )

    def _row(self, place: LinkSource, link: str) -> ShownRow:
        """The row of an earlier call that has the column."""
        if place.row is not None:
            found = self.shown.get((place.call, place.row))
            if found is None:
                raise NoInstance(f"{link!r}: no call has shown that row")
            return found
        step = self.made.steps[place.call - 1]
        result = self.made.results[step].value
        if isinstance(result, dict) and place.column in result:
            return ShownRow(result, f"call {step} ", None)
        argument = self.shown.get((place.call, place.column))
        if argument is None or argument.lookup is None:
            raise NoInstance(f"call {place.call} gives no {place.column}")
        return argument._replace(row={**argument.row, place.column: argument.lookup.key})

    def _column(self, place: LinkSource, of: ShownRow) -> str:
        """The column in the row; an argument that an earlier call was given stands there under the key's name."""
        given = place.row is None and of.lookup is not None
        return of.lookup.column if given and of.lookup is not None else place.column

    def _value(self, value: Json, place: LinkSource, link: str) -> Value:
        if value is None or isinstance(value, (list, dict)):
            raise NoInstance(f"{link!r} holds no value")
        return str(value)[:10] if place.is_day else value


def find_lookups(
    finder: LookupFinder,
    tool: Tool,
    call: TemplateCall,
    arguments: Arguments,
    named: Mapping[str, RowLookup],
    linked: Mapping[str, LinkedArgument],
) -> dict[str, RowLookup] | None:
    """A look-up for each argument that names a row which nothing before has given; None where one is missing."""
    finder.domain = tool.name
    open_rows = []
    for name, value in arguments.items():
        parameter = tool.parameter(name)
        if parameter.refers_to is None:
            finder.known[name] = _lookup_argument(value, named.get(name), linked.get(name))
        elif name in linked:
            finder.given.append(_earlier_row(parameter.refers_to, value, linked[name]))
        else:
            open_rows.append(parameter)
    found = dict(named)
    for parameter in sorted(open_rows, key=lambda parameter: _fewest_parameters(finder, call, parameter)):
        sources = call.found_by.get(parameter.name, [])
        lookup = finder.find(parameter.refers_to or "", arguments[parameter.name], sources)
        if lookup is None:
            return None
        found[parameter.name] = lookup
        finder.known[parameter.name] = LookupArgument(arguments[parameter.name], lookup)
        finder.seen.append(lookup)
    return found


def why_no_lookup(
    finder: LookupFinder, tool: Tool, call: TemplateCall, arguments: Arguments, linked: Mapping[str, LinkedArgument]
) -> str:
    """In words for an author, which row that the arguments name no read shows, or shows apart from others."""
    finder.domain = tool.name
    finder.known |= {
        name: LookupArgument(value) for name, value in arguments.items() if not tool.parameter(name).refers_to
    }
    rows = {name: of for name in linked if (of := tool.parameter(name).refers_to)}
    finder.given += [_earlier_row(of, arguments[name], linked[name]) for name, of in rows.items()]
    for name, value in arguments.items():
        reference = tool.parameter(name).refers_to
        sources = call.found_by.get(name, [])
        if reference and name not in linked and finder.find(reference, value, sources) is None:
            return "; ".join(_why_not_shown(finder, tool.parameter(name), value, source) for source in sources)
    return ""


def _why_not_shown(finder: LookupFinder, parameter: Parameter, value: Value, source: RowSource) -> str:
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
    row, others = common_row(rows, source.column, value)
    times = len(rows) - len(others)
    words = sayable_columns(row, columns)
    has = f"the {times} rows that show it have {', '.join(words) or 'none of these'} alike" if times > 1 else ""
    if columns and not words:
        return f"{said}: {has or 'all of these are empty'}"
    if words and any(row_matches(other, words) for other in others):
        return f"{said}: {f'{has}, and' if has else 'another row has the same'} {_examples(words)}" + (
            ", which fits others too" if has else ""
        )
    return said


def _examples(words: Mapping[str, Json]) -> str:
    return ", ".join(f"{column} {value!r}" for column, value in words.items())


def _fewest_parameters(finder: LookupFinder, call: TemplateCall, parameter: Parameter) -> int:
    """How much the easiest look-up of a parameter asks for: what asks for nothing comes first."""
    tools = [finder.blueprint.tool(source.tool) for source in call.found_by.get(parameter.name, [])]
    return min((sum(p.required for p in tool.parameters) for tool in tools), default=99)


def _lookup_argument(value: Value, found: RowLookup | None, link: LinkedArgument | None) -> LookupArgument:
    """An argument as its look-ups are given it: with its own source where an earlier call has given it."""
    if link is None or link.of is None:
        return LookupArgument(value, found)
    return LookupArgument(value, source=link.source({}), row=link.of.lookup)


def _earlier_row(reference: str, key: Value, link: LinkedArgument) -> EarlierRow:
    of = link.of
    return EarlierRow(reference, key, of.row, of.place, of.lookup) if of else EarlierRow(reference, key, {}, "", None)


def settle_optional_arguments(blueprint: Blueprint, made: Instance) -> None:
    """Optional arguments left out: their columns stay open, or the user says that nothing is wanted.

    A column that another call fills with something the user said cannot stay open: it would not be compared there; nor
    can one that names a row. Of a call that a rule forbids all is said: what was left open might lift the ban.
    """
    calls = [*made.golden, *([made.asked] if made.asked else [])]
    tools = [(step, blueprint.tool(calls[step].tool)) for step in made.steps]
    writes = [(step, tool, calls[step].arguments) for step, tool in tools if tool.kind == "write" or made.asked]
    said = {place for _, tool, arguments in writes for name in arguments for place in _columns_filled(tool, name)}
    for step, tool, arguments in writes:
        for parameter in tool.parameters:
            places = _columns_filled(tool, parameter.name)
            if parameter.name in arguments:
                continue
            # Whose bill it is, or which approval is used, is never a matter of taste.
            if parameter.refers_to or not places or said & {*places} or made.asked:
                made.values.append(MentionedValue(call=step, parameter=parameter.name, value=None))
                continue
            for table, column in places:
                kept = made.open_columns.setdefault(table, [])
                kept += [column] if column not in kept else []


def _columns_filled(tool: Tool, parameter: str) -> list[tuple[str, str]]:
    """Tables and columns that an argument merely fills."""
    return [
        (table, column) for table, columns in (columns_filled_by(tool, parameter) or {}).items() for column in columns
    ]
