"""Wrong calls: two values at once, another person's row, another tool, what was done undone, values exchanged."""

from collections.abc import Callable, Iterator
from datetime import datetime
from itertools import combinations
from typing import NamedTuple

from evaluator.variants.arguments import arguments_of, changed_values, keys_of, owner_of, values_of
from evaluator.variants.conversation import ConversationPart, Utterance, all_facts
from evaluator.variants.executor import VariantCall, VariantExecutor
from evaluator.variants.held_out import (
    ChangedCalls,
    HeldOutVariant,
    decline_call,
    described_calls,
    executed_parts,
    held_out_failing,
    held_out_random,
    transfer_to_human,
    wrong,
)
from skillweave.schema.contract import Parameter, Tool
from skillweave.schema.record import Json
from skillweave.world.canonical import dump

MOST_PLACES = 6
MOST_CALLS = 12
"""Calls of one other tool that are tried."""
MOST_STRANGERS = 4


class _GoldenArgument(NamedTuple):
    """An argument of a golden call."""

    call: int
    parameter: Parameter
    value: Json


def changed_calls(bench: VariantExecutor) -> Iterator[HeldOutVariant]:
    """Each that applies to the task."""
    yield from wrong(bench, "claimed_only", _claimed(bench))
    yield from wrong(bench, "two_wrong_arguments", _two_wrong(bench))
    yield from wrong(bench, "stranger_row", _strangers(bench))
    yield from wrong(bench, "exchanged_values", _exchanged(bench))
    for name, change in _CHANGES.items():
        yield from wrong(bench, name, _each_changed(bench, change))
    yield from wrong(bench, "looked_elsewhere", _looked_elsewhere(bench))
    yield from wrong(bench, "other_tool", _other_tools(bench, instead=True))
    yield from wrong(bench, "half_and_another", _half_and_another(bench))
    yield from wrong(bench, "done_and_undone", _undone(bench))


def _claimed(bench: VariantExecutor) -> Iterator[ChangedCalls]:
    """Nothing is written, and the facts are told."""
    if bench.writes:
        yield ChangedCalls([move for move in bench.moves if move.golden not in bench.writes], "no write was made")


def _places(bench: VariantExecutor) -> list[_GoldenArgument]:
    return [
        _GoldenArgument(call, bench.world.blueprint.tool(made.move.tool).parameter(name), value)
        for call in bench.writes
        for made in [bench.golden.made[call]]
        for name, value in made.arguments.items()
    ]


def _two_wrong(bench: VariantExecutor) -> Iterator[ChangedCalls]:
    random = held_out_random(bench, "two wrong")
    pairs = list(combinations(_places(bench)[:MOST_PLACES], 2))
    for one, other in random.sample(pairs, len(pairs)):
        values = [next(iter(_others(bench, place)), None) for place in (one, other)]
        if None not in values:
            yield _with(bench, [(one, values[0]), (other, values[1])])


def _others(bench: VariantExecutor, place: _GoldenArgument) -> list[Json]:
    random = held_out_random(bench, f"{place.call} {place.parameter.name}")
    if place.parameter.refers_to is not None:
        found: list[Json] = [key for key in keys_of(bench, place.parameter.refers_to, random) if key != place.value]
    else:
        found = changed_values(bench, place.parameter, place.value, random)
    return random.sample(found, len(found))


def _with(bench: VariantExecutor, changes: list[tuple[_GoldenArgument, Json]]) -> ChangedCalls:
    """The golden calls with these values instead."""
    given: dict[int, dict[str, Json]] = {}
    for place, value in changes:
        given.setdefault(place.call, {})[place.parameter.name] = value
    moves = [move._replace(arguments=given.get(move.golden or 0, {})) for move in bench.moves]
    said = [f"{bench.moves[p.call].tool}.{p.parameter.name} is {value!r}, not {p.value!r}" for p, value in changes]
    return ChangedCalls(moves, "; ".join(said))


