"""Grounding: where each argument of a golden call comes from.

A link takes it from an earlier call, a look-up finds the row that it names, and the user says the rest. Each argument
has its source when its call is made, so nothing has to be explained afterwards.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from skillweave.schema.combination import MentionedRow, MentionedValue
from skillweave.schema.contract import CallResult, Parameter, Tool
from skillweave.schema.criteria import GoldenCall
from skillweave.schema.record import Json, Value
from skillweave.schema.template import RowSource, TemplateCall
from skillweave.world.session import ContractSession
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
    """An argument that nobody chooses, because an earlier call or a row that the user refers to gives it."""

    value: Value
    column: str
    is_day: bool
    row: ShownRow | None
    """The row that has the column; None: a row that the same call names, and that is still to be looked up."""
    named_by: str = ""
    """If the same call names that row: by this argument."""

    def source(self, places: Mapping[str, str]) -> str:
        """Its grounding.

        Args:
            places: Argument of the same call -> where the columns of the row that it names stand.
        """
        where = f"{self.row.place if self.row else places[self.named_by]}{self.column}"
        return f"computed date({where})" if self.is_day else where


@dataclass
class ArgumentLinks:
    """Follows the links of a template's calls in what has been built of an instance so far."""

    instance: Instance
    shown: dict[tuple[int, str], ShownRow] = field(default_factory=dict)
    """Call, counted from 1, and parameter -> the row that the argument names."""

    def of(self, call: TemplateCall, number: int, named: Mapping[str, RowLookup]) -> dict[str, LinkedArgument]:
        """The linked arguments of a call.

        Args:
            number: The call's, counted from 1.
            named: Argument of this call -> the row that it names, as far as that is settled.

        Raises:
            NoInstance: A link leads nowhere.
        """
        return {parameter: self._follow(link, number, named) for parameter, link in call.same.items()}

    def remember(self, number: int, rows: Mapping[str, ShownRow], linked: Mapping[str, LinkedArgument]) -> None:
        """Keep which rows a call's arguments name."""
        for parameter, row in rows.items():
            self.shown[number, parameter] = row
        for parameter, link in linked.items():
            row = link.row or rows[link.named_by]
            if row.lookup is None or row.lookup.column == link.column:
                self.shown[number, parameter] = row

    def _follow(self, link: str, number: int, named: Mapping[str, RowLookup]) -> LinkedArgument:
        source = link_source(link)
        if source is None or not 1 <= source.call <= number or (source.call == number and source.row is None):
            raise NoInstance(f"{link!r} is no link")
        if source.call == number:
            lookup = named.get(source.row or "")
            value = lookup.row.get(source.column) if lookup else None
            return LinkedArgument(
                _linked_value(value, source, link), source.column, source.is_day, None, source.row or ""
            )
        row = self._row(source, link)
        value = _linked_value(row.row.get(source.column), source, link)
        return LinkedArgument(value, _linked_column(source, row), source.is_day, row)

    def _row(self, source: LinkSource, link: str) -> ShownRow:
        """The row of an earlier call that has the column."""
        if source.row is not None:
            row = self.shown.get((source.call, source.row))
            if row is None:
                raise NoInstance(f"{link!r}: no call has shown that row")
            return row
        step = self.instance.steps[source.call - 1]
        result = self.instance.results[step].value
        if isinstance(result, dict) and source.column in result:
            return ShownRow(result, f"call {step} ", None)
        argument = self.shown.get((source.call, source.column))
        if argument is None or argument.lookup is None:
            raise NoInstance(f"call {source.call} gives no {source.column}")
        return argument._replace(row={**argument.row, source.column: argument.lookup.key})


def _linked_column(source: LinkSource, row: ShownRow) -> str:
    """The column in the row; an argument that an earlier call was given stands there under the key's name."""
    return row.lookup.column if source.row is None and row.lookup is not None else source.column


def _linked_value(value: Json, source: LinkSource, link: str) -> Value:
    if value is None or isinstance(value, (list, dict)):
        raise NoInstance(f"{link!r} holds no value")
    return str(value)[:10] if source.is_day else value


