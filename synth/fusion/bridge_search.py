"""The search for calls that meet a bridge rule, that break it, and that make a forbidden call lawful.

A tool's own contract knows another domain's keys only as text. So the search needs hints from the rule: a text that the
rule compares with another domain's key names such a row; a text that it compares with a company's name is that name; a
day that it compares with a row's day is that day.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from random import Random
from typing import NamedTuple

from skillweave.schema.blueprint import BridgeRule, FusedBlueprint
from skillweave.schema.contract import CallResult, Parameter, Tool
from skillweave.schema.record import Json, Row, Value
from skillweave.world.session import ContractSession
from synth.contracts import follows
from synth.search.arguments import Arguments, ArgumentSearch
from synth.search.slots import bound_names, slots

MOST_DAYS = 4
"""Days of one row that are tried."""


def with_bridge_references(tool: Tool, rule: BridgeRule, fused: FusedBlueprint) -> Tool:
    """The tool with its text parameters as the rule uses them: as keys of other domains' rows, or a company's name."""
    keys = _keys(fused)
    titles = _companies_named(rule, fused)
    tool_slots = slots(tool)

    def as_bridge_takes_it(parameter: Parameter) -> Parameter:
        if not _is_text(parameter) or parameter.name not in bound_names(rule.holds):
            return parameter
        targets = [keys[column] for column in tool_slots[parameter.name].columns if column in keys]
        if targets:
            return parameter.model_copy(update={"refers_to": targets[0]})
        return parameter.model_copy(update={"examples": [*titles, *parameter.examples]}) if titles else parameter

    parameters = [as_bridge_takes_it(parameter) for parameter in tool.parameters]
    changed = {old.name for old, new in zip(tool.parameters, parameters, strict=True) if old != new}
    examples = [] if any(changed & row.keys() for row in tool.examples) else tool.examples
    return tool.model_copy(update={"parameters": parameters, "examples": examples}) if changed else tool


def matching_arguments(
    session: ContractSession, tool: Tool, other: Tool, arguments: Arguments, rule: BridgeRule, fused: FusedBlueprint
) -> list[dict[str, Value]]:
    """Sets of arguments of a tool that match a call of another domain's tool.

    Args:
        session: The state in which rows are looked up.
        tool: The tool whose arguments are wanted.
        other: The tool of the other domain.
        arguments: Of the other tool's call.
        rule: The bridge rule between them.
        fused: The contract of the fused world.

    Returns:
        Arguments that name the same rows, the days of these rows, and the company.
    """
    words, keys = _words(rule.holds), _keys(fused)
    keys_given = {
        str(parameter.refers_to): arguments[parameter.name]
        for parameter in other.parameters
        if parameter.refers_to and arguments.get(parameter.name) is not None
    }
    fixed: dict[str, Value] = {
        name: keys_given[keys[column]]
        for name, slot in slots(tool).items()
        for column in slot.columns
        if keys.get(column) in keys_given
    }
    titles = _companies_named(rule, fused)
    for parameter in tool.parameters:
        if titles and parameter.name not in fixed and _is_text(parameter) and parameter.name in words:
            fixed[parameter.name] = titles[0]
    dates = [parameter.name for parameter in tool.parameters if parameter.type == "date" and parameter.name in words]
    if not dates:
        return [fixed]
    return [{**fixed, dates[0]: day} for day in _days_of_rows(session, keys_given, fused)[:MOST_DAYS]]


@lru_cache(maxsize=64)
def _words(condition: str) -> frozenset[str]:
    """All words of a condition, its columns and bindings among them."""
    return frozenset("".join(sign if sign.isalnum() or sign == "_" else " " for sign in condition).split())


def _companies_named(rule: BridgeRule, fused: FusedBlueprint) -> list[str]:
    return [member.title for member in fused.members if member.title.replace("'", "''") in rule.holds]


def _is_text(parameter: Parameter) -> bool:
    return parameter.type == "string" and parameter.enum is None and parameter.refers_to is None


@follows
def _keys(fused: FusedBlueprint) -> dict[tuple[str, str], str]:
    """(table, column) -> `Entity.attribute` of the key that it holds."""
    references = {}
    for entity in fused.tables:
        for attribute in entity.attributes:
            if attribute.name == entity.key:
                references[entity.table, attribute.name] = f"{entity.name}.{entity.key}"
            elif attribute.references:
                references[entity.table, attribute.name] = attribute.references
    return references


def _days_of_rows(session: ContractSession, named: Mapping[str, Value], fused: FusedBlueprint) -> list[str]:
    """The days in rows, and in the rows that these refer to; `named`: `Entity.attribute` -> key of a row."""
    days: list[str] = []
    for reference, key in named.items():
        entity, _ = fused.target(reference)
        for row in _rows_referred(session, reference, key, fused):
            days += _days_in(row)
            for attribute in entity.attributes:
                if attribute.references and row[attribute.name] is not None:
                    for other_row in _rows_referred(session, attribute.references, row[attribute.name], fused):
                        days += _days_in(other_row)
    return list(dict.fromkeys(days))


def _rows_referred(session: ContractSession, reference: str, key: object, fused: FusedBlueprint) -> list[Row]:
    entity, attribute = fused.target(reference)
    return session.query(f"SELECT * FROM {entity.table} WHERE {attribute.name} = :key", {"key": str(key)})


def _days_in(row: Row) -> list[str]:
    texts = [value for value in row.values() if isinstance(value, str) and len(value) in (10, 19)]
    return [text[:10] for text in texts if text[4:5] == "-" and text[7:8] == "-"]


MOST_CALLS = 4
"""Calls of a tool that are tried for one person."""
PREPARING_CALLS = 2
"""Calls of a tool by which one person is prepared for another."""
MOST_NODES = 60
"""Bound on one search for arguments."""


class BridgeCall(NamedTuple):
    """A call, by the name of its tool."""

    tool: str
    arguments: Arguments

    @property
    def record(self) -> dict[str, Json]:
        """As the proof's record has it."""
        return {"tool": self.tool, "arguments": {**self.arguments}}


