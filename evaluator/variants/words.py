"""Words of the agent in variants: facts with right and wrong values, and words that decline."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from evaluator.text import facts as values
from evaluator.variants.executor import VariantExecutor
from skillweave.schema.criteria import FactToTell
from skillweave.schema.record import Json
from skillweave.schema.task import Task

PARTING_WORDS = "Everything has been looked into. Is there anything else?"
"""Polite words without a fact."""
_NO = "I am sorry, but I may not do that."
_MOST_ROWS = 400


def fact_sentence(fact: FactToTell, form: str) -> str:
    """The fact, as a sentence."""
    return f"The {fact.noun} is {form}."


def all_facts(facts: Sequence[FactToTell], which: int = 0) -> str:
    """A sentence for each fact, with its value in form number `which`."""
    return (
        " ".join(fact_sentence(fact, value_in_words(fact, fact.values[0], which)) for fact in facts)
        or "That is done now."
    )


def refusal(task: Task, which: int = 0) -> str:
    """Words that decline, with a sentence for each fact, with its value in form number `which`."""
    facts = task.criteria.communicate
    return f"{_NO} {all_facts(facts, which)}" if facts else _NO


def tells_value(fact: FactToTell, text: str) -> bool:
    """Whether a text states a right value of the fact."""
    return any(values.states_value(text, right, type=fact.type, unit=fact.unit) for right in fact.values)


def value_in_words(fact: FactToTell, value: Json, which: int = 0) -> str:
    """A value as people write it, in form number `which`."""
    forms = forms_of_fact(fact, value)
    return forms[which % len(forms)]


def forms_of_fact(fact: FactToTell, value: Json) -> list[str]:
    """The forms in which people write a value of this fact's type."""
    return values.value_forms(value, fact.type, fact.unit)


def rival_values(fact: FactToTell) -> list[Json]:
    """Rival values whose written form differs from the fact's, and which are no part of it."""
    return _apart(fact, [value for value in fact.rivals if value not in fact.parts])


def part_values(fact: FactToTell) -> list[Json]:
    """The values from which the fact is computed, without those whose words would tell it."""
    return [value for value in fact.parts if not _holds(fact, value)]


def other_values(executor: VariantExecutor, fact: FactToTell) -> list[Json]:
    """Wrong values for a fact: rivals first, then values of its column in other rows, then an invented one."""
    more = [*_of_its_column(executor, fact), *_made_up(fact)]
    return [*rival_values(fact), *(value for value in _apart(fact, more) if not _holds(fact, value))]


def _apart(fact: FactToTell, candidates: Sequence[Json]) -> list[Json]:
    """Candidates of the fact's type, one for each written form, without those written like the right value."""
    right = {value_in_words(fact, value) for value in fact.values}
    alike = [value for value in candidates if type(value) is type(fact.values[0]) and value != ""]
    by_form = {value_in_words(fact, value): value for value in alike}
    return [value for text, value in by_form.items() if text not in right]


def _holds(fact: FactToTell, value: Json) -> bool:
    """Whether the words for a value contain the right one, as `Room 2 West` contains `Room 2`."""
    return tells_value(fact, value_in_words(fact, value))


def _of_its_column(executor: VariantExecutor, fact: FactToTell) -> list[Json]:
    """Values of the fact's column in other rows of the world."""
    rows = [row for result in executor.results for row in _rows(result.value)]
    columns = sorted({name for row in rows for name, value in row.items() if value == fact.values[0]})
    values: set[str] = set()
    with executor.session(0) as session:
        for table in executor.world.blueprint.tables:
            for name in [
                attribute.name
                for attribute in table.attributes
                if attribute.name in columns and attribute.type == "string"
            ]:
                sql = f"SELECT DISTINCT {name} AS value FROM {table.table} ORDER BY {name} LIMIT {_MOST_ROWS}"
                values.update(str(row["value"]) for row in session.query(sql) if row["value"])
    return [*executor.random(fact.fact).sample(sorted(values), min(2, len(values)))]


def _rows(value: Json) -> list[dict[str, Json]]:
    rows = value if isinstance(value, list) else [value]
    return [row for row in rows if isinstance(row, dict)]


def _made_up(fact: FactToTell) -> list[Json]:
    value = fact.values[0]
    if isinstance(value, int) and not isinstance(value, bool):
        return [value + (1300 if fact.unit == "cents" else 13)]
    moment = moment_of(fact, value)
    if moment is None:
        return []
    later = moment + timedelta(days=3, hours=0 if fact.type == "date" else 1)
    return [later.date().isoformat() if fact.type == "date" else later.isoformat(" ")]


def moment_of(fact: FactToTell, value: Json) -> datetime | None:
    """The date or time of a value; None if it is neither."""
    if fact.type not in ("date", "datetime") or not isinstance(value, str):
        return None
    try:
        return datetime.fromisoformat(value)
    except ValueError:
        return None
