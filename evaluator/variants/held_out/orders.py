"""The same work in other orders and forms: all pass."""

import json
from collections.abc import Iterator

from evaluator.variants.arguments import arguments_of
from evaluator.variants.conversation import VariantConversation, all_facts, passing, transcript
from evaluator.variants.executor import VariantCall, VariantExecutor
from evaluator.variants.held_out.trying import ChangedCalls, HeldOutVariant, held_out_random, right
from skillweave.schema.record import Json
from skillweave.schema.trajectory import Message

MOST_TRIES = 12
"""Calls of one read that are tried."""
MOST_ORDERS = 3


def other_orders(bench: VariantExecutor) -> Iterator[HeldOutVariant]:
    """Each that applies to the task."""
    yield from right(bench, "reads_between", _reads_between(bench))
    yield from right(bench, "reads_twice", _reads_twice(bench))
    yield from right(bench, "permuted_calls", _permuted(bench))
    yield from right(bench, "whole_numbers_as_decimals", _as_decimals(bench))
    yield from right(bench, "written_again_in_vain", _in_vain(bench))
    yield HeldOutVariant(passing("other_json", _other_json(bench)), "arguments spaced, reversed and escaped", [])


def _reads_between(bench: VariantExecutor) -> Iterator[ChangedCalls]:
    """A read that nobody needs before every call behind the sign-in."""
    start = min(int(bench.task.login == "conversation"), len(bench.moves))
    reads = [tool for tool in bench.tools if tool.kind == "read"]
    found: list[VariantCall] = []
    with bench.session(start) as session:
        for tool in held_out_random(bench, "reads").sample(reads, len(reads)):
            tried = arguments_of(bench, tool, held_out_random(bench, tool.name), MOST_TRIES)
            found += [VariantCall(tool.name, given) for given in tried if session.peek(tool.name, given).ok][:1]
    if found:
        moves = [*bench.moves[:start]]
        for place, move in enumerate(bench.moves[start:]):
            moves += [found[place % len(found)], move]
        yield ChangedCalls([*moves, found[0]], f"{', '.join(move.tool for move in found)} in between")


def _reads_twice(bench: VariantExecutor) -> Iterator[ChangedCalls]:
    moves: list[VariantCall] = []
    for move, made in zip(bench.moves, bench.golden.made, strict=True):
        is_read = bench.world.has_tool(move.tool) and bench.world.blueprint.tool(move.tool).kind == "read"
        moves += [move, VariantCall(move.tool, made.arguments)] if is_read else [move]
    if len(moves) > len(bench.moves):
        yield ChangedCalls(moves, "every look-up twice")


def _permuted(bench: VariantExecutor) -> Iterator[ChangedCalls]:
    """The calls in drawn orders in which each comes behind those that it takes from."""
    random, start = held_out_random(bench, "orders"), int(bench.task.login == "conversation")
    for _ in range(MOST_ORDERS):
        left, order = list(range(start, len(bench.moves))), [*range(start)]
        while left:
            ready = [place for place in left if bench.takes_from(place) <= {*order}]
            if not ready:
                return
            order.append(random.choice(ready))
            left.remove(order[-1])
        if order != sorted(order):
            yield ChangedCalls([bench.moves[place] for place in order], f"calls in the order {order}")


def _as_decimals(bench: VariantExecutor) -> Iterator[ChangedCalls]:
    """`5.0` for `5`, where the tool takes it."""
    given = {place: _decimals(made.arguments) for place, made in enumerate(bench.golden.made)}
    if any(given.values()):
        yield ChangedCalls([move._replace(arguments=given[move.golden or 0]) for move in bench.moves], "5.0 for 5")


def _decimals(arguments: dict[str, Json]) -> dict[str, Json]:
    return {
        name: float(value)
        for name, value in arguments.items()
        if isinstance(value, int) and not isinstance(value, bool)
    }


def _in_vain(bench: VariantExecutor) -> Iterator[ChangedCalls]:
    """Every write once more at once; right where the tool refuses it, or it changes nothing."""
    moves: list[VariantCall] = []
    for move, made in zip(bench.moves, bench.golden.made, strict=True):
        moves += [move, VariantCall(move.tool, made.arguments)] if move.golden in bench.writes else [move]
    if bench.writes:
        yield ChangedCalls(moves, "every write once more")


def _other_json(bench: VariantExecutor) -> VariantConversation:
    """The golden conversation, its arguments in another form of the same JSON."""
    held = transcript(bench.task, bench.golden.made, [all_facts(bench.task.criteria.communicate)])
    return VariantConversation([_rewritten(message) for message in held.messages], held.turns)


def _rewritten(message: Message) -> Message:
    if not message.tool_calls:
        return message
    calls = []
    for call in message.tool_calls:
        given = call.function.arguments
        held = json.loads(given) if isinstance(given, str) else given
        text = json.dumps(dict(reversed(held.items())), indent=3, ensure_ascii=True)
        calls.append(call.model_copy(update={"function": call.function.model_copy(update={"arguments": f" {text}\n"})}))
    return message.model_copy(update={"tool_calls": calls})
