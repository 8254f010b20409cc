"""Tells facts in words: right and wrong, in the forms in which people write values."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal

from evaluator.variants.workbench import Workbench
from skillweave.schema.record import Json
from skillweave.schema.task import FactToTell

PARTING = "Everything has been looked into. Is there anything else?"
"""Polite, and tells nothing."""
_MOST_ROWS = 400
_MONTH_NAMES = "January February March April May June July August September October November December"
_MONTHS = _MONTH_NAMES.split()


def tell(fact: FactToTell, form: str) -> str:
    """The fact, as a sentence."""
    return f"The {fact.noun} is {form}."


def tell_again(fact: FactToTell, form: str) -> str:
    """The same in other words."""
    return f"To say it once more: {form} is the {fact.noun}."


def told(facts: Sequence[FactToTell], which: int = 0) -> str:
    """All facts, each in its form of that number."""
    return " ".join([*(tell(fact, form(fact, fact.values[0], which)) for fact in facts)]) or "That is done now."


def form(fact: FactToTell, value: Json, which: int = 0) -> str:
    """A value in words."""
    found = forms(fact, value)
    return found[which % len(found)]


def forms(fact: FactToTell, value: Json) -> list[str]:
    """The forms in which people write a value of this kind."""
    if isinstance(value, int) and not isinstance(value, bool):
        return _amounts(value) if fact.unit == "cents" else _distinct(str(value), f"{value:,}")
    moment = moment_of(fact, value)
    if moment is not None:
        return _days(moment) if fact.type == "date" else _times(moment)
    return _distinct(str(value), str(value).replace("_", " "))


def others(bench: Workbench, fact: FactToTell) -> list[Json]:
    """Other values of its kind: rivals first, then those that its column holds elsewhere, then one made up."""
    right = {form(fact, value) for value in fact.values}
    candidates = [*fact.rivals, *_of_its_column(bench, fact), *_made_up(fact)]
    by_form = {form(fact, value): value for value in candidates if _is_like(fact, value)}
    return [value for text, value in by_form.items() if text not in right]


def rivals(fact: FactToTell) -> list[Json]:
    """The rivals that can be told from the fact in words."""
    right = {form(fact, value) for value in fact.values}
    by_form = {form(fact, value): value for value in fact.rivals if _is_like(fact, value)}
    return [value for text, value in by_form.items() if text not in right]


def _is_like(fact: FactToTell, value: Json) -> bool:
    return type(value) is type(fact.values[0]) and value != ""


def _of_its_column(bench: Workbench, fact: FactToTell) -> list[Json]:
    """Values of the column that a golden result shows the fact in, from other rows of the world."""
    rows = [row for result in bench.results for row in _rows(result.value)]
    columns = sorted({name for row in rows for name, value in row.items() if value == fact.values[0]})
    found: set[str] = set()
    with bench.session(0) as session:
        for table in bench.world.blueprint.tables:
            for name in [one.name for one in table.attributes if one.name in columns and one.type == "string"]:
                sql = f"SELECT DISTINCT {name} AS value FROM {table.table} ORDER BY {name} LIMIT {_MOST_ROWS}"
                found.update(str(row["value"]) for row in session.query(sql) if row["value"])
    return [*bench.random(fact.fact).sample(sorted(found), min(2, len(found)))]


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
    """The day or time that a value is; None where it is none."""
    if fact.type not in ("date", "datetime") or not isinstance(value, str):
        return None
    try:
        return datetime.fromisoformat(value)
    except ValueError:
        return None


def _amounts(cents: int) -> list[str]:
    amount = Decimal(cents) / 100
    whole = [str(cents // 100), f"{cents // 100:,}"] if cents % 100 == 0 else []
    return _distinct(f"{amount:,.2f}", f"{amount:.2f}", *whole)


def _days(day: datetime) -> list[str]:
    month = _MONTHS[day.month - 1]
    return [
        f"{day.day} {month} {day.year}",
        day.date().isoformat(),
        f"{month} {day.day}, {day.year}",
        f"{month} {day.day}",
    ]


def _times(moment: datetime) -> list[str]:
    clock, half = f"{moment:%H:%M}", f"{moment.hour % 12 or 12}:{moment:%M} {'am' if moment.hour < 12 else 'pm'}"
    month = _MONTHS[moment.month - 1]
    return [
        f"{moment.day} {month} {moment.year} at {clock}",
        f"{moment:%Y-%m-%d %H:%M}",
        f"{month} {moment.day} at {half}",
        f"{clock} on {moment.day} {month}",
    ]


def _distinct(*texts: str) -> list[str]:
    return list(dict.fromkeys(texts))
