"""The second set's other forms: the same calls in other orders and forms, and facts told in other words or wrongly."""

import json
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from evaluator.variants.arguments import arguments_of
from evaluator.variants.conversation import VariantConversation, failing, passing, transcript
from evaluator.variants.executor import VariantCall, VariantExecutor
from evaluator.variants.held_out import ChangedCalls, HeldOutVariant, held_out_random, right
from evaluator.variants.words import all_facts, fact_sentence, forms_of_fact, moment_of, tells_value, value_in_words
from skillweave.schema.criteria import FactToTell
from skillweave.schema.record import Json
from skillweave.schema.trajectory import Message

MOST_TRIES = 12
"""Most calls to try of one read."""
MOST_ORDERS = 3


def other_orders(executor: VariantExecutor) -> Iterator[HeldOutVariant]:
    """The variants that apply to the task."""
    yield from right(executor, "reads_between", _reads_between(executor))
    yield from right(executor, "reads_twice", _reads_twice(executor))
    yield from right(executor, "permuted_calls", _permuted(executor))
    yield from right(executor, "whole_numbers_as_decimals", _as_decimals(executor))
    yield from right(executor, "written_again_in_vain", _in_vain(executor))
    yield HeldOutVariant(passing("other_json", _other_json(executor)), "arguments spaced, reversed and escaped", [])


def _reads_between(executor: VariantExecutor) -> Iterator[ChangedCalls]:
    """A needless read before every call after the sign-in."""
    start = min(int(executor.task.login == "conversation"), len(executor.calls))
    reads = [tool for tool in executor.tools if tool.kind == "read"]
    between: list[VariantCall] = []
    with executor.session(start) as session:
        for tool in held_out_random(executor, "reads").sample(reads, len(reads)):
            tried = arguments_of(executor, tool, held_out_random(executor, tool.name), MOST_TRIES)
            between += [
                VariantCall(tool.name, arguments) for arguments in tried if session.peek(tool.name, arguments).ok
            ][:1]
    if between:
        calls = [*executor.calls[:start]]
        for place, call in enumerate(executor.calls[start:]):
            calls += [between[place % len(between)], call]
        yield ChangedCalls([*calls, between[0]], f"{', '.join(call.tool for call in between)} in between")


def _reads_twice(executor: VariantExecutor) -> Iterator[ChangedCalls]:
    calls: list[VariantCall] = []
    for call, step in zip(executor.calls, executor.golden.steps, strict=True):
        is_read = executor.world.has_tool(call.tool) and executor.world.blueprint.tool(call.tool).kind == "read"
        calls += [call, VariantCall(call.tool, step.arguments)] if is_read else [call]
    if len(calls) > len(executor.calls):
        yield ChangedCalls(calls, "every look-up twice")


def _permuted(executor: VariantExecutor) -> Iterator[ChangedCalls]:
    """The calls in random orders; each comes after the calls from which it takes arguments."""
    random, start = held_out_random(executor, "orders"), int(executor.task.login == "conversation")
    for _ in range(MOST_ORDERS):
        left, order = list(range(start, len(executor.calls))), [*range(start)]
        while left:
            ready = [place for place in left if executor.takes_from(place) <= {*order}]
            if not ready:
                return
            order.append(random.choice(ready))
            left.remove(order[-1])
        if order != sorted(order):
            yield ChangedCalls([executor.calls[place] for place in order], f"calls in the order {order}")


def _as_decimals(executor: VariantExecutor) -> Iterator[ChangedCalls]:
    """`5.0` instead of `5`."""
    arguments = {place: _decimals(step.arguments) for place, step in enumerate(executor.golden.steps)}
    if any(arguments.values()):
        yield ChangedCalls(
            [call._replace(arguments=arguments[call.golden or 0]) for call in executor.calls], "5.0 for 5"
        )


def _decimals(arguments: dict[str, Json]) -> dict[str, Json]:
    return {
        name: float(value)
        for name, value in arguments.items()
        if isinstance(value, int) and not isinstance(value, bool)
    }


def _in_vain(executor: VariantExecutor) -> Iterator[ChangedCalls]:
    """Each write twice in a row; the variant passes if the tool refuses the second or it changes nothing."""
    calls: list[VariantCall] = []
    for call, step in zip(executor.calls, executor.golden.steps, strict=True):
        calls += [call, VariantCall(call.tool, step.arguments)] if call.golden in executor.writes else [call]
    if executor.writes:
        yield ChangedCalls(calls, "every write once more")


