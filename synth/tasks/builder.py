"""The builder of instances: rows and values with which a template's calls can be carried out by one caller.

The instance is built by doing it: arguments are searched for in the state at hand, each row is looked up as an agent
would, then the call is made, and the next one is searched for in the state that it left.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from random import Random

from skillweave.schema.call import CallResult
from skillweave.schema.combination import SaidRow, SaidValue
from skillweave.schema.contract import Parameter, Tool
from skillweave.schema.record import Json, Value
from skillweave.schema.task import GoldenCall
from skillweave.schema.template import TaskTemplate, TemplateCall
from skillweave.world.session import ContractSession
from skillweave.world.world import World
from synth.planner.search import Arguments, Search
from synth.tasks.fills import filled_by
from synth.tasks.instance import Instance, NoInstance
from synth.tasks.lookup import Finder, Given, Lookup
from synth.tasks.telling import facts_to_tell

TRIES = 8
"""Sets of arguments of one call that are tried."""


@dataclass
class Builder:
    """Builds one instance for one caller."""

    world: World
    template: TaskTemplate
    session: ContractSession
    random: Random
    made: Instance = field(default_factory=Instance)
    spoken: list[Lookup] = field(default_factory=list)
    """Rows that the user speaks of, as they were when they were looked up."""

    def build(self) -> Instance:
        """The instance; NoInstance where there is none for this caller."""
        for call in self.template.calls:
            self._step(call)
        self._leave_open()
        told = facts_to_tell(self.template, self.made, self.session.now, self.random)
        if told is None:
            raise NoInstance("no value worth telling")
        self.made.communicate, about = told
        self.made.rows += about
        return self.made

    def _step(self, call: TemplateCall) -> None:
        tool = self.world.blueprint.tool(call.tool)
        fixed, sources = self._linked(call)
        reason = f"no lawful call of {tool.name}"
        for arguments in islice(self._arguments(tool, fixed), TRIES):
            looked_up = self._look_up(tool, call, arguments, sources)
            if looked_up is None:
                reason = f"a row for {tool.name} cannot be told apart"
            elif self._carry_out(tool, arguments, looked_up, sources):
                return
        raise NoInstance(reason)

    def _arguments(self, tool: Tool, fixed: dict[str, Value]) -> Iterator[Arguments]:
        search = Search(
            self.world.blueprint,
            tool,
            self.session,
            self.session.caller,
            self.session.now,
            self.random,
            fixed,
            optional=0.4 if tool.kind == "write" else 0.0,
        )
        return search.meeting()

    def _linked(self, call: TemplateCall) -> tuple[dict[str, Value], dict[str, str]]:
        """Arguments that come from earlier calls of the template, and where in their results they stand."""
        fixed: dict[str, Value] = {}
        sources: dict[str, str] = {}
        for parameter, link in call.same.items():
            number, _, column = link.partition(".")
            step = self.made.steps[int(number) - 1]
            value = self.made.results[step].value
            if isinstance(value, dict) and column in value:
                fixed[parameter], sources[parameter] = _scalar(value[column]), f"call {step} {column}"
            elif column in self.made.golden[step].arguments:
                fixed[parameter] = _scalar(self.made.golden[step].arguments[column])
                sources[parameter] = self.made.golden[step].grounding[column]
            else:
                raise NoInstance(f"call {number} gives no {column}")
        return fixed, sources

    def _look_up(
        self, tool: Tool, call: TemplateCall, arguments: Arguments, linked: dict[str, str]
    ) -> dict[str, Lookup] | None:
        """A look-up for each argument that names a row which nothing before has given; None where one is missing."""
        finder = Finder(self.world.blueprint, self.template, self.session, self.random, spoken=self.spoken)
        open_rows = []
        for name, value in arguments.items():
            parameter = tool.parameter(name)
            if parameter.refers_to is None:
                finder.known[name] = Given(value)
            elif name not in linked:
                open_rows.append(parameter)
        found: dict[str, Lookup] = {}
        for parameter in sorted(open_rows, key=lambda parameter: self._needs(call, parameter)):
            lookup = finder.find(
                parameter.refers_to or "", arguments[parameter.name], call.found_by.get(parameter.name, [])
            )
            if lookup is None:
                return None
            found[parameter.name] = lookup
            finder.known[parameter.name] = Given(arguments[parameter.name], lookup)
            finder.seen.append(lookup)
        return found

    def _needs(self, call: TemplateCall, parameter: Parameter) -> int:
        """How much the easiest look-up of a parameter asks for: what asks for nothing comes first."""
        tools = [self.world.blueprint.tool(source.tool) for source in call.found_by.get(parameter.name, [])]
        return min((sum(p.required for p in tool.parameters) for tool in tools), default=99)

    def _carry_out(self, tool: Tool, arguments: Arguments, lookups: dict[str, Lookup], linked: dict[str, str]) -> bool:
        """Make the look-ups and the call; False, and nothing done, where the call does not go through lawfully."""
        mark, length, before = self.session.mark(), len(self.made.golden), (len(self.made.rows), len(self.made.values))
        grounding = dict(linked)
        for name, lookup in lookups.items():
            place, path = self._emit(lookup)
            grounding[name] = f"call {place} {path}"
        step = len(self.made.golden)
        for name, lookup in lookups.items():
            self._said_row(step, name, lookup)
        for name, value in arguments.items():
            if name not in grounding:
                grounding[name] = "user"
                self.made.values.append(SaidValue(call=step, parameter=name, value=value))
        result = self._call(GoldenCall(tool=tool.name, arguments=dict(arguments), grounding=grounding))
        if not result.ok or result.violations:
            self.session.undo(mark)
            del self.made.golden[length:], self.made.results[length:]
            del self.made.rows[before[0] :], self.made.values[before[1] :]
            return False
        self.made.steps.append(step)
        self.spoken += lookups.values()
        if tool.kind == "write":
            self.made.fresh_from = step + 1
        return True

    def _emit(self, lookup: Lookup, column: str | None = None) -> tuple[int, str]:
        """Make a look-up's call unless it stands already since the last write; where in its result the value stands."""
        grounding: dict[str, str] = {}
        arguments = {name: given.value for name, given in lookup.arguments.items()}
        for name, given in lookup.arguments.items():
            if given.found:
                place, path = self._emit(given.found, given.column)
                grounding[name] = f"call {place} {path}"
            else:
                grounding[name] = "user"
        wanted = GoldenCall(tool=lookup.read, arguments=arguments, grounding=grounding)
        calls = self.made.golden
        place = next((n for n in range(self.made.fresh_from, len(calls)) if calls[n] == wanted), len(calls))
        if place == len(calls):
            self._call(wanted)
            for name, given in lookup.arguments.items():
                if given.found:
                    self._said_row(place, name, given.found)
                else:
                    self.made.values.append(SaidValue(call=place, parameter=name, value=given.value))
        many = isinstance(self.made.results[place].value, list)
        name = column or lookup.column
        return place, f"[{lookup.index}].{name}" if many else name

    def _said_row(self, call: int, parameter: str, lookup: Lookup) -> None:
        said = SaidRow(
            call=call,
            parameter=parameter,
            entity=lookup.entity,
            key=str(lookup.key),
            read=lookup.read,
            columns=lookup.said,
        )
        self.made.rows.append(said)

    def _call(self, call: GoldenCall) -> CallResult:
        result = self.session.call(call.tool, call.arguments)
        self.made.golden.append(call)
        self.made.results.append(result)
        return result

    def _leave_open(self) -> None:
        """Optional arguments left out: their columns stay open, or the user says that nothing is wanted.

        A column that another call fills with something the user said cannot stay open: it would not be compared there.
        """
        calls = [(step, self.world.blueprint.tool(self.made.golden[step].tool)) for step in self.made.steps]
        writes = [(step, tool, self.made.golden[step].arguments) for step, tool in calls if tool.kind == "write"]
        said = {place for _, tool, arguments in writes for name in arguments for place in _filled(tool, name)}
        for step, tool, arguments in writes:
            for parameter in tool.parameters:
                places = _filled(tool, parameter.name)
                if parameter.name in arguments:
                    continue
                if not places or said & {*places}:
                    self.made.values.append(SaidValue(call=step, parameter=parameter.name, value=None))
                    continue
                for table, column in places:
                    kept = self.made.open_columns.setdefault(table, [])
                    kept += [column] if column not in kept else []


def _filled(tool: Tool, parameter: str) -> list[tuple[str, str]]:
    """Tables and columns that an argument merely fills."""
    return [(table, column) for table, columns in (filled_by(tool, parameter) or {}).items() for column in columns]


def _scalar(value: Json) -> Value:
    if isinstance(value, (list, dict)):
        raise NoInstance("a linked value is not a scalar")
    return value
