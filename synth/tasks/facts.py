"""What a user asks to be told: a value of a result that nobody could guess, and the row that it is about."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from random import Random

from skillweave.schema.combination import MentionedRow
from skillweave.schema.entity import AttributeType
from skillweave.schema.record import Json
from skillweave.schema.task import FactToTell
from skillweave.schema.template import RequestedValue, TaskTemplate
from synth.contracts.wording import has_ended
from synth.search.row_words import distinguishing_columns
from synth.tasks.kinds.recipe import Instance

_WORDS_OF_ENDED_ROWS = frozenset(
    {"cancelled", "cancellation", "decision", "fee", "reason", "refund", "rejected", "withdrawn"}
)
"""Words in names of columns that tell of rows that came to nothing."""
ResultRows = list[dict[str, Json]]


ColumnOrigins = Mapping[str, tuple[str, str] | None]
"""Column of a result -> the table and column that it shows."""


class NothingToTell(Exception):
    """No value is worth telling; the message is why not, in words for the goal's author."""

    def __init__(self, why: str, example: Json = None) -> None:
        super().__init__(why)
        self.example = "" if example is None else repr(example)
        """A value of which that is so."""


def facts_to_tell(
    template: TaskTemplate, made: Instance, now: str, random: Random, shown: Mapping[str, ColumnOrigins]
) -> tuple[list[FactToTell], list[MentionedRow]]:
    """The facts that the template's `tell` asks for, with the rows they are about.

    NothingToTell where one is not worth it.

    `shown` says of each read what its results show.
    """
    facts: list[FactToTell] = []
    about: list[MentionedRow] = []
    places: dict[int, tuple[int, MentionedRow | None]] = {}
    for number, told in enumerate(template.tell):
        step = made.steps[told.call - 1]
        value = made.results[step].value
        rows = [row for row in (value if isinstance(value, list) else [value]) if isinstance(row, dict)]
        if step not in places:
            places[step] = place = _row_asked_about(template, made, told.call, rows, now, random)
            about += [place[1]] if place[1] else []
        index = places[step][0]
        if index >= len(rows) or told.column not in rows[index]:
            raise NothingToTell(f"the result has no {told.column}")
        if worthless := _worthless(rows, index, told.column):
            raise NothingToTell(worthless, rows[index][told.column])
        facts.append(_fact(number, told, rows[index][told.column], [*_rival_values(made, step, told.column, shown)]))
    return facts, about


def _row_asked_about(
    template: TaskTemplate, made: Instance, call: int, rows: ResultRows, now: str, random: Random
) -> tuple[int, MentionedRow | None]:
    """Which row of a result is asked about, and how the user refers to it; NothingToTell where none can be."""
    step, asked = made.steps[call - 1], [told for told in template.tell if told.call == call]
    wanted = [told.column for told in asked]
    read = made.golden[step].tool
    if not isinstance(made.results[step].value, list):
        return 0, None
    order = list(range(len(rows)))
    random.shuffle(order)
    columns = [column for column in template.referred_by.get(read, []) if column not in wanted]
    why: Counter[str] = Counter()
    examples: dict[str, Json] = {}
    for index in order:
        if fault := next(_not_asked(rows, index, asked, now), None):
            why[fault[0]] += 1
            examples.setdefault(*fault)
            continue
        usable = [c for c in columns if not any(_same_day(rows[index].get(c), rows[index].get(w)) for w in wanted)]
        said = distinguishing_columns(rows, index, usable, random)
        if said:
            return index, MentionedRow(call=step, parameter=None, entity=None, key=None, read=read, columns=said)
        why[f"the row asked about cannot be told apart by {', '.join(usable) or 'anything that people say of it'}"] += 1
    commonest = max(why, key=lambda one: why[one], default=f"{read} lists nothing")
    raise NothingToTell(commonest, examples.get(commonest))


def _not_asked(rows: ResultRows, index: int, asked: Sequence[RequestedValue], now: str) -> Iterator[tuple[str, Json]]:
    """Why nobody asks for this of a row, and a value of which that is so."""
    for told in asked:
        value = rows[index].get(told.column)
        if worthless := _worthless(rows, index, told.column):
            yield worthless, value
        elif told.coming and not _lies_ahead(rows[index], told.column, now):
            yield f"{told.column} is of a row whose day is past, and `coming` is set", value
        elif _is_of_ended_row(rows[index], told.column):
            yield f"{told.column} is of a record that came to nothing, or is paid", value


def _lies_ahead(row: dict[str, Json], column: str, now: str) -> bool:
    """Whether the value is a day to come or, where it is no day, whether the row has one."""
    days = [row[column]] if _fact_type(row[column]) in ("date", "datetime") else list(row.values())
    return any(_fact_type(day) in ("date", "datetime") and str(day)[:10] >= now[:10] for day in days)


def _is_of_ended_row(row: dict[str, Json], column: str) -> bool:
    """Whether a question about the row has a false premise: what was cancelled, nobody waits for, and what is paid, is
    no longer due. What there is of such rows alone may be asked: the refund, the fee."""
    words = column.split("_")
    if "due" in words and row.get("status") == "paid":
        return True
    return has_ended(row) and not _WORDS_OF_ENDED_ROWS & {*words}


def _same_day(said: Json, asked: Json) -> bool:
    """Whether what is said of a row would give the answer away: a moment of the very day that is asked for."""
    moments = _fact_type(said) in ("date", "datetime") and _fact_type(asked) in ("date", "datetime")
    return moments and str(said)[:10] == str(asked)[:10]


def _worthless(rows: ResultRows, index: int, column: str) -> str:
    """Why a value is not worth telling: none, to be guessed, or to be taken for another row's; empty where it is."""
    value = rows[index].get(column)
    if value is None or isinstance(value, (bool, list, dict)) or value == "":
        return f"{column} is a yes or no" if isinstance(value, bool) else f"{column} is empty"
    if isinstance(value, (int, float)) and abs(value) < (1000 if column.endswith("_cents") else 10):
        return f"{column} is below {'10.00' if column.endswith('_cents') else 10}, which could be guessed"
    if any(row.get(column) == value for place, row in enumerate(rows) if place != index):
        return f"{column} is the same in several rows"
    return ""


def _fact(number: int, told: RequestedValue, value: Json, alike: Sequence[Json]) -> FactToTell:
    return FactToTell(
        fact=f"told_{number + 1}",
        noun=told.noun,
        values=[value],
        type=_fact_type(value),
        unit="cents" if told.column.endswith("_cents") else None,
        rivals=[other for other in dict.fromkeys(alike) if other not in (None, value)],
    )


def _rival_values(made: Instance, step: int, column: str, shown: Mapping[str, ColumnOrigins]) -> Iterator[Json]:
    """What the same column holds in other rows, of this result and of all that the golden reads return."""
    place = shown.get(made.golden[step].tool, {}).get(column)
    for at, (call, result) in enumerate(zip(made.golden, made.results, strict=True)):
        names = [name for name, origin in shown.get(call.tool, {}).items() if place is not None and origin == place]
        for row in result.value if isinstance(result.value, list) else [result.value]:
            if isinstance(row, dict):
                yield from (row[name] for name in names or [column] * (at == step) if name in row)


def _fact_type(value: Json) -> AttributeType:
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "number"
    text = str(value)
    if len(text) in (10, 19) and text[4:5] == "-" and text[7:8] == "-":
        return "date" if len(text) == 10 else "datetime"
    return "string"
