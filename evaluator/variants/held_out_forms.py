"""The second set's other forms: the same calls in other orders and forms, and facts told in other words or wrongly."""

import json
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from evaluator.variants.arguments import arguments_of
from evaluator.variants.conversation import (
    VariantConversation,
    all_facts,
    fact_sentence,
    failing,
    forms_of_fact,
    moment_of,
    passing,
    transcript,
    value_in_words,
)
from evaluator.variants.executor import VariantCall, VariantExecutor
from evaluator.variants.held_out import ChangedCalls, HeldOutVariant, held_out_random, right
from skillweave.schema.record import Json
from skillweave.schema.task import FactToTell
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


def other_forms_of_facts(bench: VariantExecutor) -> Iterator[HeldOutVariant]:
    """Each that applies to the task; of several facts one is told wrongly, and the others rightly."""
    facts = bench.task.criteria.communicate
    if not facts:
        return
    for name, words in _rightly(facts):
        variant = passing(name, transcript(bench.task, bench.golden.made, words))
        yield HeldOutVariant(variant, " / ".join(words), [])
    for fact in facts:
        rest = [all_facts([other for other in facts if other is not fact])] if len(facts) > 1 else []
        for name, text in _wrongly(bench, fact):
            held = transcript(bench.task, bench.golden.made, [*rest, fact_sentence(fact, text)])
            variant = failing(name, held, {"told_wrong", "did_not_tell"})
            yield HeldOutVariant(variant, f"{fact.values[0]!r} told as: {text}", [])


def _rightly(facts: Sequence[FactToTell]) -> Iterator[tuple[str, list[str]]]:
    plain = [fact_sentence(fact, value_in_words(fact, fact.values[0])) for fact in facts]
    yield "one_by_one", plain
    yield "told_twice", [*plain, " ".join(reversed(plain))]
    for number in range(max(len(_formats(fact)) for fact in facts)):
        texts = [fact_sentence(fact, formats[number % len(formats)]) for fact in facts for formats in [_formats(fact)]]
        yield f"other_format_{number + 1}", [" ".join(texts)]


def _formats(fact: FactToTell) -> list[str]:
    """Forms that the first set does not use."""
    value, moment = fact.values[0], moment_of(fact, fact.values[0])
    if isinstance(value, int) and not isinstance(value, bool):
        amount = f"{value / 100:,.2f}"
        return [f"${amount}", f"{amount} EUR", f"€ {amount}"] if fact.unit == "cents" else [f"{value}"]
    if moment is None:
        return [f'"{value}"', f"**{value}**"]
    day = f"{moment:%A}, {moment.day} {moment:%B} {moment.year}"
    short = f"{moment:%a} {moment.day} {moment:%b} {moment.year}"
    if fact.type == "date":
        return [day, short]
    half = f"{moment.hour % 12 or 12}:{moment:%M} {'a.m.' if moment.hour < 12 else 'p.m.'}"
    return [f"{day} at {moment:%H:%M}", f"{short}, {half}"]


def _wrongly(bench: VariantExecutor, fact: FactToTell) -> Iterator[tuple[str, str]]:
    """Other values that an agent in haste may give."""
    right = {text for value in fact.values for text in forms_of_fact(fact, value)}
    slips = [*_slips(fact), *((name, text) for name, text in [("sibling_value", _sibling(bench, fact))] if text)]
    yield from ((name, text) for name, text in slips if text not in right)


def _slips(fact: FactToTell) -> Iterator[tuple[str, str]]:
    """The value with one thing in it wrong, and a range that it lies in."""
    value, moment = fact.values[0], moment_of(fact, fact.values[0])
    if isinstance(value, int) and not isinstance(value, bool):
        by = 700 if fact.unit == "cents" else 7
        yield "range", f"somewhere between {value_in_words(fact, value - by)} and {value_in_words(fact, value + by)}"
        yield "hundredfold", value_in_words(fact, value * 100)
        digits = str(value)
        if digits[0] != digits[1:2]:
            yield "digits_swapped", value_in_words(fact, int(digits[1:2] + digits[:1] + digits[2:]))
    elif moment is not None:
        days = [value_in_words(fact, _written(fact, moment + timedelta(days=by))) for by in (-2, 2)]
        yield "range", f"somewhere between {days[0]} and {days[1]}"
        yield (
            "a_year_off",
            value_in_words(fact, _written(fact, moment.replace(year=moment.year + 1, day=min(moment.day, 28)))),
        )
        yield "a_day_off", value_in_words(fact, _written(fact, moment + timedelta(days=1)))
        if fact.type == "datetime":
            half = timedelta(hours=12 if moment.hour < 12 else -12)
            yield "half_a_day_off", value_in_words(fact, _written(fact, moment + half))


def _written(fact: FactToTell, moment: datetime) -> str:
    return moment.date().isoformat() if fact.type == "date" else moment.isoformat(" ")


def _sibling(bench: VariantExecutor, fact: FactToTell) -> str | None:
    """A value of the same kind from another column of the row that shows the fact."""
    for result in bench.results:
        rows = result.value if isinstance(result.value, list) else [result.value]
        for row in rows:
            if isinstance(row, dict) and fact.values[0] in row.values():
                found = [value_in_words(fact, value) for name, value in row.items() if _is_like(fact, name, value)]
                # Two moments of one day are the same where a day is asked for.
                other = [words for words in found if words != value_in_words(fact, fact.values[0])]
                if other:
                    return other[0]
    return None


def _is_like(fact: FactToTell, name: str, value: Json) -> bool:
    if value is None or value in fact.values or type(value) is not type(fact.values[0]):
        return False
    if isinstance(value, int):
        return not isinstance(value, bool) and name.endswith("_cents") == (fact.unit == "cents")
    return (moment_of(fact, value) is None) == (moment_of(fact, fact.values[0]) is None) and bool(value)
