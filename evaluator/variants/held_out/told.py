"""What is to be told, in other forms of the value, and with one thing in it wrong."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from evaluator.variants.held_out.trying import HeldOut
from evaluator.variants.telling import form, forms, moment_of, tell, told
from evaluator.variants.transcript import transcript
from evaluator.variants.variant import failing, passing
from evaluator.variants.workbench import Workbench
from skillweave.schema.record import Json
from skillweave.schema.task import FactToTell


def told_otherwise(bench: Workbench) -> Iterator[HeldOut]:
    """Each that applies to the task; of several facts one is told wrongly, and the others rightly."""
    facts = bench.task.criteria.communicate
    if not facts:
        return
    for name, words in _rightly(facts):
        variant = passing(name, transcript(bench.task, bench.golden.made, words))
        yield HeldOut(variant, " / ".join(words), [])
    for fact in facts:
        rest = [told([other for other in facts if other is not fact])] if len(facts) > 1 else []
        for name, text in _wrongly(bench, fact):
            held = transcript(bench.task, bench.golden.made, [*rest, tell(fact, text)])
            variant = failing(name, held, {"told_wrong", "did_not_tell"})
            yield HeldOut(variant, f"{fact.values[0]!r} told as: {text}", [])


def _rightly(facts: Sequence[FactToTell]) -> Iterator[tuple[str, list[str]]]:
    plain = [tell(fact, form(fact, fact.values[0])) for fact in facts]
    yield "one_by_one", plain
    yield "told_twice", [*plain, " ".join(reversed(plain))]
    for number in range(max(len(_formats(fact)) for fact in facts)):
        texts = [tell(fact, formats[number % len(formats)]) for fact in facts for formats in [_formats(fact)]]
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


def _wrongly(bench: Workbench, fact: FactToTell) -> Iterator[tuple[str, str]]:
    """Other values that an agent in haste may give."""
    right = {text for value in fact.values for text in forms(fact, value)}
    slips = [*_slips(fact), *((name, text) for name, text in [("sibling_value", _sibling(bench, fact))] if text)]
    yield from ((name, text) for name, text in slips if text not in right)


def _slips(fact: FactToTell) -> Iterator[tuple[str, str]]:
    """The value with one thing in it wrong, and a range that it lies in."""
    value, moment = fact.values[0], moment_of(fact, fact.values[0])
    if isinstance(value, int) and not isinstance(value, bool):
        by = 700 if fact.unit == "cents" else 7
        yield "range", f"somewhere between {form(fact, value - by)} and {form(fact, value + by)}"
        yield "hundredfold", form(fact, value * 100)
        digits = str(value)
        if digits[0] != digits[1:2]:
            yield "digits_swapped", form(fact, int(digits[1:2] + digits[:1] + digits[2:]))
    elif moment is not None:
        days = [form(fact, _written(fact, moment + timedelta(days=by))) for by in (-2, 2)]
        yield "range", f"somewhere between {days[0]} and {days[1]}"
        yield "a_year_off", form(fact, _written(fact, moment.replace(year=moment.year + 1, day=min(moment.day, 28))))
        yield "a_day_off", form(fact, _written(fact, moment + timedelta(days=1)))
        if fact.type == "datetime":
            half = timedelta(hours=12 if moment.hour < 12 else -12)
            yield "half_a_day_off", form(fact, _written(fact, moment + half))


def _written(fact: FactToTell, moment: datetime) -> str:
    return moment.date().isoformat() if fact.type == "date" else moment.isoformat(" ")


def _sibling(bench: Workbench, fact: FactToTell) -> str | None:
    """A value of the same kind from another column of the row that shows the fact."""
    for result in bench.results:
        rows = result.value if isinstance(result.value, list) else [result.value]
        for row in rows:
            if isinstance(row, dict) and fact.values[0] in row.values():
                found = [form(fact, value) for name, value in row.items() if _is_like(fact, name, value)]
                # Two moments of one day are the same where a day is asked for.
                other = [words for words in found if words != form(fact, fact.values[0])]
                if other:
                    return other[0]
    return None


def _is_like(fact: FactToTell, name: str, value: Json) -> bool:
    if value is None or value in fact.values or type(value) is not type(fact.values[0]):
        return False
    if isinstance(value, int):
        return not isinstance(value, bool) and name.endswith("_cents") == (fact.unit == "cents")
    return (moment_of(fact, value) is None) == (moment_of(fact, fact.values[0]) is None) and bool(value)
