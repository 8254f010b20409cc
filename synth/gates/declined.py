"""Gate: after the golden calls, the call that a `refuse` task asks for breaks the rule on record.

If a tool enforces the rule, the tool's error shows it. If only the policy states the rule, the call succeeds: so the
golden calls have to show the columns that decide the rule, and no lawful call may have the same effect.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from random import Random

from skillweave.schema.combination import Combination
from skillweave.schema.contract import Guard, RowChange, Tool
from skillweave.schema.criteria import GoldenCall
from skillweave.schema.record import Json
from skillweave.world.compare import compare
from skillweave.world.replay import rebound
from skillweave.world.session import ContractSession
from skillweave.world.tools import tool_of
from skillweave.world.world import World
from synth.contracts.visibility import columns_seen, columns_to_look_up
from synth.gates.gate import TaskGate
from synth.search.arguments import argument_search
from synth.search.blocking_rules import broken_rules
from synth.tasks.kinds import is_declined
from synth.tasks.kinds.refuse import implied_rules
from synth.tasks.replay import Rejected, ReplacedArguments, make_calls, open_session, scalar

TRIES = 4
"""Calls to try of each other tool."""


GATE = TaskGate(
    name="declined",
    proves="What is to be declined is forbidden by the rule on record, and what decides that can be known.",
    runs=(
        "The requested call, in the golden end state: the tool refuses it by that rule, or it breaks exactly that "
        "rule; then the golden reads show the columns that the rule reads, and no lawful call of another write "
        "has the same effect."
    ),
    figures={
        "lawful.declined": (
            "`rule`, who enforces it (`held_by`), rules broken with it (`goes_with`); for a rule of the agent's, the "
            "golden calls that show what decides it (`shown_by`) and the other calls tried (`other_ways`)"
        ),
    },
    reasons=(
        "not forbidden",
        "not forbidden by that rule",
        "several rules forbid it",
        "cannot be known",
        "lawful another way",
    ),
    check=lambda judged: {"lawful": check_declined(judged.world, judged.combination)},
)


def check_declined(world: World, combination: Combination) -> dict[str, Json]:
    """What is declined: the rule, who enforces it, and the other calls tried; empty if nothing is."""
    request = combination.asked
    if not is_declined(combination) and not combination.forbidden:
        return {}
    if request is None or not combination.forbidden:
        raise Rejected("not forbidden", "nothing is asked for that a rule forbids")
    tool = world.blueprint.tool(request.tool)
    guard = next((guard for guard in tool.guards if guard.rule == combination.forbidden[0]), None)
    broken = rules_broken(world, combination, {})
    if guard is None or broken != combination.forbidden:
        raise Rejected("not forbidden by that rule", f"{request.tool} breaks {broken}, not {combination.forbidden}")
    figure: dict[str, Json] = {"rule": guard.rule, "held_by": guard.enforced_by, "goes_with": [*broken[1:]]}
    with open_session(world, combination) as session:
        results = make_calls(session, combination.golden[: combination.asked_after])
        arguments = rebound(request, results)
        if guard.enforced_by == "tool":
            _check_refused(session, combination, tool, arguments)
            return {"declined": figure}
        changes = _made_unlawfully(session, combination, tool, arguments)
        others = sum(1 for _ in _others(session, combination, tool, arguments, changes))
    _check_known(world, combination, tool, guard)
    return {
        "declined": {**figure, "shown_by": [*sorted(calls_showing_reason(world, combination))], "other_ways": others}
    }


def rules_broken(world: World, combination: Combination, meant: ReplacedArguments) -> list[str] | None:
    """Rules that the requested call breaks after the golden calls in one reading; None if an argument is unknown."""
    request, place = combination.asked, len(combination.golden)
    if request is None:
        return None
    with open_session(world, combination) as session:
        results = make_calls(session, combination.golden[: combination.asked_after], instead=meant)
        replaced = {name: value for (at, name), value in meant.items() if at == place}
        grounding = {name: source for name, source in request.grounding.items() if name not in replaced}
        try:
            arguments = rebound(request.model_copy(update={"grounding": grounding}), results)
        except LookupError:
            return None
        if session.caller is None:
            return None
        return broken_rules(session, world.blueprint.tool(request.tool), {**arguments, **replaced})


def calls_showing_reason(world: World, combination: Combination) -> set[int]:
    """Positions of golden calls that show a column which decides a rule of the agent's."""
    wanted, asked = _to_know(world, combination)
    return {
        place
        for place, call in enumerate(combination.golden)
        if asked and columns_seen(world.blueprint, asked, tool_of(world.blueprint, call.tool), call.arguments) & wanted
    }


