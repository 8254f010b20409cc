"""The rows that are there before anybody uses a tool: the run's population, and the tables that a script fills.

The population is one for the whole run. Worlds know overlapping parts of it, so that domains can be joined on persons.
"""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from functools import lru_cache
from random import Random
from typing import TYPE_CHECKING, Any

from pydantic import ConfigDict, TypeAdapter, ValidationError

from skillweave.sandbox.folder import SandboxLimits
from skillweave.sandbox.run import run
from skillweave.schema.blueprint import Blueprint
from skillweave.schema.entity import Entity
from skillweave.schema.record import Row
from skillweave.world import database
from synth.contracts.visibility import inserted_tables
from synth.simulation.events import broken_invariants

if TYPE_CHECKING:
    from faker import Faker

POPULATION_SIZE = 60
"""Persons of one kind in a run."""
SHARED_ATTRIBUTES = {
    "full_name": "string",
    "date_of_birth": "date",
    "email": "string",
    "phone": "string",
    "postcode": "string",
    "city": "string",
}
"""What worlds may share of a person -> the type that they must give it."""
SHARE_IN_EVERY_WORLD = 0.75
"""Share of a world's persons who are in every world."""


@lru_cache(maxsize=64)
def population(seed: int, person: str, today: date, size: int = POPULATION_SIZE) -> tuple[Row, ...]:
    """All persons of a kind, by rank, with every attribute that worlds may share. Nobody may change them.

    Args:
        seed: The run's seed.
        person: The kind of person, such as `Patient`.
        today: The run's day; ages are counted from it.
        size: How many persons there are.
    """
    # Imported here because Faker takes long to load, and most commands draw no persons.
    from faker import Faker

    faker = Faker("en_GB")
    return tuple(_person(faker, seed, person, rank, today) for rank in range(1, size + 1))


def members_of_world(seed: int, person: str, world: str, count: int, size: int = POPULATION_SIZE) -> list[int]:
    """Ranks of the persons whom a world knows, ascending: the first ranks, and some of the others.

    Args:
        seed: The run's seed.
        person: The kind of person.
        world: The world's name.
        count: How many persons the world knows.
        size: How many persons of this kind there are.
    """
    count = min(count, size)
    everywhere = round(count * SHARE_IN_EVERY_WORLD)
    others = Random(f"{seed}/members/{person}/{world}").sample(range(everywhere + 1, size + 1), count - everywhere)
    return [*range(1, everywhere + 1), *sorted(others)]


REGULARS = 3
"""Ranks of persons who are there all the time: their records are long."""


def visit_weight(rank: int) -> float:
    """How often the person of a rank (from 1) gets in touch, relative to others."""
    return 1.0 / (1.0 + rank / 10) + 0.8 * (rank <= REGULARS)


def known_persons(blueprint: Blueprint, seed: int, now: str) -> list[Row]:
    """The shared persons whom a world knows, the most active first."""
    person = blueprint.core.role_of or blueprint.core_entity
    everybody = population(seed, person, date.fromisoformat(now[:10]))
    ranks = members_of_world(seed, person, blueprint.server, blueprint.core.rows.count or 40)
    return [everybody[rank - 1] for rank in ranks]


def person_tables(blueprints: Sequence[Blueprint], seed: int, now: str) -> dict[str, list[Row]]:
    """Kind of person -> a row for each person whom any of these worlds knows, with their key in each world."""
    rows: dict[str, dict[str, Row]] = {}
    servers: dict[str, list[str]] = {}
    for blueprint in blueprints:
        person = blueprint.core.role_of or blueprint.core_entity
        servers.setdefault(person, []).append(blueprint.server)
        for number, row in enumerate(known_persons(blueprint, seed, now), start=1):
            known = rows.setdefault(person, {}).setdefault(str(row["person_id"]), dict(row))
            known[blueprint.server] = f"{blueprint.core.prefix}-{number:04d}"
    return {
        person: [
            {**row, **{column: row.get(column) for column in ["person_id", "full_name", *sorted(servers[person])]}}
            for _, row in sorted(by_id.items())
        ]
        for person, by_id in rows.items()
    }


def _person(faker: "Faker", seed: int, person: str, rank: int, today: date) -> Row:
    faker.seed_instance(f"{seed}/{person}/{rank}")
    random = Random(f"{seed}/population/{person}/{rank}")
    first, last = faker.first_name(), faker.last_name()
    handle = f"{first}.{last}".lower().replace("'", "").replace(" ", "")
    birth = today - timedelta(days=round(random.triangular(19, 84, 41) * 365.25))
    return {
        "person_id": f"{person.upper()[:3]}-P{rank:03d}",
        "full_name": f"{first} {last}",
        "date_of_birth": birth.isoformat(),
        "email": f"{handle}{random.choice(['', '.', '_'])}{rank:02d}@example.{random.choice(['com', 'net', 'org'])}",
        "phone": f"+44 7700 9{random.randrange(100):02d}{rank:03d}",
        "postcode": faker.postcode(),
        "city": faker.city(),
    }


MAIN_SCRIPT = """import json, sys
import generator
given = json.load(sys.stdin)
json.dump(generator.generate(given["seed"], given["now"], given["people"], given["pools"]), sys.stdout)
"""
_ROWS: TypeAdapter[dict[str, list[Row]]] = TypeAdapter(dict[str, list[Row]], config=ConfigDict(allow_inf_nan=False))
POOL_SIZE = 240
"""Invented texts of each kind that a generator can draw from."""


def filled_tables(blueprint: Blueprint) -> list[Entity]:
    """The tables that a generator fills: those that say how many rows they begin with, or that no tool inserts into."""
    inserted = inserted_tables(blueprint.tools)
    return [entity for entity in blueprint.tables if has_rows(entity) or entity.table not in inserted]