def _strangers(bench: VariantExecutor) -> Iterator[ChangedCalls]:
    """A row of the same table that belongs to somebody else."""
    people = bench.world.people
    for place in _places(bench):
        reference = place.parameter.refers_to
        owner = owner_of(bench, reference) if reference is not None else None
        if reference is None or owner is None:
            continue
        entity, key = bench.world.blueprint.target(reference)
        account = f"(SELECT {owner.account} FROM {people.table} WHERE {people.key} = :caller)"
        sql = f"SELECT {key.name} AS key FROM {entity.table} WHERE {owner.column} <> {account} ORDER BY 1"
        with bench.session(0) as session:
            keys = [str(row["key"]) for row in session.query(sql, {"caller": bench.caller})]
        for stranger in held_out_random(bench, "strangers").sample(keys, min(MOST_STRANGERS, len(keys))):
            yield _with(bench, [(place, stranger)])


def _exchanged(bench: VariantExecutor) -> Iterator[ChangedCalls]:
    """Two arguments that may hold the same values change them, in one call or between two."""
    for one, other in combinations(_places(bench), 2):
        kinds = [(place.parameter.type, place.parameter.refers_to, place.parameter.enum) for place in (one, other)]
        if kinds[0] == kinds[1] and dump(one.value) != dump(other.value):
            yield _with(bench, [(one, other.value), (other, one.value)])


def _each_changed(bench: VariantExecutor, change: Callable[[_GoldenArgument], Json]) -> Iterator[ChangedCalls]:
    for place in _places(bench):
        value = change(place)
        if value is not None and dump(value) != dump(place.value):
            yield _with(bench, [(place, value)])


def _a_year_off(place: _GoldenArgument) -> Json:
    if place.parameter.type not in ("date", "datetime") or not isinstance(place.value, str):
        return None
    try:
        moment = datetime.fromisoformat(place.value)
        other = moment.replace(year=moment.year + 1)
    except ValueError:
        return None
    return other.date().isoformat() if len(place.value) == len("2025-01-24") else other.isoformat(" ")


def _hundredfold(place: _GoldenArgument) -> Json:
    """A unit taken for another."""
    is_number = isinstance(place.value, int) and not isinstance(place.value, bool)
    return place.value * 100 if is_number and isinstance(place.value, int) else None


def _is_text(place: _GoldenArgument) -> bool:
    parameter = place.parameter
    is_plain = parameter.type == "string" and parameter.enum is None and parameter.refers_to is None
    return is_plain and isinstance(place.value, str) and bool(place.value)


def _other_case(place: _GoldenArgument) -> Json:
    text = str(place.value)
    return text.swapcase().replace(" ", "  ") if _is_text(place) else None


