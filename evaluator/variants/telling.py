"""Tells facts: the right value and wrong ones, in forms in which people write them."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from evaluator import values
from evaluator.variants.workbench import Workbench
from skillweave.schema.record import Json
from skillweave.schema.task import FactToTell

PARTING = "Everything has been looked into. Is there anything else?"
"""Polite, and tells nothing."""
_MOST_ROWS = 400


def tell(fact: FactToTell, form: str) -> str:
    """The fact, as a sentence."""
    return f"The {fact.noun} is {form}."


def told(facts: Sequence[FactToTell], which: int = 0) -> str:
    """All facts, each in its form of that number."""
    return " ".join(tell(fact, form(fact, fact.values[0], which)) for fact in facts) or "That is done now."


def form(fact: FactToTell, value: Json, which: int = 0) -> str:
    """A value in words."""
    found = forms(fact, value)
    return found[which % len(found)]


def forms(fact: FactToTell, value: Json) -> list[str]:
    """The forms in which people write a value of this kind."""
    return values.forms(value, fact.type, fact.unit)


def rivals(fact: FactToTell) -> list[Json]:
    """The rivals that are written otherwise than the fact."""
    return _apart(fact, fact.rivals)


def others(bench: Workbench, fact: FactToTell) -> list[Json]:
    """Other values of its kind: rivals first, then those that its column holds elsewhere, then one made up."""
    more = [*_of_its_column(bench, fact), *_made_up(fact)]
    return [*rivals(fact), *(value for value in _apart(fact, more) if not _holds(fact, value))]


def _apart(fact: FactToTell, candidates: Sequence[Json]) -> list[Json]:
    """Values of its kind, once each as they are written; those left out that are written as the right one."""
    right = {form(fact, value) for value in fact.values}
    alike = [value for value in candidates if type(value) is type(fact.values[0]) and value != ""]
    by_form = {form(fact, value): value for value in alike}
    return [value for text, value in by_form.items() if text not in right]


def _holds(fact: FactToTell, value: Json) -> bool:
    """Whether words for a value hold the right one: `Room 2 West` for `Room 2`."""
    return any(values.said(form(fact, value), right, type=fact.type, unit=fact.unit) for right in fact.values)


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
