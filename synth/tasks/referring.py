"""How people refer to rows: whether the columns that an author names tell a read's rows apart, tried on the data."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from random import Random

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import Tool
from skillweave.schema.record import Row
from skillweave.world.session import ContractSession
from skillweave.world.world import World
from synth.graph.columns import origins
from synth.planner.search import search_in
from synth.tasks.apart import apart

PERSONS = 10
"""Persons whose results are looked at."""
CALLS = 3
"""Calls of each, of a read that has to be given something."""
SHOWN = 3
"""Columns that are proposed."""
UNCLEAR = 0.25
"""Share of a read's rows that cannot be told apart, from which on its author is told."""


def unclear(
    blueprint: Blueprint, database: Path | bytes, now: str, referred_by: Mapping[str, Sequence[str]], seed: str
) -> dict[str, str]:
    """Read -> that many of its rows cannot be told apart by its columns, and could be by others, in words.

    Columns that hold ids are none of these others.
    """
    world = World(blueprint, database, now=now)
    found = {}
    with world.session() as session:
        callers = [str(row[blueprint.core.key]) for row in session.rows(blueprint.core.table)]
        for name, columns in referred_by.items():
            random = Random(f"{seed}/{name}")
            read = blueprint.tool(name)
            others = [column for column in columns_without_ids(blueprint, read) if column not in columns]
            rows, alike, helpful = 0, 0, Counter[str]()
            persons = random.sample(callers, min(PERSONS, len(callers)))
            for person in persons:
                session.caller = person
                for listed in lists_of(session, read, random):
                    rows += len(listed)
                    for place in range(len(listed)):
                        if apart(listed, place, columns, random) is None:
                            said = apart(listed, place, [*columns, *others], random)
                            alike += said is not None
                            helpful.update(column for column in said or () if column not in columns)
            if rows and alike >= UNCLEAR * rows:
                said_now = ", ".join(columns) or "nothing"
                others_shown = ", ".join(column for column, _ in helpful.most_common(SHOWN))
                found[name] = (
                    f"{name}: of the {rows} rows in {len(persons)} persons' lists together, {alike} cannot be told "
                    f"apart from others of the same list by {said_now}; add what people would say of a row, such as "
                    f"{others_shown}"
                )
    return found


def lists_of(session: ContractSession, read: Tool, random: Random) -> Iterator[list[Row]]:
    """Lists of several rows that a read gives to whoever is signed in."""
    needs = any(parameter.required for parameter in read.parameters)
    calls = islice(search_in(session, read, random, optional=0.0).meeting(), CALLS) if needs else [{}]
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
    return [column for column, origin in origins(read).items() if origin not in ids]