def _cut_off(place: _GoldenArgument) -> Json:
    text = str(place.value)
    return text[: len(text) // 2].strip() if _is_text(place) and len(text) > 1 else None


def _negated(place: _GoldenArgument) -> Json:
    return not place.value if isinstance(place.value, bool) else None


_CHANGES: dict[str, Callable[[_GoldenArgument], Json]] = {
    "a_year_off": _a_year_off,
    "hundredfold": _hundredfold,
    "other_case": _other_case,
    "cut_off": _cut_off,
    "negated": _negated,
}


def _looked_elsewhere(bench: VariantExecutor) -> Iterator[ChangedCalls]:
    """A look-up with another value, and what follows takes its row from what that shows."""
    for call, made in enumerate(bench.golden.made):
        tool = bench.world.blueprint.tool(made.move.tool) if bench.world.has_tool(made.move.tool) else None
        for parameter in tool.parameters if tool is not None and tool.kind == "read" else ():
            random = held_out_random(bench, f"look {call} {parameter.name}")
            for value in values_of(bench, parameter, random)[:MOST_PLACES]:
                if dump(value) != dump(made.arguments.get(parameter.name)):
                    yield _with(bench, [(_GoldenArgument(call, parameter, made.arguments.get(parameter.name)), value)])


def _other_tools(bench: VariantExecutor, *, instead: bool) -> Iterator[ChangedCalls]:
    """Other writes on a row that a golden write names: in its place, or behind all."""
    for call in bench.writes:
        made = bench.golden.made[call]
        for tool, given in _on_same_row(bench, call):
            move = VariantCall(tool.name, given)
            kept = [move if one.golden == call and instead else one for one in bench.moves]
            yield ChangedCalls(kept if instead else [*kept, move], f"{tool.name} {dump(given)} for {made.move.tool}")


def _on_same_row(bench: VariantExecutor, call: int) -> Iterator[tuple[Tool, dict[str, Json]]]:
    """Other writes that can be made where a golden one is, with their arguments, one of each tool."""
    made = bench.golden.made[call]
    own = bench.world.blueprint.tool(made.move.tool)
    rows = {p.refers_to: made.arguments.get(p.name) for p in own.parameters if p.refers_to}
    tools = [tool for tool in bench.tools if tool.kind == "write" and tool.name != own.name]
    with bench.session(call) as session:
        for tool in held_out_random(bench, f"other tools {call}").sample(tools, len(tools)):
            shared = {p.name: rows[p.refers_to] for p in tool.parameters if p.refers_to in rows}
            if not shared and rows:
                continue
            random = held_out_random(bench, f"{call} {tool.name}")
            for given in arguments_of(bench, tool, random, MOST_CALLS):
                if session.peek(tool.name, {**given, **shared}).ok:
                    yield tool, {**given, **shared}
                    break


def _half_and_another(bench: VariantExecutor) -> Iterator[ChangedCalls]:
    """Of several writes the last is left out, and another one is made."""
    if len(bench.writes) > 1:
        left = bench.writes[-1]
        for way in _other_tools(bench, instead=False):
            yield ChangedCalls(
                [move for move in way.moves if move.golden != left], f"without the last write; {way.what}"
            )


def _undone(bench: VariantExecutor) -> Iterator[ChangedCalls]:
    """A write behind the golden ones after which one of their changes is gone."""
    with bench.session(len(bench.looks)) as session:
        before = {(change.table, dump(change.key)) for change in session.diff()}
        tools = [tool for tool in bench.tools if tool.kind == "write"]
        for tool in held_out_random(bench, "undo").sample(tools, len(tools)):
            random = held_out_random(bench, f"undo {tool.name}")
            for given in arguments_of(bench, tool, random, MOST_CALLS):
                mark = session.mark()
                went = session.call(tool.name, given).ok
                after = {(change.table, dump(change.key)) for change in session.diff()}
                session.forget(mark)
                if went and before - after:
                    yield ChangedCalls(
                        [*bench.moves, VariantCall(tool.name, given)], f"undone by {tool.name} {dump(given)}"
                    )


def needless_declines(bench: VariantExecutor) -> Iterator[HeldOutVariant]:
    """A request that can be carried out is declined: in between, first, afterwards, or by a transfer."""
    if not bench.world.blueprint.rules:
        return
    rule, words = (
        held_out_random(bench, "rules").choice(bench.world.blueprint.rules),
        Utterance(all_facts(bench.task.criteria.communicate)),
    )
    last = decline_call(rule)
    ways = {"declined_in_between": [*bench.moves[:1], last, *bench.moves[1:]], "declined_first": [last, *bench.moves]}
    for name, moves in ways.items():
        yield held_out_failing(bench, name, [*executed_parts(bench, moves), words], described_calls(moves))
    after: list[ConversationPart] = [
        *executed_parts(bench, bench.moves),
        words,
        *executed_parts(bench, [*bench.moves, last])[-1:],
        Utterance("Unfortunately I have to say no to this."),
    ]
    yield held_out_failing(bench, "declined_afterwards", after, f"declined by {rule} when all is done")
    handed = [*bench.moves, transfer_to_human(reason="policy", rule=rule)]
    beats = executed_parts(bench, handed)
    yield held_out_failing(
        bench, "done_and_handed_over_by_rule", [*beats[:-1], words, beats[-1]], described_calls(handed), "transfer"
    )
