"""The words by which people refer to a row: the fewest columns whose values fit no other row of the same list.

The author names the columns for each read; the data show whether they tell its rows apart.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import combinations, islice
from pathlib import Path
from random import Random
from typing import NamedTuple, TypeVar

from skillweave.llm.question import question
from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import Tool
from skillweave.schema.record import Json, Row
from skillweave.world.session import ContractSession
from skillweave.world.world import World
from synth.artifacts import DATABASE
from synth.contracts.visibility import column_origins
from synth.contracts.wording import value_type
from synth.engine.context import Context
from synth.engine.step import Params
from synth.questions.types import RowWords, ask_partial
from synth.search.arguments import argument_search

REFERENCES = question("tasks.references", returns=list[RowWords], most=128, under="references")
NO_WORDS = "words for what no read returns"
"""Why a read's words are left out."""
MOST_COLUMNS = 3
"""Columns that a person names at most, beside those that they always name and one that they add to be clear."""
REDUNDANT_SHARE = 0.15
"""How often a row that one column tells apart is said with a second one: `my Cargo Van rental from 3 April`."""
DAYS = frozenset({"date", "datetime"})
"""Types of values that are days."""

PERSONS = 10
"""Persons whose lists are looked at."""
CALLS_PER_READ = 3
"""Calls for each person, of a read that takes required arguments."""
MOST_PROPOSED = 3
"""Columns that are proposed to the author."""
AMBIGUOUS_SHARE = 0.25
"""If at least this share of a read's rows cannot be told apart, its author is told."""


P = TypeVar("P", bound=Params)


async def ask_row_words(ctx: Context[P], blueprint: Blueprint, *, on_data: bool = False) -> dict[str, list[str]]:
    """Ask the author by which columns people refer to the rows of each read.

    Args:
        on_data: Whether to try on the world's data if they tell rows apart. The step declares that it reads DATABASE.

    Returns:
        Read -> columns of its result, best first. Reads whose words stay faulty are left out.
    """
    reads = {tool.name: list(column_origins(tool)) for tool in blueprint.tools if tool.kind == "read"}
    reported: set[str] = set()

    async def complaints(answer: Sequence[RowWords]) -> list[list[str]]:
        faults = [word_faults(words, reads) for words in answer]
        if not on_data:
            return faults
        sound = {words.read: words.columns for words, own in zip(answer, faults, strict=True) if not own}
        seed = f"{ctx.seed}/referring"
        ambiguous = await ctx.offload(ambiguous_reads, blueprint, ctx.path(DATABASE), ctx.now, sound, seed)
        # Each read is reported once: the author knows whether people would say more.
        new = {read: [fault] for read, fault in ambiguous.items() if read not in reported}
        reported.update(new)
        return [own or new.get(words.read, []) for words, own in zip(answer, faults, strict=True)]

    answer = await ask_partial(
        ctx, REFERENCES, complaints, NO_WORDS, name=lambda words: words.read, blueprint=blueprint, columns=reads
    )
    return {words.read: list(words.columns) for words in answer}


def word_faults(words: RowWords, reads: Mapping[str, Sequence[str]]) -> list[str]:
    """What is wrong with the columns by which people are said to refer to a read's rows, in words for the author.

    Args:
        reads: Read -> the columns of its result.
    """
    if words.read not in reads:
        return [f"there is no read {words.read!r}; there are {', '.join(reads)}"]
    returned = reads[words.read]
    return [
        f"{words.read} returns no {column!r}; it returns {', '.join(returned)}"
        for column in words.columns
        if column not in returned
    ]


def distinguishing_columns(
    rows: Sequence[Mapping[str, Json]], index: int, columns: Sequence[str], random: Random, always: Sequence[str] = ()
) -> dict[str, Json] | None:
    """The fewest columns of a row, with their values, that fit no other row of a list.

    People seldom say more than they must: now and then a second column is added, and never a figure.

    Args:
        index: Which of the rows.
        columns: Columns that may be said, best first.
        always: Columns among them that are said in any case.

    Returns:
        Column -> value; None if no such columns tell the row apart.
    """
    row = rows[index]
    usable = sayable_columns(row, columns)
    base = [column for column in usable if column in always]
    others = [column for column in usable if column not in base]
    for size in range(0 if base else 1, min(MOST_COLUMNS, len(others)) + 1):
        for more in combinations(others, size):
            chosen = {*base, *more}
            if sum(row_matches(other, {column: row[column] for column in chosen}) for other in rows) == 1:
                extra = _redundant(rows, usable, chosen) if random.random() < REDUNDANT_SHARE else []
                return {column: row[column] for column in usable if column in {*chosen, *extra}}
    return None


