"""The search for calls that meet a bridge rule, that break it, and that make a forbidden call lawful.

A tool's contract knows another domain's keys as mere text. So the search is told: a text that the rule compares
with another domain's key names such a row; one that it compares with a company's name is that name; a day that it
compares with a row's day is that day.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from random import Random
from typing import NamedTuple

from skillweave.schema.blueprint import BridgeRule, FusedBlueprint
from skillweave.schema.call import CallResult
from skillweave.schema.contract import Parameter, Tool
from skillweave.schema.record import Json, Row, Value
from skillweave.world.session import ContractSession
from synth.search.arguments import Arguments, ArgumentSearch
from synth.search.slots import bound_names, slots

DAYS = 4
"""Days of one row that are tried."""


def with_bridge_references(tool: Tool, rule: BridgeRule, fused: FusedBlueprint) -> Tool:
    """The tool with its texts as a bridge rule takes them: as keys of other domains' rows, or names of companies."""
    keys = _keys(fused)
    titles = _titles(rule, fused)
    known = slots(tool)

    def told(parameter: Parameter) -> Parameter:
        if not _is_text(parameter) or parameter.name not in bound_names(rule.holds):
            return parameter
        targets = [keys[column] for column in known[parameter.name].columns if column in keys]
        if targets:
            return parameter.model_copy(update={"refers_to": targets[0]})
        return parameter.model_copy(update={"examples": [*titles, *parameter.examples]}) if titles else parameter

    parameters = [told(parameter) for parameter in tool.parameters]
    changed = {old.name for old, new in zip(tool.parameters, parameters, strict=True) if old != new}
    examples = [] if any(changed & row.keys() for row in tool.examples) else tool.examples
    return tool.model_copy(update={"parameters": parameters, "examples": examples}) if changed else tool


def matching_arguments(
    session: ContractSession, tool: Tool, other: Tool, arguments: Arguments, rule: BridgeRule, fused: FusedBlueprint
) -> list[dict[str, Value]]:
    """Arguments of a tool that go with a call of another one: the same rows, the days of those, the company's name."""
    columns, keys = _columns(rule), _keys(fused)
    named = {
        str(parameter.refers_to): arguments[parameter.name]
        for parameter in other.parameters
        if parameter.refers_to and arguments.get(parameter.name) is not None
    }
    fixed: dict[str, Value] = {
        name: named[keys[column]]
        for name, slot in slots(tool).items()
        for column in slot.columns
        if keys.get(column) in named
    }
    titles = _titles(rule, fused)
    for parameter in tool.parameters:
        if titles and parameter.name not in fixed and _is_text(parameter) and parameter.name in columns:
            fixed[parameter.name] = titles[0]
    dates = [parameter.name for parameter in tool.parameters if parameter.type == "date" and parameter.name in columns]
    if not dates:
        return [fixed]
    return [{**fixed, dates[0]: day} for day in _days(session, named, fused)[:DAYS]]


def _columns(rule: BridgeRule) -> frozenset[str]:
    """Words of a rule's condition: its columns and bindings among them."""
    return frozenset("".join(sign if sign.isalnum() or sign == "_" else " " for sign in rule.holds).split())


def _titles(rule: BridgeRule, fused: FusedBlueprint) -> list[str]:
    return [member.title for member in fused.members if member.title.replace("'", "''") in rule.holds]


def _is_text(parameter: Parameter) -> bool:
    return parameter.type == "string" and parameter.enum is None and parameter.refers_to is None


def _keys(fused: FusedBlueprint) -> dict[tuple[str, str], str]:
    """(table, column) -> `Entity.attribute` of the key that it holds."""
    found = {}
    for entity in fused.tables:
        for attribute in entity.attributes:
            if attribute.name == entity.key:
                found[entity.table, attribute.name] = f"{entity.name}.{entity.key}"
            elif attribute.references:
                found[entity.table, attribute.name] = attribute.references
    return found


def _days(session: ContractSession, named: Mapping[str, Value], fused: FusedBlueprint) -> list[str]:
    """The days in the rows of these keys, and in the rows that those refer to; `named` are by `Entity.attribute`."""
    found: list[str] = []
    for reference, key in named.items():
        entity, _ = fused.target(reference)
        for row in _rows(session, reference, key, fused):
            found += _days_in(row)
            for attribute in entity.attributes:
                if attribute.references and row[attribute.name] is not None:
                    for near in _rows(session, attribute.references, row[attribute.name], fused):
                        found += _days_in(near)
    return list(dict.fromkeys(found))


