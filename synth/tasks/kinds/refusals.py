"""Refusals: what somebody asks for although a rule forbids it.

Each rule of a guard is to be broken by a request of its own, of one tool or two. Who asks has heard nothing of the
rule: the reasons are those of people who want the same thing lawfully, or fit any wish.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

from sqlglot import exp

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import STRUCTURAL, Guard, Tool
from skillweave.schema.fused import FusedTool
from skillweave.schema.template import TaskTemplate, TemplateCall
from skillweave.schema.tool_graph import ToolGraph
from skillweave.world.sql import parse
from synth.graph.columns import origins
from synth.graph.deciding import decided_by
from synth.tasks.templates import lookups_of, sources_of
from synth.tasks.words import name_in_words

TOOLS = 2
"""Tools by which one rule is broken, at most."""
REASONS = (
    "It has been on my list for a while.",
    "I would like to have it out of the way.",
    "That would suit me best.",
    "I have been meaning to see to it.",
    "It would make things easier for me.",
    "I want to have it settled before I forget.",
)
"""Why somebody wants anything at all."""


def refusals(
    goals: Sequence[TaskTemplate],
    blueprint: Blueprint,
    graph: ToolGraph,
    referred_by: Mapping[str, Sequence[str]],
    rules: Collection[str] | None = None,
) -> list[TaskTemplate]:
    """For each rule of a guard the templates of requests that break it; `rules`: for these alone."""
    lookups = lookups_of(blueprint, graph)
    found = []
    for rule in dict.fromkeys(guard.rule for tool in blueprint.tools for guard in _guards(tool)):
        if rules is not None and rule not in rules:
            continue
        tools = [tool for tool in blueprint.tools if any(guard.rule == rule for guard in _guards(tool))]
        # What people ask for anyway goes first; the sort keeps the tools' own order.
        for tool in sorted(tools, key=lambda one: _base(one, goals) is None)[:TOOLS]:
            base = _base(tool, goals)
            found.append(
                TaskTemplate(
                    id=f"{blueprint.server}/refuse_{tool.name}_{rule}",
                    server=blueprint.server,
                    kind="refuse",
                    base=base.id if base else None,
                    title=base.title if base else _title(tool),
                    calls=[TemplateCall(tool=tool.name, found_by=sources_of(tool, blueprint, graph, []))],
                    forbidden=rule,
                    lookups=lookups,
                    referred_by=_unsuspecting(blueprint, tool, rule, referred_by),
                    reasons=base.reasons if base and not _wants_another(blueprint, tool, rule) else [*REASONS],
                )
            )
    return found


def _title(tool: Tool) -> str:
    own = tool.origin if isinstance(tool, FusedTool) else tool.name
    return name_in_words(own).capitalize()


def _guards(tool: Tool) -> Iterator[Guard]:
    """Guards whose rules can be broken by a request: of writes all; of reads those of substance, since what merely
    bounds a search keeps nobody from searching otherwise."""
    for guard in tool.guards:
        if tool.kind == "write" or (tool.kind == "read" and guard.concern not in STRUCTURAL):
            yield guard


def _base(tool: Tool, goals: Sequence[TaskTemplate]) -> TaskTemplate | None:
    """The goal of people who want just this tool."""
    return next((goal for goal in goals if [call.tool for call in goal.calls] == [tool.name]), None)


def _wants_another(blueprint: Blueprint, tool: Tool, rule: str) -> bool:
    """Whether a rule wants another value than a row has now, or a later one: reasons for a change do not fit then."""
    guard = next(guard for guard in tool.guards if guard.rule == rule)
    given = {parameter.name for parameter in tool.parameters}
    keys = {entity.table: entity.key for entity in blueprint.tables}
    for unequal in parse(f"SELECT (\n{guard.holds}\n)").tree.find_all(exp.NEQ, exp.GT, exp.LT, exp.GTE, exp.LTE):
        for value, other in ((unequal.left, unequal.right), (unequal.right, unequal.left)):
            if isinstance(value, exp.Placeholder) and value.name in given and _is_told(other, keys):
                return True
    return False


def _is_told(side: exp.Expr, keys: Mapping[str, str]) -> bool:
    """Whether a side of a comparison is a column that tells something of a row, and not which row it is."""
    column = side.this.selects[0] if isinstance(side, exp.Subquery) else side
    if not isinstance(column, exp.Column) or column.parent_select is None:
        return False
    tables = {table.alias_or_name: table.name for table in column.parent_select.find_all(exp.Table)}
    named = [name for alias, name in tables.items() if column.table in ("", alias)]
    return bool(named) and all(keys.get(name) != column.name for name in named)


def _unsuspecting(
    blueprint: Blueprint, tool: Tool, rule: str, referred_by: Mapping[str, Sequence[str]]
) -> dict[str, list[str]]:
    """Words for rows without the kinds that the rule turns on: nobody asks to pay `the invoice that is paid`."""
    guard = next(guard for guard in tool.guards if guard.rule == rule)
    kinds = {
        (entity.table, attribute.name)
        for entity in blueprint.tables
        for attribute in entity.attributes
        if attribute.enum or attribute.type == "boolean"
    }
    telling = decided_by(blueprint, guard) & kinds
    return {
        read: [column for column in columns if origins(blueprint.tool(read)).get(column) not in telling]
        for read, columns in referred_by.items()
    }
