"""Other words for what is to be told: right ones in other forms, wrong ones in other disguises."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from evaluator.variants.held_out.trying import HeldOut
from evaluator.variants.telling import form, forms, moment_of, others, tell, told
from evaluator.variants.transcript import transcript
from evaluator.variants.variant import failing, passing
from evaluator.variants.workbench import Workbench
from skillweave.schema.record import Json
from skillweave.schema.task import FactToTell

_PADDING = "Of course, I have looked into it for you. {} I hope that this answers your question; do take care!"


def other_words(bench: Workbench) -> Iterator[HeldOut]:
    """Each that applies to the task; of several facts one is told wrongly, and the others rightly."""
    facts = bench.task.criteria.communicate
    if not facts:
        return
    yield from _rightly(bench, facts)
    for fact in facts:
        rest = [told([other for other in facts if other is not fact])] if len(facts) > 1 else []
        for name, words in _wrongly(bench, fact):
            said = [*rest, *words]
            variant = failing(name, transcript(bench.task, bench.golden.made, said), {"told_wrong", "did_not_tell"})
            yield HeldOut(variant, f"{fact.values[0]!r} told as: {' / '.join(words)}", [])


def _rightly(bench: Workbench, facts: Sequence[FactToTell]) -> Iterator[HeldOut]:
    plain = [tell(fact, form(fact, fact.values[0])) for fact in facts]
    said = {
        "padded": [_PADDING.format(" ".join(plain))],
        "other_order": ["\n".join(f"- {text}" for text in reversed(plain))],
        "as_a_list": ["\n".join(f"- **{fact.noun.capitalize()}:** {form(fact, fact.values[0])}" for fact in facts)],
        "one_by_one": plain,
        "promised_then_told": ["Let me see what I can find out for you.", *plain],
    }
    for number in range(max(len(_formats(fact)) for fact in facts)):
        said[f"other_format_{number + 1}"] = [
            " ".join(tell(fact, formats[number % len(formats)]) for fact in facts for formats in [_formats(fact)])
        ]
    for name, words in said.items():
        yield HeldOut(passing(name, transcript(bench.task, bench.golden.made, words)), " / ".join(words), [])


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


def _wrongly(bench: Workbench, fact: FactToTell) -> Iterator[tuple[str, list[str]]]:
    right = form(fact, fact.values[0])
    yield "right_negated", [f"The {fact.noun} is not {right}."]
    yield "only_asked", [f"Is the {fact.noun} {right}?"]
    yield "cannot_say", [f"I am sorry, but I cannot tell you the {fact.noun}."]
    yield "promised_only", [f"You will get the {fact.noun} by mail within two days."]
    near = _near(fact)
    if near is not None:
        yield "range", [f"The {fact.noun} is somewhere between {near[0]} and {near[1]}."]
    wrong = [form(fact, value) for value in others(bench, fact)]
    if wrong:
        yield "contradicted_later", [tell(fact, right), f"Actually, the {fact.noun} is {wrong[-1]}."]
    for name, text in _slips(fact):
        if text not in forms(fact, fact.values[0]):
            yield name, [tell(fact, text)]
    sibling = _sibling(bench, fact)
    if sibling is not None:
        yield "sibling_value", [tell(fact, sibling)]


def _near(fact: FactToTell) -> tuple[str, str] | None:
    """Two values with the right one between them."""
    value, moment = fact.values[0], moment_of(fact, fact.values[0])
    if isinstance(value, int) and not isinstance(value, bool):
        by = 700 if fact.unit == "cents" else 7
        return form(fact, value - by), form(fact, value + by)
    if moment is None:
        return None
    days = [moment + timedelta(days=by) for by in (-2, 2)]
    texts = [day.date().isoformat() if fact.type == "date" else day.isoformat(" ") for day in days]
    return form(fact, texts[0]), form(fact, texts[1])


def _slips(fact: FactToTell) -> Iterator[tuple[str, str]]:
    """The value with one thing in it wrong."""
    value, moment = fact.values[0], moment_of(fact, fact.values[0])
    if isinstance(value, int) and not isinstance(value, bool):
        yield "hundredfold", form(fact, value * 100)
        digits = str(value)
        if digits[0] != digits[1:2]:
            yield "digits_swapped", form(fact, int(digits[1:2] + digits[:1] + digits[2:]))
    elif moment is not None:
        texts = {"a_year_off": _later_year(moment), "a_day_off": moment + timedelta(days=1)}
        if fact.type == "datetime":
            texts["half_a_day_off"] = moment + timedelta(hours=12 if moment.hour < 12 else -12)
        for name, other in texts.items():
            yield name, form(fact, other.date().isoformat() if fact.type == "date" else other.isoformat(" "))


def _later_year(moment: datetime) -> datetime:
    return moment.replace(year=moment.year + 1, day=min(moment.day, 28))


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