def _to_know(world: World, combination: Combination) -> tuple[frozenset[tuple[str, str]], Tool | None]:
    if not combination.forbidden or combination.asked is None:
        return frozenset(), None
    tool = world.blueprint.tool(combination.asked.tool)
    rules = [guard.rule for guard in tool.guards if guard.rule in combination.forbidden]
    return frozenset[tuple[str, str]]().union(
        *(columns_to_look_up(world.blueprint, tool, rule) for rule in rules)
    ), tool


def _check_refused(
    session: ContractSession, combination: Combination, tool: Tool, arguments: Mapping[str, Json]
) -> None:
    result = session.peek(tool.name, arguments)
    rule = result.error.rule if result.error else None
    if rule != combination.forbidden[0]:
        raise Rejected("not forbidden by that rule", f"{tool.name} is refused by {rule}")
    if len(combination.forbidden) > 1:
        random = Random(f"{combination.id}/{rule}")
        alike = implied_rules(argument_search(session, tool, random), session, combination.forbidden[0])
        apart = [other for other in combination.forbidden if other not in alike]
        if apart:
            raise Rejected("several rules forbid it", f"{rule} does not bring {apart[0]} with it")


def _made_unlawfully(
    session: ContractSession, combination: Combination, tool: Tool, arguments: Mapping[str, Json]
) -> list[RowChange]:
    """The changes that the call would make. Raises Rejected unless it succeeds and breaks only the rules on record."""
    mark = session.mark()
    result = session.call(tool.name, arguments)
    changes = session.canonical()
    session.forget(mark)
    if not result.ok or result.violations != combination.forbidden:
        raise Rejected("not forbidden by that rule", f"{tool.name} breaks {result.violations}, error {result.error}")
    return changes


def _check_known(world: World, combination: Combination, tool: Tool, guard: Guard) -> None:
    """Check that the golden calls show all columns that decide the rule."""
    shown = set[tuple[str, str]]()
    for call in combination.golden:
        shown |= columns_seen(world.blueprint, tool, tool_of(world.blueprint, call.tool), call.arguments)
    missing = columns_to_look_up(world.blueprint, tool, guard.rule) - shown
    if missing:
        raise Rejected("cannot be known", f"{guard.rule} turns on {sorted(missing)[0]}, which no golden call shows")


def _others(
    session: ContractSession,
    combination: Combination,
    tool: Tool,
    arguments: Mapping[str, Json],
    forbidden_changes: Sequence[RowChange],
) -> Iterator[GoldenCall]:
    """Lawful calls of other writes on the same rows. Raises Rejected if one has the same effect."""
    rows = {p.refers_to: arguments[p.name] for p in tool.parameters if p.refers_to and p.name in arguments}
    for other in session.world.blueprint.tools:
        if other.kind != "write" or other.name in combination.hidden:
            continue
        fixed = {p.name: scalar(rows[p.refers_to]) for p in other.parameters if p.refers_to in rows}
        search = argument_search(session, other, Random(f"{combination.id}/{other.name}"), fixed, nodes=40)
        for candidate in [*islice(search.meeting(), TRIES)]:
            mark = session.mark()
            result = session.call(other.name, candidate)
            changes = session.canonical()
            session.forget(mark)
            if result.ok and compare(forbidden_changes, changes, session.comparison).is_empty:
                raise Rejected("lawful another way", f"{other.name} does the same as {tool.name}")
            yield GoldenCall(tool=other.name, arguments=dict(candidate))
