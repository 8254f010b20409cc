"""Kind `refuse`: somebody asks for what a rule forbids.

Each rule of a guard is to be broken by a request of its own, of one tool or two. Who asks does not know the rule:
the reasons are those of people who want the same thing lawfully, or fit any request.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from itertools import islice

from sqlglot import exp

from skillweave.schema.blueprint import Blueprint, FusedTool
from skillweave.schema.contract import STRUCTURAL, Guard, Tool
from skillweave.schema.record import Value
from skillweave.schema.template import RowSource, TaskTemplate, TemplateCall
from skillweave.world.session import ContractSession
from skillweave.world.sql import parse
from synth.contracts import follows
from synth.contracts.visibility import column_origins, columns_shown, columns_to_look_up, deciding_columns
from synth.contracts.wording import name_in_words
from synth.contracts.writes import lookup_sources, row_sources
from synth.search.arguments import Arguments, ArgumentSearch
from synth.search.blocking_rules import broken_rules
from synth.search.slots import slots
from synth.search.values import MISSING_KEY, QueryableState, plain_values
from synth.tasks.kinds.recipe import KindRecipe, TemplateSource

TOOLS = 2
"""Tools by which one rule is broken, at most."""
REASONS = (
    "It's been on my list for a while.",
    "I'd like to get it out of the way.",
    "That would suit me best.",
    "I've been meaning to do it for a while.",
    "It would make things easier for me.",
    "I want to get it done before I forget.",
)
"""Why somebody wants anything at all."""
MOST_TRIED = 600
"""Calls that break a rule and are considered, to find those that somebody would ask for."""
MOST_RANKED = 24
"""Sayable calls that are ranked by how odd they are."""
NEAR_DAYS, FAR_DAYS = 62, 400
"""Most requests lie within the first number of days from now, nearly all within the second."""
LEAST_CENTS = 100
"""The least amount that somebody would speak of."""
ADULT_DAYS = 18 * 365
"""Days since birth: whoever asks for something is an adult."""
UNBORN_DAYS = 270
"""Days until birth at most, of a child that is expected."""
LAWFUL_CALLS = 8
"""Lawful calls that show whether a day always lies in the future."""
MOST_BREAKING = 60
"""Calls of one caller that show which rules another rule implies."""


class RefuseRecipe(KindRecipe):
    """Requests that break a rule of a guard."""

    limit = "per_refusal"
    is_for_fused_worlds = True

    def templates(self, goals: Sequence[TaskTemplate], source: TemplateSource) -> list[TaskTemplate]:
        """For each rule of a guard the templates of requests that break it; of a fused world for bridge rules alone."""
        tools = source.blueprint.tools
        rules = dict.fromkeys(guard.rule for tool in tools for guard in _guards(tool))
        if source.bridge_rules is not None:
            rules = {rule: None for rule in rules if rule in source.bridge_rules}
        lookups = lookup_sources(source.blueprint, source.graph)
        return [
            _breaking_template(tool, rule, goals, source, lookups)
            for rule in rules
            # What people ask for anyway goes first; the sort keeps the tools' own order.
            for tool in sorted(_tools_with(rule, tools), key=lambda tool: _goal_of(tool, goals) is None)[:TOOLS]
        ]


def _tools_with(rule: str, tools: Sequence[Tool]) -> list[Tool]:
    return [tool for tool in tools if any(guard.rule == rule for guard in _guards(tool))]


def _breaking_template(
    tool: Tool,
    rule: str,
    goals: Sequence[TaskTemplate],
    source: TemplateSource,
    lookups: dict[str, dict[str, list[RowSource]]],
) -> TaskTemplate:
    blueprint, base = source.blueprint, _goal_of(tool, goals)
    return TaskTemplate(
        id=f"{blueprint.server}/refuse_{tool.name}_{rule}",
        server=blueprint.server,
        kind="refuse",
        base=base.id if base else None,
        title=base.title if base else _title(tool),
        calls=[TemplateCall(tool=tool.name, found_by=row_sources(tool, blueprint, source.graph, []))],
        forbidden=rule,
        lookups=lookups,
        referred_by=_unsuspecting_words(blueprint, tool, rule, source.referred_by),
        reasons=base.reasons if base and not _demands_change(blueprint, tool, rule) else [*REASONS],
    )


def _title(tool: Tool) -> str:
    own = tool.origin if isinstance(tool, FusedTool) else tool.name
    return name_in_words(own).capitalize()


_AHEAD = re.compile(r"\(?:\w+ >=? (?:date\(:now\)|:now)\)?")
"""A guard for which a day or a time must not be over."""


def _guards(tool: Tool) -> Iterator[Guard]:
    """Guards that a request can break: all of writes; of reads no structural ones.

    A guard that merely bounds a search keeps nobody from searching in another way, and nobody asks for what is over.
    """
    for guard in tool.guards:
        if _AHEAD.fullmatch(guard.holds):
            continue
        if tool.kind == "write" or (tool.kind == "read" and guard.concern not in STRUCTURAL):
            yield guard


def _goal_of(tool: Tool, goals: Sequence[TaskTemplate]) -> TaskTemplate | None:
    """The goal that needs this tool alone; None if there is none."""
    return next((goal for goal in goals if [call.tool for call in goal.calls] == [tool.name]), None)


def _demands_change(blueprint: Blueprint, tool: Tool, rule: str) -> bool:
    """Whether a rule demands another value than a row has now, or a later one; then reasons for a change do not fit."""
    guard = next(guard for guard in tool.guards if guard.rule == rule)
    given = {parameter.name for parameter in tool.parameters}
    keys = {entity.table: entity.key for entity in blueprint.tables}
    for unequal in parse(f"SELECT (\n{guard.holds}\n)").tree.find_all(exp.NEQ, exp.GT, exp.LT, exp.GTE, exp.LTE):
        for value, other in ((unequal.left, unequal.right), (unequal.right, unequal.left)):
            if isinstance(value, exp.Placeholder) and value.name in given and _is_plain_column(other, keys):
                return True
    return False


def _is_plain_column(side: exp.Expr, keys: Mapping[str, str]) -> bool:
    """Whether one side of a comparison is a column that describes a row, and no key."""
    column = side.this.selects[0] if isinstance(side, exp.Subquery) else side
    if not isinstance(column, exp.Column) or column.parent_select is None:
        return False
    tables = {table.alias_or_name: table.name for table in column.parent_select.find_all(exp.Table)}
    named = [name for alias, name in tables.items() if column.table in ("", alias)]
    return bool(named) and all(keys.get(name) != column.name for name in named)


def _unsuspecting_words(
    blueprint: Blueprint, tool: Tool, rule: str, referred_by: Mapping[str, Sequence[str]]
) -> dict[str, list[str]]:
    """Words for rows without the columns that decide the rule: nobody asks to pay `the invoice that is paid`."""
    guard = next(guard for guard in tool.guards if guard.rule == rule)
    kinds = {
        (entity.table, attribute.name)
        for entity in blueprint.tables
        for attribute in entity.attributes
        if attribute.enum or attribute.type == "boolean"
    }
    telling = deciding_columns(blueprint, guard) & kinds
    return {
        read: [column for column in columns if column_origins(blueprint.tool(read)).get(column) not in telling]
        for read, columns in referred_by.items()
    }


@follows
def is_rule_visible(blueprint: Blueprint, template: TaskTemplate) -> bool:
    """Whether reads show all that decides the rule which a template's last call is to break."""
    wanted = columns_to_look_up(blueprint, blueprint.tool(template.calls[-1].tool), template.forbidden or "")
    return not wanted.difference(*(columns_shown(read) for read in blueprint.tools if read.kind == "read"))