@dataclass
class GoldenRecorder:
    """Makes the calls of an instance, and records the source of each argument and what the user says for it."""

    session: ContractSession
    instance: Instance

    def look_up(self, lookup: RowLookup) -> str:
        """Make a look-up's calls, unless they were made since the last write.

        Returns:
            Where the columns of its row stand: `call 3 [2].`.
        """
        place = self.read(lookup.read, lookup.arguments)
        is_list = isinstance(self.instance.results[place].value, list)
        return f"call {place} [{lookup.index}]." if is_list else f"call {place} "

    def read(self, read: str, given: Mapping[str, LookupArgument]) -> int:
        """Make a read, and before it those that find its arguments, unless they were made since the last write.

        Returns:
            Its index among the golden calls.
        """
        grounding: dict[str, str] = {}
        for name, argument in given.items():
            if argument.lookup:
                grounding[name] = f"{self.look_up(argument.lookup)}{argument.column or argument.lookup.column}"
            else:
                grounding[name] = argument.source or "user"
        arguments = {name: argument.value for name, argument in given.items()}
        wanted = GoldenCall(tool=read, arguments=arguments, grounding=grounding)
        calls = self.instance.golden
        place = next((n for n in range(self.instance.fresh_from, len(calls)) if calls[n] == wanted), len(calls))
        if place == len(calls):
            self.call(wanted)
            self._mention(place, given)
        return place

    def call(self, call: GoldenCall) -> CallResult:
        """Make a call, and record it."""
        result = self.session.call(call.tool, call.arguments)
        self.instance.golden.append(call)
        self.instance.results.append(result)
        return result

    def ground(
        self,
        call: TemplateCall,
        arguments: Arguments,
        rows: Mapping[str, ShownRow],
        linked: Mapping[str, LinkedArgument],
    ) -> GoldenCall:
        """The next golden call with the source of each argument; what the user says for it is recorded.

        Args:
            rows: Argument -> the row that it names, as a look-up of the instance has shown it.
        """
        step = len(self.instance.golden)
        places = {name: row.place for name, row in rows.items()}
        lookups = {name: row.lookup for name, row in rows.items() if row.lookup is not None}
        grounding = {name: f"{places[name]}{lookup.column}" for name, lookup in lookups.items()}
        grounding |= {name: link.source(places) for name, link in linked.items()}
        for name, lookup in lookups.items():
            self._mention_row(step, name, lookup)
        for name, link in linked.items():
            row = link.row or rows[link.named_by]
            if row.lookup is not None:
                self._mention_row(step, name, row.lookup)
        for name, value in arguments.items():
            if name not in grounding:
                grounding[name] = "user"
                self.instance.values.append(MentionedValue(call=step, parameter=name, value=value))
        sources = {name: source for name, source in grounding.items() if name in arguments}
        return GoldenCall(tool=call.tool, arguments=dict(arguments), grounding=sources, demanded_by=call.demanded_by)

    def _mention(self, place: int, given: Mapping[str, LookupArgument]) -> None:
        """Record what the user says for the arguments of a read."""
        for name, argument in given.items():
            if lookup := argument.lookup or argument.row:
                self._mention_row(place, name, lookup)
            elif not argument.source:
                self.instance.values.append(MentionedValue(call=place, parameter=name, value=argument.value))

    def _mention_row(self, call: int, parameter: str, lookup: RowLookup) -> None:
        row = MentionedRow(
            call=call,
            parameter=parameter,
            entity=lookup.entity,
            key=str(lookup.key),
            read=lookup.read,
            columns=lookup.said,
        )
        self.instance.rows.append(row)


def find_lookups(
    finder: LookupFinder,
    tool: Tool,
    call: TemplateCall,
    arguments: Arguments,
    named: Mapping[str, RowLookup],
    linked: Mapping[str, LinkedArgument],
) -> dict[str, RowLookup] | None:
    """A look-up for each argument that names a row which nothing before has given.

    Args:
        named: Look-ups that are settled.

    Returns:
        Argument -> its look-up, those of `named` among them; None if one is missing.
    """
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
    lookups = dict(named)
    for parameter in sorted(open_rows, key=lambda parameter: _fewest_parameters(finder, call, parameter)):
        sources = call.found_by.get(parameter.name, [])
        lookup = finder.find(parameter.refers_to or "", arguments[parameter.name], sources)
        if lookup is None:
            return None
        lookups[parameter.name] = lookup
        finder.known[parameter.name] = LookupArgument(arguments[parameter.name], lookup)
        finder.seen.append(lookup)
    return lookups


def why_no_lookup(
    finder: LookupFinder, tool: Tool, call: TemplateCall, arguments: Arguments, linked: Mapping[str, LinkedArgument]
) -> str:
    """Which row that the arguments name no read shows, or shows apart from others, in words for an author."""
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
    reason = f"the row that {name} takes cannot be told apart by {', '.join(columns) or 'nothing'}, which is all that"
    reason += f" people say of {read}"
    row, others = common_row(rows, source.column, value)
    times = len(rows) - len(others)
    words = sayable_columns(row, columns)
    has = f"the {times} rows that show it have {', '.join(words) or 'none of these'} alike" if times > 1 else ""
    if columns and not words:
        return f"{reason}: {has or 'all of these are empty'}"
    if words and any(row_matches(other, words) for other in others):
        return f"{reason}: {f'{has}, and' if has else 'another row has the same'} {_examples(words)}" + (
            ", which fits others too" if has else ""
        )
    return reason


def _examples(words: Mapping[str, Json]) -> str:
    return ", ".join(f"{column} {value!r}" for column, value in words.items())


def _fewest_parameters(finder: LookupFinder, call: TemplateCall, parameter: Parameter) -> int:
    """How much the easiest look-up of a parameter asks for: what asks for nothing comes first."""
    tools = [finder.blueprint.tool(source.tool) for source in call.found_by.get(parameter.name, [])]
    return min((sum(p.required for p in tool.parameters) for tool in tools), default=99)


def _lookup_argument(value: Value, lookup: RowLookup | None, link: LinkedArgument | None) -> LookupArgument:
    """An argument as its look-ups are given it; with the source of its own if an earlier call has given it."""
    if link is None or link.row is None:
        return LookupArgument(value, lookup)
    return LookupArgument(value, source=link.source({}), row=link.row.lookup)


def _earlier_row(reference: str, key: Value, link: LinkedArgument) -> EarlierRow:
    row = link.row
    if row is None:
        return EarlierRow(reference, key, {}, "", None)
    return EarlierRow(reference, key, row.row, row.place, row.lookup)