def _redundant(rows: Sequence[Mapping[str, Json]], usable: Mapping[str, Json], chosen: Collection[str]) -> list[str]:
    """A second column that people would say beside a single one; none if there is none that differs among the rows."""
    if len(chosen) > 1:
        return []
    is_dated = any(value_type(usable[column]) in DAYS for column in chosen)
    kinds = {column: value_type(value) for column, value in usable.items() if column not in chosen}
    sayable = [column for column, kind in kinds.items() if kind == "string" or (kind in DAYS and not is_dated)]
    return [column for column in sayable if any(row.get(column) != usable[column] for row in rows)][:1]


def sayable_columns(row: Mapping[str, Json], columns: Iterable[str]) -> dict[str, Json]:
    """The columns that can be said of a row, with their values: no empty ones, and no yes or no."""
    values = {column: row.get(column) for column in columns}
    return {column: value for column, value in values.items() if value is not None and not isinstance(value, bool)}


def row_matches(row: Mapping[str, Json], words: Mapping[str, Json]) -> bool:
    """Whether a row has the values that are said."""
    return all(row.get(column) == value for column, value in words.items())


def ambiguous_reads(
    blueprint: Blueprint, database: Path | bytes, now: str, referred_by: Mapping[str, Sequence[str]], seed: str
) -> dict[str, str]:
    """Reads of which many rows cannot be told apart by the columns named, but could be by others, tried on the data.

    Args:
        referred_by: Read -> the columns that its author names.

    Returns:
        Read -> a complaint for its author, with other columns that would help. Columns that hold ids are not proposed.
    """
    world = World(blueprint, database, now=now)
    complaints = {}
    with world.session() as session:
        callers = [str(row[blueprint.core.key]) for row in session.rows(blueprint.core.table)]
        for name, columns in referred_by.items():
            random = Random(f"{seed}/{name}")
            persons = random.sample(callers, min(PERSONS, len(callers)))
            counts = _ambiguity(session, blueprint.tool(name), columns, persons, random)
            if counts.rows and counts.ambiguous >= AMBIGUOUS_SHARE * counts.rows:
                complaints[name] = (
                    f"{name}: of the {counts.rows} rows in {len(persons)} persons' lists together, {counts.ambiguous} "
                    f"cannot be told apart from others of the same list by {', '.join(columns) or 'nothing'}; add what "
                    f"people would say of a row, such as {', '.join(counts.helpful)}"
                )
    return complaints


class _Ambiguity(NamedTuple):
    """How many rows of some lists people cannot tell apart."""

    rows: int
    ambiguous: int
    """Rows that cannot be told apart by the columns named, and could be by others."""
    helpful: list[str]
    """Other columns that would help most."""


def _ambiguity(
    session: ContractSession, read: Tool, columns: Sequence[str], persons: Sequence[str], random: Random
) -> _Ambiguity:
    others = [column for column in columns_without_ids(session.world.blueprint, read) if column not in columns]
    rows, ambiguous, helpful = 0, 0, Counter[str]()
    for session.caller in persons:
        for listed in listed_rows(session, read, random):
            rows += len(listed)
            for index in range(len(listed)):
                if distinguishing_columns(listed, index, columns, random) is None:
                    words = distinguishing_columns(listed, index, [*columns, *others], random)
                    ambiguous += words is not None
                    helpful.update(column for column in words or () if column not in columns)
    return _Ambiguity(rows, ambiguous, [column for column, _ in helpful.most_common(MOST_PROPOSED)])


def listed_rows(session: ContractSession, read: Tool, random: Random) -> Iterator[list[Row]]:
    """Lists of several rows that a read gives to whoever is signed in."""
    needs = any(parameter.required for parameter in read.parameters)
    calls = islice(argument_search(session, read, random, optional=0.0).meeting(), CALLS_PER_READ) if needs else [{}]
    for arguments in calls:
        value = session.peek(read.name, arguments).value
        if isinstance(value, list) and len(value) > 1:
            yield [row for row in value if isinstance(row, dict)]  # type: ignore[misc]


def columns_without_ids(blueprint: Blueprint, read: Tool) -> list[str]:
    """The columns of a read's result that hold no ids."""
    ids = {
        (entity.table, attribute.name)
        for entity in blueprint.tables
        for attribute in entity.attributes
        if attribute.name == entity.key or attribute.references
    }
    return [column for column, origin in column_origins(read).items() if origin not in ids]