def breaking_calls(search: ArgumentSearch, session: ContractSession, rule: str, *, alone: bool) -> Iterator[Arguments]:
    """Calls that break a rule, such as somebody may ask for in good faith; the least odd ones first.

    Args:
        alone: Whether they must break no other rule. If not, they may break what every such call breaks, too.
    """
    typical = TypicalValues(search.tool, session, search.now)
    calls = search.breaking(rule, alone=alone) if alone else _breaking_with_implied(search, session, rule)
    sayable = [*islice(filter(typical.is_sayable, islice(calls, MOST_TRIED)), MOST_RANKED)]
    future = _future_days(search) if sayable else frozenset()
    yield from sorted(sayable, key=lambda arguments: typical.oddity(arguments, future))


def implied_rules(search: ArgumentSearch, session: ContractSession, rule: str) -> set[str]:
    """Rules that are broken, as things stand, by every call whose first broken rule is this one."""
    broken = [{*broken_rules(session, search.tool, one)} for one in islice(search.breaking(rule), MOST_BREAKING)]
    return broken[0].intersection(*broken) if broken else set()


def _breaking_with_implied(search: ArgumentSearch, session: ContractSession, rule: str) -> Iterator[Arguments]:
    """Calls that break a rule and those that it implies, and no others."""
    calls = [*islice(search.breaking(rule), MOST_BREAKING)]
    broken = [{*broken_rules(session, search.tool, arguments)} for arguments in calls]
    implied = broken[0].intersection(*broken) if broken else set()
    yield from (arguments for arguments, rules in zip(calls, broken, strict=True) if rules == implied)