def _other_json(executor: VariantExecutor) -> VariantConversation:
    """The golden conversation, with arguments as differently formatted JSON."""
    golden = transcript(executor.task, executor.golden.steps, [all_facts(executor.task.criteria.communicate)])
    return VariantConversation([_rewritten(message) for message in golden.messages], golden.turns)


def _rewritten(message: Message) -> Message:
    if not message.tool_calls:
        return message
    calls = []
    for call in message.tool_calls:
        written = call.function.arguments
        arguments = json.loads(written) if isinstance(written, str) else written
        text = json.dumps(dict(reversed(arguments.items())), indent=3, ensure_ascii=True)
        calls.append(call.model_copy(update={"function": call.function.model_copy(update={"arguments": f" {text}\n"})}))
    return message.model_copy(update={"tool_calls": calls})


def other_forms_of_facts(executor: VariantExecutor) -> Iterator[HeldOutVariant]:
    """The variants that apply to the task, with at most one wrong fact each."""
    facts = executor.task.criteria.communicate
    if not facts:
        return
    for name, words in _rightly(facts):
        variant = passing(name, transcript(executor.task, executor.golden.steps, words))
        yield HeldOutVariant(variant, " / ".join(words), [])
    for fact in facts:
        rest = [all_facts([other for other in facts if other is not fact])] if len(facts) > 1 else []
        if any(tells_value(fact, words) for words in rest):
            continue
        for name, text in _wrongly(executor, fact):
            golden = transcript(executor.task, executor.golden.steps, [*rest, fact_sentence(fact, text)])
            variant = failing(name, golden, {"told_wrong", "did_not_tell"})
            yield HeldOutVariant(variant, f"{fact.values[0]!r} told as: {text}", [])


def _rightly(facts: Sequence[FactToTell]) -> Iterator[tuple[str, list[str]]]:
    plain = [fact_sentence(fact, value_in_words(fact, fact.values[0])) for fact in facts]
    yield "one_by_one", plain
    yield "told_twice", [*plain, " ".join(reversed(plain))]
    worked_out = [_worked_out(fact) for fact in facts if fact.parts]
    if worked_out:
        yield "worked_out", [*worked_out, *([all_facts(facts)] if len(facts) > 1 else [])]
    for number in range(max(len(_formats(fact)) for fact in facts)):
        texts = [fact_sentence(fact, formats[number % len(formats)]) for fact in facts for formats in [_formats(fact)]]
        yield f"other_format_{number + 1}", [" ".join(texts)]


def _worked_out(fact: FactToTell) -> str:
    """The fact, after the values from which it is computed."""
    parts = ", ".join(value_in_words(fact, value) for value in fact.parts)
    return f"From {parts} it follows: {fact_sentence(fact, value_in_words(fact, fact.values[0]))}"


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


def _wrongly(executor: VariantExecutor, fact: FactToTell) -> Iterator[tuple[str, str]]:
    """Wrong values that an agent may give by mistake."""
    right = {text for value in fact.values for text in forms_of_fact(fact, value)}
    slips = [*_slips(fact), *((name, text) for name, text in [("sibling_value", _sibling(executor, fact))] if text)]
    yield from ((name, text) for name, text in slips if text not in right)


def _slips(fact: FactToTell) -> Iterator[tuple[str, str]]:
    """The value with one error in it, and a range around it."""
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


def _sibling(executor: VariantExecutor, fact: FactToTell) -> str | None:
    """A value of the same kind from another column of the row that shows the fact."""
    for result in executor.results:
        rows = result.value if isinstance(result.value, list) else [result.value]
        for row in rows:
            if isinstance(row, dict) and fact.values[0] in row.values():
                values = [value_in_words(fact, value) for name, value in row.items() if _is_like(fact, name, value)]
                # If the fact is a day, two times of one day are equal.
                other = [words for words in values if words != value_in_words(fact, fact.values[0])]
                if other:
                    return other[0]
    return None


def _is_like(fact: FactToTell, name: str, value: Json) -> bool:
    if value is None or value in fact.values or type(value) is not type(fact.values[0]):
        return False
    if isinstance(value, int):
        return not isinstance(value, bool) and name.endswith("_cents") == (fact.unit == "cents")
    return (moment_of(fact, value) is None) == (moment_of(fact, fact.values[0]) is None) and bool(value)
