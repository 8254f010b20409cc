"""Wrong calls: two wrong values, another person's row, another tool, an undone write, exchanged values."""

from collections.abc import Callable, Iterator
from datetime import datetime
from itertools import combinations
from typing import NamedTuple

from evaluator.variants.arguments import arguments_of, changed_values, keys_of, owner_of, values_of
from evaluator.variants.conversation import ConversationPart, Utterance
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
from evaluator.variants.words import all_facts
from skillweave.schema.contract import Parameter, Tool
from skillweave.schema.record import Json
from skillweave.world.canonical import dump

MOST_PLACES = 6
MOST_CALLS = 12
"""Most calls to try of one other tool."""
MOST_STRANGERS = 4


class _GoldenArgument(NamedTuple):
    """An argument of a golden call."""

    position: int
    parameter: Parameter
    value: Json


def changed_calls(executor: VariantExecutor) -> Iterator[HeldOutVariant]:
    """The variants that apply to the task."""
    yield from wrong(executor, "claimed_only", _claimed(executor))
    yield from wrong(executor, "two_wrong_arguments", _two_wrong(executor))
    yield from wrong(executor, "stranger_row", _strangers(executor))
    yield from wrong(executor, "exchanged_values", _exchanged(executor))
    for name, change in _CHANGES.items():
        yield from wrong(executor, name, _each_changed(executor, change))
    yield from wrong(executor, "looked_elsewhere", _looked_elsewhere(executor))
    yield from wrong(executor, "other_tool", _other_tools(executor, instead=True))
    yield from wrong(executor, "half_and_another", _half_and_another(executor))
    yield from wrong(executor, "done_and_undone", _undone(executor))


def _claimed(executor: VariantExecutor) -> Iterator[ChangedCalls]:
    """Make no write, but tell the facts."""
    if executor.writes:
        yield ChangedCalls([call for call in executor.calls if call.golden not in executor.writes], "no write was made")


def _places(executor: VariantExecutor) -> list[_GoldenArgument]:
    return [
        _GoldenArgument(position, executor.world.blueprint.tool(step.call.tool).parameter(name), value)
        for position in executor.writes
        for step in [executor.golden.steps[position]]
        for name, value in step.arguments.items()
    ]


def _two_wrong(executor: VariantExecutor) -> Iterator[ChangedCalls]:
    random = held_out_random(executor, "two wrong")
    pairs = list(combinations(_places(executor)[:MOST_PLACES], 2))
    for first, other in random.sample(pairs, len(pairs)):
        values = [next(iter(_others(executor, place)), None) for place in (first, other)]
        if None not in values:
            yield _with(executor, [(first, values[0]), (other, values[1])])


def _others(executor: VariantExecutor, place: _GoldenArgument) -> list[Json]:
    random = held_out_random(executor, f"{place.position} {place.parameter.name}")
    if place.parameter.refers_to is not None:
        values: list[Json] = [key for key in keys_of(executor, place.parameter.refers_to, random) if key != place.value]
    else:
        values = changed_values(executor, place.parameter, place.value, random)
    return random.sample(values, len(values))


def _with(executor: VariantExecutor, changes: list[tuple[_GoldenArgument, Json]]) -> ChangedCalls:
    """The golden calls with these values instead."""
    replaced: dict[int, dict[str, Json]] = {}
    for place, value in changes:
        replaced.setdefault(place.position, {})[place.parameter.name] = value
    calls = [call._replace(arguments=replaced.get(call.golden or 0, {})) for call in executor.calls]
    descriptions = [
        f"{executor.calls[p.position].tool}.{p.parameter.name} is {value!r}, not {p.value!r}" for p, value in changes
    ]
    return ChangedCalls(calls, "; ".join(descriptions))


def _strangers(executor: VariantExecutor) -> Iterator[ChangedCalls]:
    """A row of the same table that belongs to another person."""
    people = executor.world.people
    for place in _places(executor):
        reference = place.parameter.refers_to
        owner = owner_of(executor, reference) if reference is not None else None
        if reference is None or owner is None:
            continue
        entity, key = executor.world.blueprint.target(reference)
        account = f"(SELECT {owner.account} FROM {people.table} WHERE {people.key} = :caller)"
        sql = f"SELECT {key.name} AS key FROM {entity.table} WHERE {owner.column} <> {account} ORDER BY 1"
        with executor.session(0) as session:
            keys = [str(row["key"]) for row in session.query(sql, {"caller": executor.caller})]
        for stranger in held_out_random(executor, "strangers").sample(keys, min(MOST_STRANGERS, len(keys))):
            yield _with(executor, [(place, stranger)])


def _exchanged(executor: VariantExecutor) -> Iterator[ChangedCalls]:
    """Two arguments of the same type exchange their values, within a call or between two."""
    for first, other in combinations(_places(executor), 2):
        kinds = [(place.parameter.type, place.parameter.refers_to, place.parameter.enum) for place in (first, other)]
        if kinds[0] == kinds[1] and dump(first.value) != dump(other.value):
            yield _with(executor, [(first, other.value), (other, first.value)])


