"""Facts that a user asks to be told: values of results that nobody could guess, and the rows that they are about."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from random import Random

from skillweave.schema.combination import MentionedRow
from skillweave.schema.criteria import FactToTell
from skillweave.schema.entity import AttributeType
from skillweave.schema.record import Json
from skillweave.schema.template import RequestedValue, TaskTemplate
from synth.contracts.wording import has_ended
from synth.search.row_words import distinguishing_columns
from synth.tasks.kinds.recipe import Instance

WORDS_OF_ENDED_ROWS = frozenset(
    {"cancelled", "cancellation", "decision", "fee", "reason", "refund", "rejected", "withdrawn"}
)
"""Words in names of columns that may be asked of a row although nothing comes of it any more."""
LEAST_NUMBER = 10
LEAST_CENTS = 1000
"""Smaller figures could be guessed."""

ResultRows = list[dict[str, Json]]
ColumnOrigins = Mapping[str, tuple[str, str] | None]
"""Column of a result -> the table and column that it shows."""


class NothingToTell(Exception):
    """No value is worth telling. The message says why not, in words for the goal's author."""

    def __init__(self, why: str, example: Json = None) -> None:
        super().__init__(why)
        self.example = "" if example is None else repr(example)
        """A value for which that is so."""


def facts_to_tell(
    template: TaskTemplate, instance: Instance, now: str, random: Random, origins: Mapping[str, ColumnOrigins]
) -> tuple[list[FactToTell], list[MentionedRow]]:
    """The facts that the template's `tell` asks for, and the rows that they are about, as the user refers to them.

    Args:
        random: Chooses the row among those of a list.
        origins: Read -> what its results show.

    Raises:
        NothingToTell: One of the values is not worth telling.
    """
    facts: list[FactToTell] = []
    subjects: list[MentionedRow] = []
    chosen: dict[int, int] = {}
    for number, wanted in enumerate(template.tell):
        step = instance.steps[wanted.call - 1]
        rows = _rows_of(instance.results[step].value)
        if step not in chosen:
            chosen[step], subject = _row_asked_about(template, instance, wanted.call, rows, now, random)
            subjects += [subject] if subject else []
        index = chosen[step]
        if index >= len(rows) or wanted.column not in rows[index]:
            raise NothingToTell(f"the result has no {wanted.column}")
        if why := worthless(rows, index, wanted.column):
            raise NothingToTell(why, rows[index][wanted.column])
        rivals = [*_rival_values(instance, step, wanted.column, origins)]
        facts.append(fact_of(number, wanted, rows[index][wanted.column], rivals))
    return facts, subjects


def _rows_of(value: Json) -> ResultRows:
    return [row for row in (value if isinstance(value, list) else [value]) if isinstance(row, dict)]


def _row_asked_about(
    template: TaskTemplate, instance: Instance, call: int, rows: ResultRows, now: str, random: Random
) -> tuple[int, MentionedRow | None]:
    """Choose the row of a result that the user asks about.

    Returns:
        Its index, and how the user refers to it; None if the result is one row alone.

    Raises:
        NothingToTell: No row will do; the commonest reason.
    """
    step, asked = instance.steps[call - 1], [wanted for wanted in template.tell if wanted.call == call]
    columns = [wanted.column for wanted in asked]
    read = instance.golden[step].tool
    if not isinstance(instance.results[step].value, list):
        return 0, None
    order = list(range(len(rows)))
    random.shuffle(order)
    sayable = [column for column in template.referred_by.get(read, []) if column not in columns]
    reasons: Counter[str] = Counter()
    examples: dict[str, Json] = {}
    for index in order:
        row = rows[index]
        if fault := next(_why_not_asked(rows, index, asked, now), None):
            reasons[fault[0]] += 1
            examples.setdefault(*fault)
            continue
        usable = [name for name in sayable if not any(_is_same_day(row.get(name), row.get(one)) for one in columns)]
        words = distinguishing_columns(rows, index, usable, random)
        if words:
            return index, MentionedRow(call=step, parameter=None, entity=None, key=None, read=read, columns=words)
        said_by = ", ".join(usable) or "anything that people say of it"
        reasons[f"the row asked about cannot be told apart by {said_by}"] += 1
    commonest = max(reasons, key=lambda reason: reasons[reason], default=f"{read} lists nothing")
    raise NothingToTell(commonest, examples.get(commonest))


