"""The builder of instances: rows and values with which a template's calls can be carried out by one caller.

The instance is built by doing it. Arguments are searched for in the state at hand, each row is looked up as an agent
would, the call is made, and the next one is searched for in the state that it left.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice, product
from random import Random
from typing import NamedTuple

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.combination import MentionedValue
from skillweave.schema.contract import Tool
from skillweave.schema.record import Json, Value
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
from synth.contracts.writes import columns_filled_by
from synth.search.arguments import Arguments, argument_search
from synth.search.blocking_rules import blocking_guard, broken_rules
from synth.search.lookup import LookupArgument, LookupFinder, RowLookup
from synth.search.values import AllowedValues, keys_of_matching_rows, row_choices
from synth.tasks.facts import NothingToTell, facts_to_tell
from synth.tasks.grounding import (
    ArgumentLinks,
    GoldenRecorder,
    LinkedArgument,
    ShownRow,
    find_lookups,
    why_no_lookup,
)
from synth.tasks.kinds import FailurePoint, Instance, NoInstance
from synth.tasks.kinds.refuse import breaking_calls, is_rule_visible

MOST_TRIES = 8
"""Sets of arguments of one call that are tried."""
MOST_ROWS = 12
"""Rows of another domain that one argument is tried with."""
OPTIONAL_SHARE = 0.4
"""How often an optional argument of a write is given; of a read none is."""


class _Savepoint(NamedTuple):
    """What the builder rolls back to."""

    mark: int
    lengths: tuple[int, ...]
    shown: dict[tuple[int, str], ShownRow]


class _Settled(NamedTuple):
    """What is not left to choose for a call."""

    named: dict[str, RowLookup]
    """Argument -> row of another domain whose key it is given, as it is looked up."""
    linked: dict[str, LinkedArgument]

    def fixed(self, call: TemplateCall) -> dict[str, Value]:
        """The arguments that follow, with those that the template gives."""
        keys = {parameter: _scalar(lookup.key) for parameter, lookup in self.named.items()}
        return {**call.given, **keys, **{parameter: link.value for parameter, link in self.linked.items()}}


@dataclass
class InstanceBuilder:
    """Builds one instance for one caller, in a session of theirs that it changes."""

    world: World
    template: TaskTemplate
    session: ContractSession
    random: Random
    instance: Instance = field(default_factory=Instance)
    mentioned: list[RowLookup] = field(default_factory=list)
    """Rows that the user has spoken of, as they were when they were looked up."""
    alone: bool = True
    """Whether the rule that is to be broken has to be the only one."""
    backtracks: int = 0
    """How many calls may be undone and made in another way, if a later one cannot be made."""
    explains: bool = False
    """Whether to find out where a caller without an instance got stuck; that takes longer."""

    def __post_init__(self) -> None:
        self._links = ArgumentLinks(self.instance)
        self._recorder = GoldenRecorder(self.session, self.instance)
        self._reason = "no lawful call"
        self._is_unseen = False
        self._deepest = 0
        self._unlinked = ""
        self._failure = FailurePoint(0, -1)

    def build(self) -> Instance:
        """The instance.

        Raises:
            NoInstance: There is none for this caller; the reason is that of the furthest call that could not be made.
        """
        if self.template.forbidden and not is_rule_visible(self.world.blueprint, self.template):
            raise NoInstance(f"what decides {self.template.forbidden} cannot be known")
        if not self._build_from(0):
            stop = self._failure if self.explains else None
            raise NoInstance(self._reason, self._deepest, stop, is_unseen=self._is_unseen)
        settle_optional_arguments(self.world.blueprint, self.instance)
        origins = {tool.name: column_origins(tool) for tool in self.world.blueprint.tools if tool.kind == "read"}
        try:
            facts, rows = facts_to_tell(self.template, self.instance, self.session.now, self.random, origins)
        except NothingToTell as why:
            failure = FailurePoint(len(self.template.calls), 0, str(why), why.example)
            raise NoInstance("no value worth telling", stop=failure) from None
        self.instance.communicate = facts
        self.instance.rows += rows
        return self.instance

    def _build_from(self, place: int) -> bool:
        """Make the calls from this one on; False, with nothing done, if that cannot be."""
        if place == len(self.template.calls):
            return True
        call = self.template.calls[place]
        tool = self.world.blueprint.tool(call.tool)
        rule = self._rule_to_break(call)
        reason, self._unlinked, is_unseen = "", f"no row to name for {tool.name}", False
        for settled in self._settled(call, place + 1):
            reason = reason or f"no {f'call that {rule} forbids' if rule else 'lawful call'} of {tool.name}"
            is_stuck = self.explains
            for arguments in islice(self._arguments(tool, call, settled), MOST_TRIES):
                is_stuck = False
                lookups = find_lookups(self._finder(), tool, call, arguments, settled.named, settled.linked)
                if lookups is None:
                    reason = f"a row for {tool.name} {'is not shown, or ' if rule else ''}cannot be told apart"
                    is_unseen = True
                    self._note_missing_lookup(place, tool, arguments, settled)
                    continue
                before = self._savepoint()
                if self._carry_out(call, arguments, lookups, settled.linked):
                    if self._build_from(place + 1):
                        return True
                    if self.backtracks <= 0:
                        return False
                    self.backtracks -= 1
                self._roll_back(before)
            if is_stuck:
                self._note_blocking_guard(place, tool, settled)
        if not reason:
            self._note(FailurePoint(place, -1, self._unlinked))
        if place >= self._deepest:
            self._deepest, self._reason, self._is_unseen = place, reason or self._unlinked, is_unseen
        return False

    def _note(self, failure: FailurePoint) -> None:
        self._failure = max(self._failure, failure)

    def _note_missing_lookup(self, place: int, tool: Tool, arguments: Arguments, settled: _Settled) -> None:
        if self.explains:
            call = self.template.calls[place]
            why = why_no_lookup(self._finder(), tool, call, arguments, settled.linked)
            self._note(FailurePoint(place, len(tool.guards), why))

    def _note_blocking_guard(self, place: int, tool: Tool, settled: _Settled) -> None:
        fixed = settled.fixed(self.template.calls[place])
        guard = blocking_guard(argument_search(self.session, tool, self.random, fixed))
        self._note(FailurePoint(place, -1 if guard is None else guard))

    def _savepoint(self) -> _Savepoint:
        instance = self.instance
        built = (instance.golden, instance.rows, instance.values, instance.steps, self.mentioned)
        return _Savepoint(
            self.session.mark(), (*(len(part) for part in built), instance.fresh_from), dict(self._links.shown)
        )

    def _roll_back(self, savepoint: _Savepoint) -> None:
        self.session.undo(savepoint.mark)
        instance = self.instance
        golden, rows, values, steps, mentioned, instance.fresh_from = savepoint.lengths
        del instance.golden[golden:], instance.results[golden:], instance.rows[rows:], instance.values[values:]
        del instance.steps[steps:], self.mentioned[mentioned:]
        self._links.shown = dict(savepoint.shown)

    def _settled(self, call: TemplateCall, number: int) -> Iterator[_Settled]:
        """Ways to settle what is not left to choose: rows of other domains that the caller is shown, and links.

        Args:
            number: The call's, counted from 1.
        """
        for named in islice(self._named_rows(call), MOST_ROWS):
            try:
                yield _Settled(named, self._links.of(call, number, named))
            except NoInstance as fault:
                self._unlinked = str(fault)

    def _named_rows(self, call: TemplateCall) -> Iterator[dict[str, RowLookup]]:
        """Rows of other domains whose keys the call can be given, each as it is looked up."""
        finder = self._finder()
        lookups: list[list[RowLookup]] = []
        for parameter, reference in call.names.items():
            sources = call.found_by.get(parameter, [])
            keys = self._allowed(finder.keys(reference, sources), reference, call.rows.get(parameter))
            self.random.shuffle(keys)
            found = (finder.find(reference, key, sources) for key in keys)
            lookups.append([*islice((lookup for lookup in found if lookup), MOST_ROWS)])
        for rows in product(*lookups):
            yield dict(zip(call.names, rows, strict=True))

    def _allowed(self, keys: list[str], reference: str, columns: AllowedValues | None) -> list[str]:
        if not columns:
            return keys
        fitting = set(keys_of_matching_rows(self.world.blueprint, reference, columns, self.session))
        return [key for key in keys if key in fitting]

    def _finder(self) -> LookupFinder:
        return LookupFinder(self.world.blueprint, self.template, self.session, self.random, spoken=self.mentioned)

    def _arguments(self, tool: Tool, call: TemplateCall, settled: _Settled) -> Iterator[Arguments]:
        """Arguments with which the call is lawful or, if it is to break a rule, with which it breaks that rule."""
        fixed, rule = settled.fixed(call), self._rule_to_break(call)
        optional = OPTIONAL_SHARE if tool.kind == "write" else 0.0
        wanted = {name: columns for name, columns in call.rows.items() if name not in fixed}
        choices = row_choices(self.world.blueprint, tool, wanted, self.session, self.random)
        base = argument_search(self.session, tool, self.random, fixed, optional=optional)
        for chosen in choices if rule else base.lawful(choices):
            search = replace(base, fixed={**fixed, **chosen}) if chosen else base
            calls = breaking_calls(search, self.session, rule, alone=self.alone) if rule else search.meeting()
            yield from (arguments for arguments in calls if not _is_named_twice(tool, arguments))

    def _rule_to_break(self, call: TemplateCall) -> str | None:
        """The rule that a call is to break: then it is asked for, and not made."""
        return self.template.forbidden if call is self.template.calls[-1] else None

    def _carry_out(
        self,
        call: TemplateCall,
        arguments: Arguments,
        lookups: Mapping[str, RowLookup],
        linked: Mapping[str, LinkedArgument],
    ) -> bool:
        """Make the look-ups and the call; whether it went through lawfully. What a rule forbids is not made."""
        tool, instance = self.world.blueprint.tool(call.tool), self.instance
        rows = {name: ShownRow(lookup.row, self._recorder.look_up(lookup), lookup) for name, lookup in lookups.items()}
        rule = self._rule_to_break(call)
        if rule and not self._show_facts_of(rule, tool, lookups):
            return False
        golden = self._recorder.ground(call, arguments, rows, linked)
        instance.steps.append(len(instance.golden))
        if rule:
            instance.asked, instance.forbidden = golden, broken_rules(self.session, tool, arguments)
            return True
        result = self._recorder.call(golden)
        if not result.ok or result.violations:
            return False
        self._links.remember(len(instance.steps), rows, linked)
        self.mentioned += lookups.values()
        if tool.kind == "write":
            instance.fresh_from = len(instance.golden)
        return True

    def _show_facts_of(self, rule: str, tool: Tool, lookups: Mapping[str, RowLookup]) -> bool:
        """Make the reads that show what decides a rule which no tool upholds; False if none does."""
        blueprint = self.world.blueprint
        rows = {tool.parameter(name).refers_to: lookup for name, lookup in lookups.items()}
        calls = self.instance.golden
        seen = (columns_seen(blueprint, tool, blueprint.tool(call.tool), call.arguments) for call in calls)
        missing = columns_to_look_up(blueprint, tool, rule).difference(*seen)
        reads = reads_that_show(blueprint, missing, rows)
        for read in reads or ():
            given = {one.name: rows[one.refers_to] for one in required_parameters(read)}
            self._recorder.read(read.name, {name: LookupArgument(row.key, row) for name, row in given.items()})
        return reads is not None


def settle_optional_arguments(blueprint: Blueprint, instance: Instance) -> None:
    """Settle optional arguments that were left out: their columns stay open, or the user says that nothing is wanted.

    A column cannot stay open if another call fills it with something that the user said, since it would not be
    compared there; nor if it names a row. Of a call that a rule forbids nothing stays open: that might lift the ban.
    """
    calls = [*instance.golden, *([instance.asked] if instance.asked else [])]
    tools = [(step, blueprint.tool(calls[step].tool)) for step in instance.steps]
    writes = [(step, tool, calls[step].arguments) for step, tool in tools if tool.kind == "write" or instance.asked]
    said = {column for _, tool, arguments in writes for name in arguments for column in _columns_filled(tool, name)}
    for step, tool, arguments in writes:
        for parameter in tool.parameters:
            filled = _columns_filled(tool, parameter.name)
            if parameter.name in arguments:
                continue
            # Whose bill it is, or which approval is used, is never a matter of taste.
            if parameter.refers_to or not filled or said & {*filled} or instance.asked:
                instance.values.append(MentionedValue(call=step, parameter=parameter.name, value=None))
                continue
            for table, column in filled:
                open_columns = instance.open_columns.setdefault(table, [])
                open_columns += [column] if column not in open_columns else []


def _columns_filled(tool: Tool, parameter: str) -> list[tuple[str, str]]:
    """Tables and columns that an argument merely fills."""
    filled = columns_filled_by(tool, parameter) or {}
    return [(table, column) for table, columns in filled.items() for column in columns]


def _is_named_twice(tool: Tool, arguments: Arguments) -> bool:
    """Whether two arguments name the same row or day: a user who says it once has not said it of both."""
    named = [p for p in tool.parameters if (p.refers_to or p.type == "date") and arguments.get(p.name)]
    return len({(p.refers_to, arguments[p.name]) for p in named}) < len(named)


def _scalar(value: Json) -> Value:
    if isinstance(value, (list, dict)):
        raise NoInstance("a linked value is not a scalar")
    return value
