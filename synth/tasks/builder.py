"""The builder of instances: rows and values with which a template's calls can be carried out by one caller.

The instance is built by doing it: arguments are searched for in the state at hand, each row is looked up as an agent
would, then the call is made, and the next one is searched for in the state that it left.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice, product
from random import Random
from typing import NamedTuple

from skillweave.schema.call import CallResult
from skillweave.schema.combination import MentionedRow, MentionedValue
from skillweave.schema.contract import Tool
from skillweave.schema.record import Json, Value
from skillweave.schema.task import GoldenCall
from skillweave.schema.template import TaskTemplate, TemplateCall
from skillweave.world.session import ContractSession
from skillweave.world.world import World
from synth.contracts.visibility import (
    column_origins,
    columns_seen,
    columns_to_look_up,
    reads_that_show,
    required_parameters,
)
from synth.search.arguments import Arguments, argument_search
from synth.search.blocking_rules import blocking_guard, broken_rules
from synth.search.lookup import LookupArgument, LookupFinder, RowLookup
from synth.search.values import AllowedValues, keys_of_matching_rows, row_choices
from synth.tasks.facts import NothingToTell, facts_to_tell
from synth.tasks.grounding import (
    ArgumentLinks,
    LinkedArgument,
    ShownRow,
    find_lookups,
    settle_optional_arguments,
    why_no_lookup,
)
from synth.tasks.kinds import FailurePoint, Instance, NoInstance
from synth.tasks.kinds.refuse import breaking_calls, is_rule_visible

MOST_TRIES = 8
"""Sets of arguments of one call that are tried."""
MOST_ROWS = 12
"""Rows of another domain that one argument is tried with."""


class _Savepoint(NamedTuple):
    """What is taken back to."""

    mark: int
    lengths: tuple[int, ...]
    shown: dict[tuple[int, str], ShownRow]


@dataclass
class InstanceBuilder:
    """Builds one instance for one caller."""

    world: World
    template: TaskTemplate
    session: ContractSession
    random: Random
    made: Instance = field(default_factory=Instance)
    spoken: list[RowLookup] = field(default_factory=list)
    """Rows that the user speaks of, as they were when they were looked up."""
    alone: bool = True
    """Whether the rule that is to be broken has to be the only one."""
    spare: int = 0
    """Calls that may be taken back, and made otherwise, where a later one cannot be made."""
    explains: bool = False
    """Whether it is found out where a caller without an instance got stuck; that takes longer."""
    reason: str = "no lawful call"
    """Why there is no instance: what stopped the call that lay furthest on."""

    def __post_init__(self) -> None:
        self._links = ArgumentLinks(self.made)
        self._deepest = 0
        self._unlinked = ""
        self._stop = FailurePoint(0, -1)

    def build(self) -> Instance:
        """The instance; NoInstance where there is none for this caller."""
        if self.template.forbidden and not is_rule_visible(self.world.blueprint, self.template):
            raise NoInstance(f"what decides {self.template.forbidden} cannot be known")
        if not self._from(0):
            raise NoInstance(self.reason, self._deepest, self._stop if self.explains else None)
        settle_optional_arguments(self.world.blueprint, self.made)
        shown = {tool.name: column_origins(tool) for tool in self.world.blueprint.tools if tool.kind == "read"}
        try:
            told = facts_to_tell(self.template, self.made, self.session.now, self.random, shown)
        except NothingToTell as why:
            stop = FailurePoint(len(self.template.calls), 0, str(why), why.example)
            raise NoInstance("no value worth telling", stop=stop) from None
        self.made.communicate, about = told
        self.made.rows += about
        return self.made

    def _from(self, place: int) -> bool:
        """Make the calls from this one on; False, and nothing done, where that cannot be."""
        if place == len(self.template.calls):
            return True
        call = self.template.calls[place]
        tool = self.world.blueprint.tool(call.tool)
        reason, self._unlinked = "", f"no row to name for {tool.name}"
        for named, linked in self._supplied(call, place + 1):
            rule = self._broken(call)
            reason = reason or f"no {f'call that {rule} forbids' if rule else 'lawful call'} of {tool.name}"
            found = (one for one in self._arguments(tool, call, named, linked) if not _is_row_twice(tool, one))
            is_stuck = self.explains
            for arguments in islice(found, MOST_TRIES):
                is_stuck = False
                looked_up = find_lookups(self._finder(), tool, call, arguments, named, linked)
                if looked_up is None:
                    reason = f"a row for {tool.name} {'is not shown, or ' if rule else ''}cannot be told apart"
                    if self.explains:
                        rows = why_no_lookup(self._finder(), tool, call, arguments, linked)
                        self._stop = max(self._stop, FailurePoint(place, len(tool.guards), rows))
                    continue
                before = self._state()
                if self._carry_out(tool, call, arguments, looked_up, linked):
                    if self._from(place + 1):
                        return True
                    if self.spare <= 0:
                        return False
                    self.spare -= 1
                self._back_to(before)
            if is_stuck:
                at = blocking_guard(argument_search(self.session, tool, self.random, _fixed(call, named, linked)))
                self._stop = max(self._stop, FailurePoint(place, -1 if at is None else at))
        if not reason:
            self._stop = max(self._stop, FailurePoint(place, -1, self._unlinked))
        if place >= self._deepest:
            self._deepest, self.reason = place, reason or self._unlinked
        return False

    def _state(self) -> "_Savepoint":
        made = self.made
        return _Savepoint(
            self.session.mark(),
            (len(made.golden), len(made.rows), len(made.values), len(made.steps), len(self.spoken), made.fresh_from),
            dict(self._links.shown),
        )

    def _back_to(self, state: "_Savepoint") -> None:
        self.session.undo(state.mark)
        golden, rows, values, steps, spoken, fresh_from = state.lengths
        del self.made.golden[golden:], self.made.results[golden:], self.made.rows[rows:], self.made.values[values:]
        del self.made.steps[steps:], self.spoken[spoken:]
        self.made.fresh_from, self._links.shown = fresh_from, dict(state.shown)

    def _supplied(
        self, call: TemplateCall, number: int
    ) -> Iterator[tuple[dict[str, RowLookup], dict[str, LinkedArgument]]]:
        """What is not left to choose: rows of other domains that the caller is shown, and what is linked."""
        for named in islice(self._named(call), MOST_ROWS):
            try:
                yield named, self._links.of(call, number, named)
            except NoInstance as fault:
                self._unlinked = str(fault)

    def _named(self, call: TemplateCall) -> Iterator[dict[str, RowLookup]]:
        """Rows of other domains whose keys the call can be given, each as it is looked up."""
        finder = self._finder()
        shown: list[list[RowLookup]] = []
        for parameter, reference in call.names.items():
            sources = call.found_by.get(parameter, [])
            keys = self._allowed(finder.keys(reference, sources), reference, call.rows.get(parameter))
            self.random.shuffle(keys)
            found = (finder.find(reference, key, sources) for key in keys)
            shown.append([*islice((lookup for lookup in found if lookup), MOST_ROWS)])
        for rows in product(*shown):
            yield dict(zip(call.names, rows, strict=True))

    def _finder(self) -> LookupFinder:
        return LookupFinder(self.world.blueprint, self.template, self.session, self.random, spoken=self.spoken)

    def _arguments(
        self, tool: Tool, call: TemplateCall, named: Mapping[str, RowLookup], linked: Mapping[str, LinkedArgument]
    ) -> Iterator[Arguments]:
        fixed = _fixed(call, named, linked)
        optional = 0.4 if tool.kind == "write" else 0.0
        wanted = {name: columns for name, columns in call.rows.items() if name not in fixed}
        for chosen in row_choices(self.world.blueprint, tool, wanted, self.session, self.random):
            search = argument_search(self.session, tool, self.random, {**fixed, **chosen}, optional=optional)
            rule = self._broken(call)
            yield from breaking_calls(search, self.session, rule, alone=self.alone) if rule else search.meeting()

    def _broken(self, call: TemplateCall) -> str | None:
        """The rule that a call is to break: then it is asked for, and not made."""
        return self.template.forbidden if call is self.template.calls[-1] else None

    def _allowed(self, keys: list[str], reference: str, columns: AllowedValues | None) -> list[str]:
        if not columns:
            return keys
        fit = set(keys_of_matching_rows(self.world.blueprint, reference, columns, self.session))
        return [key for key in keys if key in fit]

    def _carry_out(
        self,
        tool: Tool,
        call: TemplateCall,
        arguments: Arguments,
        lookups: Mapping[str, RowLookup],
        linked: Mapping[str, LinkedArgument],
    ) -> bool:
        """Make the look-ups and the call; whether it went through lawfully. What a rule forbids is not made."""
        places = {name: self._emit(lookup) for name, lookup in lookups.items()}
        rule = self._broken(call)
        if rule and not self._show(tool, rule, lookups):
            return False
        found = {name: ShownRow(lookup.row, places[name], lookup) for name, lookup in lookups.items()}
        golden = self._worded(call, arguments, lookups, linked, found)
        self.made.steps.append(len(self.made.golden))
        if rule:
            self.made.asked, self.made.forbidden = golden, broken_rules(self.session, tool, arguments)
            return True
        result = self._call(golden)
        if not result.ok or result.violations:
            return False
        self._links.remember(len(self.made.steps), found, linked)
        self.spoken += lookups.values()
        if tool.kind == "write":
            self.made.fresh_from = len(self.made.golden)
        return True

    def _worded(
        self,
        call: TemplateCall,
        arguments: Arguments,
        lookups: Mapping[str, RowLookup],
        linked: Mapping[str, LinkedArgument],
        found: Mapping[str, ShownRow],
    ) -> GoldenCall:
        """The call with the source of each argument, and what the user says for it."""
        step = len(self.made.golden)
        places = {name: shown.place for name, shown in found.items()}
        grounding = {name: f"{places[name]}{lookup.column}" for name, lookup in lookups.items()}
        grounding |= {name: link.source(places) for name, link in linked.items()}
        for name, lookup in lookups.items():
            self._said_row(step, name, lookup)
        for name, link in linked.items():
            of = link.of or found[link.own]
            if of.lookup is not None:
                self._said_row(step, name, of.lookup)
        for name, value in arguments.items():
            if name not in grounding:
                grounding[name] = "user"
                self.made.values.append(MentionedValue(call=step, parameter=name, value=value))
        given = {name: source for name, source in grounding.items() if name in arguments}
        return GoldenCall(tool=call.tool, arguments=dict(arguments), grounding=given, demanded_by=call.demanded_by)

    def _show(self, tool: Tool, rule: str, lookups: Mapping[str, RowLookup]) -> bool:
        """Make the reads that show what decides a rule that no tool upholds; False where none does."""
        blueprint = self.world.blueprint
        rows = {tool.parameter(name).refers_to: lookup for name, lookup in lookups.items()}
        seen = (columns_seen(blueprint, tool, blueprint.tool(call.tool), call.arguments) for call in self.made.golden)
        missing = columns_to_look_up(blueprint, tool, rule).difference(*seen)
        reads = reads_that_show(blueprint, missing, rows)
        for read in reads or ():
            self._read(
                read.name,
                {p.name: LookupArgument(rows[p.refers_to].key, rows[p.refers_to]) for p in required_parameters(read)},
            )
        return reads is not None

    def _emit(self, lookup: RowLookup) -> str:
        """Make a look-up's call unless it stands already since the last write; where its row stands: `call 3 [2].`."""
        place = self._read(lookup.read, lookup.arguments)
        many = isinstance(self.made.results[place].value, list)
        return f"call {place} [{lookup.index}]." if many else f"call {place} "

    def _read(self, read: str, given_by: Mapping[str, LookupArgument]) -> int:
        """The place of a read's call, with those that it needs itself before it."""
        grounding: dict[str, str] = {}
        arguments = {name: given.value for name, given in given_by.items()}
        for name, given in given_by.items():
            if given.found:
                grounding[name] = f"{self._emit(given.found)}{given.column or given.found.column}"
            else:
                grounding[name] = given.source or "user"
        wanted = GoldenCall(tool=read, arguments=arguments, grounding=grounding)
        calls = self.made.golden
        place = next((n for n in range(self.made.fresh_from, len(calls)) if calls[n] == wanted), len(calls))
        if place == len(calls):
            self._call(wanted)
            for name, given in given_by.items():
                if given.found:
                    self._said_row(place, name, given.found)
                elif given.row:
                    self._said_row(place, name, given.row)
                elif not given.source:
                    self.made.values.append(MentionedValue(call=place, parameter=name, value=given.value))
        return place

    def _said_row(self, call: int, parameter: str, lookup: RowLookup) -> None:
        said = MentionedRow(
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


def _fixed(
    call: TemplateCall, named: Mapping[str, RowLookup], linked: Mapping[str, LinkedArgument]
) -> dict[str, Value]:
    """The arguments that are not left to choose."""
    fixed: dict[str, Value] = {**call.given}
    fixed |= {parameter: _scalar(lookup.key) for parameter, lookup in named.items()}
    return fixed | {parameter: link.value for parameter, link in linked.items()}


def _is_row_twice(tool: Tool, arguments: Arguments) -> bool:
    """Whether two arguments name the same row: whoever says it once has not said it of both."""
    rows = [(p.refers_to, arguments[p.name]) for p in tool.parameters if p.refers_to and arguments.get(p.name)]
    return len({*rows}) < len(rows)


def _scalar(value: Json) -> Value:
    if isinstance(value, (list, dict)):
        raise NoInstance("a linked value is not a scalar")
    return value