def _each_changed(executor: VariantExecutor, change: Callable[[_GoldenArgument], Json]) -> Iterator[ChangedCalls]:
    for place in _places(executor):
        value = change(place)
        if value is not None and dump(value) != dump(place.value):
            yield _with(executor, [(place, value)])


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
    """A number in the wrong unit."""
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


def _looked_elsewhere(executor: VariantExecutor) -> Iterator[ChangedCalls]:
    """A read with another value; later calls take their rows from its result."""
    for position, step in enumerate(executor.golden.steps):
        tool = executor.world.blueprint.tool(step.call.tool) if executor.world.has_tool(step.call.tool) else None
        for parameter in tool.parameters if tool is not None and tool.kind == "read" else ():
            random = held_out_random(executor, f"look {position} {parameter.name}")
            for value in values_of(executor, parameter, random)[:MOST_PLACES]:
                if dump(value) != dump(step.arguments.get(parameter.name)):
                    yield _with(
                        executor, [(_GoldenArgument(position, parameter, step.arguments.get(parameter.name)), value)]
                    )


def _other_tools(executor: VariantExecutor, *, instead: bool) -> Iterator[ChangedCalls]:
    """Another write on a row that a golden write names: in its place, or after all calls."""
    for position in executor.writes:
        step = executor.golden.steps[position]
        for tool, arguments in _on_same_row(executor, position):
            call = VariantCall(tool.name, arguments)
            calls = [
                call if golden_call.golden == position and instead else golden_call for golden_call in executor.calls
            ]
            yield ChangedCalls(
                calls if instead else [*calls, call], f"{tool.name} {dump(arguments)} for {step.call.tool}"
            )


def _on_same_row(executor: VariantExecutor, position: int) -> Iterator[tuple[Tool, dict[str, Json]]]:
    """Other writes that succeed in place of a golden one, one for each tool, with their arguments."""
    step = executor.golden.steps[position]
    own = executor.world.blueprint.tool(step.call.tool)
    rows = {p.refers_to: step.arguments.get(p.name) for p in own.parameters if p.refers_to}
    tools = [tool for tool in executor.tools if tool.kind == "write" and tool.name != own.name]
    with executor.session(position) as session:
        for tool in held_out_random(executor, f"other tools {position}").sample(tools, len(tools)):
            shared = {p.name: rows[p.refers_to] for p in tool.parameters if p.refers_to in rows}
            if not shared and rows:
                continue
            random = held_out_random(executor, f"{position} {tool.name}")
            for arguments in arguments_of(executor, tool, random, MOST_CALLS):
                if session.peek(tool.name, {**arguments, **shared}).ok:
                    yield tool, {**arguments, **shared}
                    break


def _half_and_another(executor: VariantExecutor) -> Iterator[ChangedCalls]:
    """The last of several writes is left out, and another write is made."""
    if len(executor.writes) > 1:
        last = executor.writes[-1]
        for way in _other_tools(executor, instead=False):
            yield ChangedCalls(
                [call for call in way.calls if call.golden != last], f"without the last write; {way.what}"
            )


def _undone(executor: VariantExecutor) -> Iterator[ChangedCalls]:
    """A write after the golden calls that undoes one of their changes."""
    with executor.session(len(executor.world_calls)) as session:
        before = {(change.table, dump(change.key)) for change in session.diff()}
        tools = [tool for tool in executor.tools if tool.kind == "write"]
        for tool in held_out_random(executor, "undo").sample(tools, len(tools)):
            random = held_out_random(executor, f"undo {tool.name}")
            for arguments in arguments_of(executor, tool, random, MOST_CALLS):
                mark = session.mark()
                went = session.call(tool.name, arguments).ok
                after = {(change.table, dump(change.key)) for change in session.diff()}
                session.forget(mark)
                if went and before - after:
                    yield ChangedCalls(
                        [*executor.calls, VariantCall(tool.name, arguments)], f"undone by {tool.name} {dump(arguments)}"
                    )


def needless_declines(executor: VariantExecutor) -> Iterator[HeldOutVariant]:
    """Decline what is possible: between the calls, before or after them, or by a transfer."""
    if not executor.wrong_rules:
        return
    rule = held_out_random(executor, "rules").choice(executor.wrong_rules)
    words = Utterance(all_facts(executor.task.criteria.communicate))
    last = decline_call(rule)
    ways = {
        "declined_in_between": [*executor.calls[:1], last, *executor.calls[1:]],
        "declined_first": [last, *executor.calls],
    }
    for name, calls in ways.items():
        yield held_out_failing(executor, name, [*executed_parts(executor, calls), words], described_calls(calls))
    after: list[ConversationPart] = [
        *executed_parts(executor, executor.calls),
        words,
        *executed_parts(executor, [*executor.calls, last])[-1:],
        Utterance("Unfortunately I have to say no to this."),
    ]
    yield held_out_failing(executor, "declined_afterwards", after, f"declined by {rule} when all is done")
    handed = [*executor.calls, transfer_to_human(reason="policy", rule=rule)]
    beats = executed_parts(executor, handed)
    yield held_out_failing(
        executor, "done_and_handed_over_by_rule", [*beats[:-1], words, beats[-1]], described_calls(handed), "transfer"
    )