def _rows(session: ContractSession, reference: str, key: object, fused: FusedBlueprint) -> list[Row]:
    entity, attribute = fused.target(reference)
    return session.query(f"SELECT * FROM {entity.table} WHERE {attribute.name} = :key", {"key": str(key)})


def _days_in(row: Row) -> list[str]:
    texts = [value for value in row.values() if isinstance(value, str) and len(value) in (10, 19)]
    return [text[:10] for text in texts if text[4:5] == "-" and text[7:8] == "-"]


CALLS = 4
"""Calls of a tool that are tried for one person."""
BEFORE = 2
"""Calls of a tool by which one person is prepared for another."""
NODES = 60
"""Bound on one search for arguments."""


class BridgeCall(NamedTuple):
    """A call, by the name of its tool."""

    tool: str
    arguments: Arguments

    @property
    def record(self) -> dict[str, Json]:
        """For the proof."""
        return {"tool": self.tool, "arguments": {**self.arguments}}


class BridgeTrial:
    """One rule, tried by one person in one session."""

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
        self._views = [self._tool] if view is self._tool else [view, self._tool]
        self._known: dict[str, list[BridgeCall]] = {}
        """Broken calls of the present state, by the arguments that were given."""

    def met(self) -> Iterator[BridgeCall]:
        """Lawful calls of the tool that the rule guards."""
        for view in self._views:
            calls = [BridgeCall(view.name, one) for one in islice(self._search(view).meeting(), CALLS)]
            found = [call for call in calls if is_lawful(self._session.peek(*call))]
            yield from found
            if found:
                return

    def broken(self, fixed: Mapping[str, Value] | None = None) -> list[BridgeCall]:
        """Calls of it that the rule forbids, and no other does."""
        key = repr(fixed)
        if key not in self._known:
            self._known[key] = self._broken(fixed)
        return self._known[key]

    def _broken(self, fixed: Mapping[str, Value] | None) -> list[BridgeCall]:
        for view in self._views:
            breaking = self._search(view, fixed).breaking(self._rule.rule, alone=True)
            calls = [BridgeCall(view.name, one) for one in islice(breaking, CALLS)]
            found = [call for call in calls if breaks(self._session.peek(*call), self._rule)]
            if found:
                return found
        return []

    def mended(self, mending: Sequence[Tool]) -> Iterator[tuple[BridgeCall, BridgeCall]]:
        """A call of one of these tools, and one that the rule forbids before it and not after it."""
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
        """The session is behind a lawful call of one of these tools, one after the other."""
        for step in [step for tool in preparing for step in islice(self._lawful(tool), BEFORE)]:
            mark = self._session.mark()
            self._known = {}
            if is_lawful(self._session.call(step.tool, step.arguments)):
                yield (step,)
            self._session.forget(mark)
        self._known = {}

    def _lawful(self, tool: Tool, fixed: Mapping[str, Value] | None = None) -> Iterator[BridgeCall]:
        return (BridgeCall(tool.name, one) for one in islice(self._search(tool, fixed).meeting(), CALLS))

    def _lawful_beside(self, tool: Tool, call: BridgeCall) -> Iterator[BridgeCall]:
        """Lawful calls of a tool that go with a call of the rule's."""
        for fixed in matching_arguments(self._session, tool, self._tool, call.arguments, self._rule, self._fused):
            yield from self._lawful(tool, fixed)

    def _broken_beside(self, step: BridgeCall) -> Iterator[BridgeCall]:
        """Calls that the rule forbids and that go with a call of another domain."""
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
            nodes=NODES,
            person=self._session.caller,
        )


def is_lawful(result: CallResult) -> bool:
    return result.ok and all(verdict.holds for verdict in result.verdicts)


def breaks(result: CallResult, rule: BridgeRule) -> bool:
    """Whether this rule refused the call, and none that agents hold was broken before."""
    broken = result.error is not None and result.error.rule == rule.rule
    return broken and all(verdict.holds for verdict in result.verdicts)