class BridgeTrial:
    """One bridge rule, tried by one person in one session."""

    def __init__(
        self, fused: FusedBlueprint, session: ContractSession, person: str, rule: BridgeRule, seed: str
    ) -> None:
        self.person = person
        self._fused = fused
        self._session = session
        self._rule = rule
        self._seed = seed
        self._tool = session.world.blueprint.tool(rule.tool)
        view = with_bridge_references(self._tool, rule, fused)
        self._tool_views = [self._tool] if view is self._tool else [view, self._tool]
        self._broken_calls: dict[str, list[BridgeCall]] = {}
        """Fixed arguments -> calls that the rule forbids in the present state."""

    def met(self) -> Iterator[BridgeCall]:
        """Lawful calls of the tool that the rule guards."""
        for view in self._tool_views:
            calls = [BridgeCall(view.name, one) for one in islice(self._search(view).meeting(), MOST_CALLS)]
            lawful = [call for call in calls if is_lawful(self._session.peek(*call))]
            yield from lawful
            if lawful:
                return

    def broken(self, fixed: Mapping[str, Value] | None = None) -> list[BridgeCall]:
        """Calls of the guarded tool that this rule forbids and no other; `fixed` are arguments to begin with."""
        key = repr(fixed)
        if key not in self._broken_calls:
            self._broken_calls[key] = self._broken(fixed)
        return self._broken_calls[key]

    def _broken(self, fixed: Mapping[str, Value] | None) -> list[BridgeCall]:
        for view in self._tool_views:
            breaking = self._search(view, fixed).breaking(self._rule.rule, alone=True)
            calls = [BridgeCall(view.name, one) for one in islice(breaking, MOST_CALLS)]
            broken = [call for call in calls if breaks(self._session.peek(*call), self._rule)]
            if broken:
                return broken
        return []

    def mended(self, mending: Sequence[Tool]) -> Iterator[tuple[BridgeCall, BridgeCall]]:
        """Pairs of a call of one of these tools, and a call that the rule forbids before it and allows after it."""
        for tool in mending:
            for step in list(self._lawful(tool)):
                for call in self._broken_beside(step):
                    if self._is_mended(step, call):
                        yield step, call
        for call in self.broken():
            for tool in mending:
                for step in list(self._lawful_beside(tool, call)):
                    if self._is_mended(step, call):
                        yield step, call

    def prepared(self, preparing: Sequence[Tool]) -> Iterator[tuple[BridgeCall, ...]]:
        """Put the session behind one lawful call of these tools after another; each is undone before the next."""
        for step in [step for tool in preparing for step in islice(self._lawful(tool), PREPARING_CALLS)]:
            mark = self._session.mark()
            self._broken_calls = {}
            if is_lawful(self._session.call(step.tool, step.arguments)):
                yield (step,)
            self._session.forget(mark)
        self._broken_calls = {}

    def _lawful(self, tool: Tool, fixed: Mapping[str, Value] | None = None) -> Iterator[BridgeCall]:
        return (BridgeCall(tool.name, one) for one in islice(self._search(tool, fixed).meeting(), MOST_CALLS))

    def _lawful_beside(self, tool: Tool, call: BridgeCall) -> Iterator[BridgeCall]:
        """Lawful calls of a tool that match a call of the guarded tool."""
        for fixed in matching_arguments(self._session, tool, self._tool, call.arguments, self._rule, self._fused):
            yield from self._lawful(tool, fixed)

    def _broken_beside(self, step: BridgeCall) -> Iterator[BridgeCall]:
        """Calls that the rule forbids and that match a call of another domain."""
        other = self._session.world.blueprint.tool(step.tool)
        for fixed in matching_arguments(self._session, self._tool, other, step.arguments, self._rule, self._fused):
            yield from self.broken(fixed)

    def _is_mended(self, step: BridgeCall, call: BridgeCall) -> bool:
        mark = self._session.mark()
        try:
            taken = is_lawful(self._session.call(step.tool, step.arguments))
            return taken and is_lawful(self._session.peek(call.tool, call.arguments))
        finally:
            self._session.forget(mark)

    def _search(self, tool: Tool, fixed: Mapping[str, Value] | None = None) -> ArgumentSearch:
        return ArgumentSearch(
            self._session.world.blueprint,
            tool,
            self._session,
            self._session.account(tool.name),
            self._session.now,
            Random(f"{self._seed}/{self._session.caller}/{tool.name}"),
            fixed=fixed or {},
            nodes=MOST_NODES,
            person=self._session.caller,
        )


def is_lawful(result: CallResult) -> bool:
    """Whether a call succeeded and broke no rule that the agent holds."""
    return result.ok and all(verdict.holds for verdict in result.verdicts)


def breaks(result: CallResult, rule: BridgeRule) -> bool:
    """Whether this rule refused the call, and the call broke no rule that the agent holds."""
    broken = result.error is not None and result.error.rule == rule.rule
    return broken and all(verdict.holds for verdict in result.verdicts)