def _why_not_asked(
    rows: ResultRows, index: int, asked: Sequence[RequestedValue], now: str
) -> Iterator[tuple[str, Json]]:
    """Reasons why nobody asks for these values of a row, each with a value for which it holds."""
    for wanted in asked:
        value = rows[index].get(wanted.column)
        if why := worthless(rows, index, wanted.column):
            yield why, value
        elif wanted.coming and not _lies_ahead(rows[index], wanted.column, now):
            yield f"{wanted.column} is of a row whose day is past, and `coming` is set", value
        elif _is_of_ended_row(rows[index], wanted.column):
            yield f"{wanted.column} is of a record that came to nothing, or is paid", value


def _lies_ahead(row: dict[str, Json], column: str, now: str) -> bool:
    """Whether the value is a day to come or, if it is no day, whether the row has one."""
    days = [row[column]] if _fact_type(row[column]) in ("date", "datetime") else list(row.values())
    return any(_fact_type(day) in ("date", "datetime") and str(day)[:10] >= now[:10] for day in days)


def _is_of_ended_row(row: dict[str, Json], column: str) -> bool:
    """Whether a question about the row has a false premise.

    Nobody waits for what was cancelled, and what is paid is no longer due. What only such rows have may be asked: the
    refund, the fee.
    """
    words = column.split("_")
    if "due" in words and row.get("status") == "paid":
        return True
    return has_ended(row) and not WORDS_OF_ENDED_ROWS & {*words}


def _is_same_day(said: Json, asked: Json) -> bool:
    """Whether what is said of a row would give the answer away: a moment of the very day that is asked for."""
    moments = _fact_type(said) in ("date", "datetime") and _fact_type(asked) in ("date", "datetime")
    return moments and str(said)[:10] == str(asked)[:10]


def worthless(rows: Sequence[Mapping[str, Json]], index: int, column: str) -> str:
    """Why a value is not worth telling: it is empty, easily guessed, or another row's too. Empty if it is worth it."""
    value = rows[index].get(column)
    if value is None or isinstance(value, (bool, list, dict)) or value == "":
        return f"{column} is a yes or no" if isinstance(value, bool) else f"{column} is empty"
    is_money = column.endswith("_cents")
    if isinstance(value, (int, float)) and abs(value) < (LEAST_CENTS if is_money else LEAST_NUMBER):
        return f"{column} is below {'10.00' if is_money else 10}, which could be guessed"
    if any(row.get(column) == value for place, row in enumerate(rows) if place != index):
        return f"{column} is the same in several rows"
    return ""


def fact_of(number: int, wanted: RequestedValue, value: Json, rivals: Sequence[Json]) -> FactToTell:
    return FactToTell(
        fact=f"told_{number + 1}",
        noun=wanted.noun,
        values=[value],
        type=_fact_type(value),
        unit="cents" if wanted.column.endswith("_cents") else None,
        rivals=[rival for rival in dict.fromkeys(rivals) if rival not in (None, value)],
    )


def _rival_values(instance: Instance, step: int, column: str, origins: Mapping[str, ColumnOrigins]) -> Iterator[Json]:
    """What the same column holds in other rows, of this result and of all that the golden reads return."""
    origin = origins.get(instance.golden[step].tool, {}).get(column)
    for place, (call, result) in enumerate(zip(instance.golden, instance.results, strict=True)):
        shown = origins.get(call.tool, {})
        names = [name for name, other in shown.items() if origin is not None and other == origin]
        for row in _rows_of(result.value):
            yield from (row[name] for name in names or [column] * (place == step) if name in row)


def _fact_type(value: Json) -> AttributeType:
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "number"
    text = str(value)
    if len(text) in (10, 19) and text[4:5] == "-" and text[7:8] == "-":
        return "date" if len(text) == 10 else "datetime"
    return "string"