def has_rows(entity: Entity) -> bool:
    """Whether an entity says how many rows there are at the start."""
    return bool(entity.rows.count or entity.rows.per or entity.rows.literal)


def run_generator(
    script: str, blueprint: Blueprint, seed: int, now: str, limits: SandboxLimits | None = None
) -> tuple[dict[str, list[Row]], list[str]]:
    """Run a generator's script in the sandbox.

    Args:
        script: Python source with `generate(seed, now, people, pools)`.
        blueprint: The contract whose tables it fills.
        seed: The run's seed.
        now: The run's clock, `YYYY-MM-DD HH:MM:SS`.
        limits: Of the sandbox.

    Returns:
        The rows by table, and what is wrong with them, in words for the script's author.
    """
    people = known_persons(blueprint, seed, now)
    inputs = {"seed": seed, "now": now, "people": people, "pools": pools(seed)}
    files = {"generator.py": script, "main.py": MAIN_SCRIPT}
    outcome = run(files, ["main.py"], stdin=json.dumps(inputs).encode(), limits=limits)
    if not outcome.ok:
        return {}, [f"the script did not run to its end: {outcome.reason}; {outcome.stderr[-600:]}"]
    try:
        rows = _ROWS.validate_json(outcome.stdout)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "the whole"
        return {}, [f"the result is not {{table: [row, ...]}} of plain values: {place}: {first['msg']}"]
    return rows, _people_faults(rows, people, blueprint) or row_faults(rows, blueprint)


def _people_faults(rows: Mapping[str, Sequence[Row]], people: Sequence[Row], blueprint: Blueprint) -> list[str]:
    """Why the rows of the core person are not the given people, one row each, in their order."""
    core = blueprint.core
    table = rows.get(core.table, [])
    if len(table) != len(people):
        return [f"{core.table} has {len(table)} rows; it must have one for each of the {len(people)} people"]
    shared = [attribute.name for attribute in core.attributes if attribute.shared]
    for number, (row, person) in enumerate(zip(table, people, strict=True), start=1):
        expected = {core.key: f"{core.prefix}-{number:04d}", **{name: person[name] for name in shared}}
        for name, value in expected.items():
            if row.get(name) != value:
                return [f"{core.table}, row {number}: {name} is {row.get(name)!r}; of person {number} it is {value!r}"]
    return []


def row_faults(rows: Mapping[str, Sequence[Row]], blueprint: Blueprint) -> list[str]:
    """Why rows do not fit their tables, or break an invariant. Empty if nothing is wrong."""
    entities = {entity.table: entity for entity in filled_tables(blueprint)}
    faults = [
        f"table {table!r} is not to be filled; only {', '.join(entities)} are"
        for table in rows
        if table not in entities
    ]
    for table, entity in entities.items():
        if not rows.get(table):
            faults.append(f"table {table!r} has no rows")
        faults += [
            f"{table}: key {row.get(entity.key)!r} does not begin with {entity.prefix}-"
            for row in rows.get(table, [])
            if not str(row.get(entity.key)).startswith(f"{entity.prefix}-")
        ][:1]
        columns = {attribute.name for attribute in entity.attributes}
        unknown = sorted({name for row in rows.get(table, []) for name in row.keys() - columns})
        faults += [f"{table} has no column {name!r}; it has {', '.join(sorted(columns))}" for name in unknown]
    return faults[:8] or _insertion_faults(rows, blueprint)


def state_of(rows: Mapping[str, Sequence[Row]], blueprint: Blueprint) -> sqlite3.Connection:
    """A database in memory with these rows, by table.

    Raises:
        sqlite3.Error: The rows do not fit their tables.
    """
    connection = database.create(blueprint)
    connection.execute("PRAGMA foreign_keys = OFF")
    for entity in blueprint.tables:
        database.insert(connection, entity, rows.get(entity.table, []))
    connection.commit()
    return connection


def _insertion_faults(rows: Mapping[str, Sequence[Row]], blueprint: Blueprint) -> list[str]:
    connection = database.create(blueprint)
    connection.execute("PRAGMA foreign_keys = OFF")
    for entity in blueprint.tables:
        for number, row in enumerate(rows.get(entity.table, []), start=1):
            try:
                database.insert(connection, entity, [row])
            except (sqlite3.Error, OverflowError) as error:
                return [f"{entity.table}, row {number} ({row.get(entity.key)!r}): {error}"]
    connection.commit()
    dangling = [f"{row[0]}: a row references a {row[2]} that is not there" for row in _foreign_key_faults(connection)]
    broken = [] if dangling else [broken.says for broken in broken_invariants(connection, blueprint)]
    connection.close()
    return [*sorted(set(dangling)), *broken]


def _foreign_key_faults(connection: sqlite3.Connection) -> list[tuple[Any, ...]]:
    return connection.execute("PRAGMA foreign_key_check").fetchall()


@lru_cache(maxsize=8)
def pools(seed: int) -> dict[str, list[str]]:
    """Invented texts by kind, for generators to draw from. Nobody may change them."""
    # Imported here because Faker takes long to load.
    from faker import Faker

    faker = Faker("en_GB")
    faker.seed_instance(f"{seed}/pools")
    makers = {
        "name": faker.name_nonbinary,
        "first_name": faker.first_name,
        "email": faker.safe_email,
        "phone": faker.phone_number,
        "street": faker.street_address,
        "city": faker.city,
        "postcode": faker.postcode,
        "company": faker.company,
        "sentence": faker.sentence,
        "word": faker.word,
    }
    return {kind: [make().replace("\n", ", ") for _ in range(POOL_SIZE)] for kind, make in makers.items()}
