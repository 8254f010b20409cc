"""What is to be told, in other forms of the value, and with one thing in it wrong."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from evaluator.variants.conversation import (
    all_facts,
    fact_sentence,
    failing,
    forms_of_fact,
    moment_of,
    passing,
    transcript,
    value_in_words,
)
from evaluator.variants.executor import VariantExecutor
from evaluator.variants.held_out.trying import HeldOutVariant
from skillweave.schema.record import Json
from skillweave.schema.task import FactToTell


def told_otherwise(bench: VariantExecutor) -> Iterator[HeldOutVariant]:
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
