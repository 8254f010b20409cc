"""What a call would come to that nobody makes: a fee before it falls due, a refund, what is left to pay.

No read shows such a value. It follows from what reads show by what the policy says of the tool, and is proven by making
the call and taking it back.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import takewhile

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.combination import Combination
from skillweave.schema.contract import Call, CallResult, Tool
from skillweave.schema.criteria import FactToTell, Foreseen, GoldenCall
from skillweave.schema.record import Json
from skillweave.schema.template import TaskTemplate
from skillweave.world.session import ContractSession
from skillweave.world.tools import tool_of
from skillweave.world.world import World
from synth.contracts.visibility import column_origins, columns_seen, columns_shown
from synth.contracts.writes import Column, read_by, writes_of
from synth.tasks.replay import Rejected, make_calls, open_session

_SPOKEN = frozenset(
    {"fee", "refund", "refunded", "price", "charged", "credited", "payable", "approved", "premium", "surcharge"}
)
"""Words of amounts that people ask for before they decide, and of which nobody asks: the total of what?"""
_SPOKEN_WHOLE = frozenset({"to_pay_cents", "copay_cents", "one_way_cents", "deductible_part_cents"})


@lru_cache(maxsize=8)
def columns_behind(world: World) -> dict[str, frozenset[Column]]:
    """The columns that say what a tool's call comes to, by the tool's name: its effects read them in rows of before.

    Keys and references, which only say which row is meant, are left out.
    """
    told = {
        (entity.table, attribute.name)
        for entity in world.blueprint.tables
        for attribute in entity.attributes
        if attribute.name != entity.key and attribute.references is None
    }
    return {
        tool.name: frozenset(
            column
            for column in told & read_by(world, [effect.sql for effect in tool.effects])
            if column[0] not in writes_of(world)[tool.name].inserts
        )
        for tool in world.blueprint.tools
    }


def amounts_foreseen(tool: Tool) -> list[str]:
    """Amounts in a write's result for which people ask before they decide, in the order of its columns."""
    names = [name for name in column_origins(tool) if name.endswith("_cents")]
    return [name for name in names if not _SPOKEN.isdisjoint(name.split("_")) or name in _SPOKEN_WHOLE]


def is_foreseeable(blueprint: Blueprint, behind: frozenset[Column]) -> bool:
    """Whether reads show all that decides what a call comes to.

    Args:
        behind: The columns that decide it.
    """
    reads = [tool for tool in blueprint.tools if tool.kind == "read"]
    return behind <= frozenset[Column]().union(*map(columns_shown, reads))


def missing_columns(world: World, tool: Tool, calls: Sequence[GoldenCall]) -> frozenset[Column]:
    """Columns that decide what a tool's call comes to and that none of some calls shows."""
    shown = set[Column]()
    for call in calls:
        shown |= columns_seen(world.blueprint, tool, tool_of(world.blueprint, call.tool), call.arguments)
    return columns_behind(world)[tool.name] - shown


def deciding_calls(world: World, combination: Combination) -> set[int]:
    """Places of golden calls that are the first to show a column which decides a value that is foreseen."""
    places: set[int] = set()
    for tool in _foreseen_tools(world.blueprint, combination):
        missing = {*columns_behind(world)[tool.name]}
        for place, call in enumerate(combination.golden):
            seen = columns_seen(world.blueprint, tool, tool_of(world.blueprint, call.tool), call.arguments)
            places |= {place} if missing & seen else set()
            missing -= seen
    return places


def _foreseen_tools(blueprint: Blueprint, combination: Combination) -> list[Tool]:
    """The tools whose outcome has to be worked out."""
    names = {name for form in combination.forms for name in form.foreseen}
    tools = [tool for tool in blueprint.tools if tool.kind == "write" and tool.name in names]
    if len(tools) < len(names):
        raise Rejected("cannot be foreseen", "a form names a write that the world does not have")
    return tools


def outcome(session: ContractSession, call: Call | GoldenCall) -> CallResult | None:
    """What a call would give now; None if it would fail or break a rule. The session stays as it is."""
    result = session.peek(call.tool, call.arguments)
    return result if result.ok and not result.violations else None


def amount_of(result: CallResult | None, column: str) -> int | None:
    """A column of a result as an amount; None if there is none."""
    value = result.value.get(column) if result and isinstance(result.value, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def foreseen_amount(session: ContractSession, foreseen: Foreseen) -> int | None:
    """The value that is foreseen in the present state; None if one of the calls could not be made lawfully."""
    amounts = [amount_of(outcome(session, call), foreseen.column) for call in foreseen.calls]
    known = [amount for amount in amounts if amount is not None]
    return sum(known) if len(known) == len(amounts) else None


def check_foreseen(world: World, combination: Combination) -> int:
    """Count the values that are foreseen. Raises Rejected unless they are right at the start and in the end."""
    facts = [fact for fact in combination.communicate if fact.foreseen]
    signing_in = [*takewhile(lambda call: tool_of(world.blueprint, call.tool).kind == "auth", combination.golden)]
    for fact in facts:
        _check_fact(world, combination, fact, signing_in)
        _check_fact(world, combination, fact, combination.golden)
    for tool in _foreseen_tools(world.blueprint, combination):
        if missing := missing_columns(world, tool, combination.golden):
            raise Rejected("cannot be foreseen", f"{tool.name} turns on {min(missing)}, which no golden call shows")
    return len(facts)


def _check_fact(world: World, combination: Combination, fact: FactToTell, golden: Sequence[GoldenCall]) -> None:
    with open_session(world, combination) as session:
        make_calls(session, golden)
        value = foreseen_amount(session, fact.foreseen) if fact.foreseen else None
    if [value] != fact.values:
        raise Rejected("foreseen otherwise", f"{fact.noun} would be {value} after {len(golden)} calls")


def outcome_nouns(goals: Sequence[TaskTemplate]) -> dict[tuple[str, str], str]:
    """Write and column of its result -> what its values are called."""
    return {(goal.calls[one.call - 1].tool, one.column): one.noun for goal in reversed(goals) for one in goal.tell}


def shown_amounts(results: Sequence[CallResult]) -> set[Json]:
    """All whole numbers in results."""
    return {value for result in results for value in _cells(result.value) if isinstance(value, int)}


def _cells(value: Json) -> Iterator[Json]:
    if isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _cells(part)
    else:
        yield value