class TypicalValues:
    """What people usually say for a tool's parameters, in one state."""

    def __init__(self, tool: Tool, state: QueryableState, now: str) -> None:
        self._tool, self._state, self._now = tool, state, now
        self._slots = slots(tool)
        self._groups: dict[str, list[list[Value]]] = {}
        self._sayable: dict[tuple[str, type, Value], bool] = {}

    def is_sayable(self, arguments: Arguments) -> bool:
        """Whether people would say such values: no made-up texts, no key without a row, no amount of zero or less."""
        for name, value in arguments.items():
            key = name, value.__class__, value
            if key not in self._sayable:
                self._sayable[key] = self._is_sayable(name, value)
            if not self._sayable[key]:
                return False
        return True

    def oddity(self, arguments: Arguments, future: frozenset[str]) -> int:
        """How odd a request is: past days where lawful ones lie ahead, figures unlike those on record, distant days.

        Args:
            future: Parameters of days that lie in the future in lawful calls.
        """
        days = {name: _days_to(value, self._now) for name, value in arguments.items() if _is_day(self._tool, name)}
        past = sum(days[name] < 0 for name in future & days.keys())
        unlike = sum(self._is_unlike(name, value) for name, value in arguments.items())
        distance = max(map(abs, days.values()), default=0)
        return 4 * (past + unlike) + (distance > NEAR_DAYS) + (distance > FAR_DAYS)

    def _is_sayable(self, name: str, value: Value) -> bool:
        parameter = self._slots[name].parameter
        if isinstance(value, bool):
            return True
        if isinstance(value, (int, float)):
            given = [one for group in self._given(name) for one in group if isinstance(one, (int, float))]
            return (LEAST_CENTS if name.endswith("_cents") else 0) <= value and 0 < value <= 2 * max(given, default=0)
        if parameter.refers_to:
            return value != MISSING_KEY
        if parameter.type == "string" and not parameter.enum:
            return any(value in group for group in self._given(name))
        off = _days_to(value, self._now) if "birth" in name else -ADULT_DAYS
        return off <= -ADULT_DAYS or 0 < off <= UNBORN_DAYS

    def _is_unlike(self, name: str, value: Value) -> bool:
        """Whether a figure is smaller or greater than all that people have given so far."""
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return False
        known = [one for one in self._given(name)[0] if isinstance(one, (int, float)) and one > 0]
        return bool(known) and not min(known) <= value <= max(known)

    def _given(self, name: str) -> list[list[Value]]:
        if name not in self._groups:
            self._groups[name] = plain_values(self._slots[name], self._state, self._now)
        return self._groups[name]


def _future_days(search: ArgumentSearch) -> frozenset[str]:
    """Parameters of days that lie in the future in all lawful calls that are found."""
    days = [name for name in slots(search.tool) if _is_day(search.tool, name)]
    lawful = [*islice(search.meeting(), LAWFUL_CALLS)] if days else []
    given = {name: [_days_to(one[name], search.now) for one in lawful if one.get(name)] for name in days}
    return frozenset(name for name, off in given.items() if off and min(off) >= 0)


def _is_day(tool: Tool, name: str) -> bool:
    return tool.parameter(name).type in ("date", "datetime")


def _days_to(value: Value, now: str) -> int:
    """Days from now to a day; negative if it is past."""
    return (date.fromisoformat(str(value)[:10]) - date.fromisoformat(now[:10])).days
