"""Rows that fit the same words: what else a user may mean by what they say of a row.

They are sought in the tables, not through one read, so it does not matter which read an agent looks at. A column that
no table holds as it is (it is computed) is compared in what the read shows.
"""

from collections.abc import Iterator, Mapping, Sequence

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.combination import Combination, SaidRow
from skillweave.schema.entity import Entity
from skillweave.schema.record import Json, Value
from skillweave.world.session import ContractSession
from skillweave.world.world import World
from synth.gates.attempt import carry_out, opened
from synth.gates.views import views
from synth.graph.columns import origins

MOST = 400
"""Rows of one table that are looked at."""
HOPS = 3
"""References that are followed from a row to the one that holds what is said of it."""

Hop = tuple[str, Entity, str]
"""A reference: its column, and the entity and key that it names."""


def alike(world: World, combination: Combination, said: Sequence[SaidRow]) -> list[str]:
    """Keys of other rows that fit all that is said of one: at the start, or at the moment when it is needed."""
    key = said[0].key
    found: set[str] | None = None
    for row in said:
        with opened(world, combination) as session:
            session.caller = combination.caller
            fitting = set(_fitting(world, session, combination, row))
            carry_out(session, combination.golden[: row.call])
            fitting |= set(_fitting(world, session, combination, row))
        found = fitting if found is None else found & fitting
    return sorted((found or set()) - {str(key)})


def _fitting(world: World, session: ContractSession, combination: Combination, said: SaidRow) -> list[str]:
    entity = world.blueprint.entity(said.entity or "")
    shown = origins(world.blueprint.tool(said.read))
    tests: list[str] = []
    bindings: dict[str, Value] = {}
    computed: list[str] = []
    for number, (column, value) in enumerate(said.columns.items()):
        test = _test(world.blueprint, entity, shown.get(column), f":said_{number}")
        if test is None or isinstance(value, (list, dict)):
            computed.append(column)
        else:
            tests.append(test)
            bindings[f"said_{number}"] = value
    where = " AND ".join(tests) or "1"
    sql = f"SELECT {entity.key} AS found FROM {entity.table} AS own WHERE {where} ORDER BY {entity.key} LIMIT {MOST}"
    keys = [str(row["found"]) for row in session.query(sql, bindings)]
    if not computed:
        return keys
    seen = dict(_seen(world, session, combination, said, computed))
    return [key for key in keys if seen.get(key, False)]


def _test(blueprint: Blueprint, entity: Entity, origin: tuple[str, str] | None, binding: str) -> str | None:
    """A condition on a row of the entity, in SQL, that the column shown has a value; None where no table holds it."""
    if origin is None:
        return None
    table, column = origin
    found = [
        f"{_within(path)}.{column} IS {binding}{')' * len(path)}" for path in _paths(blueprint, entity, table, HOPS)
    ]
    return found[0] if len(found) == 1 else None


def _within(path: Sequence[Hop]) -> str:
    """The row at the end of a path of references, up to its column."""
    text, holder = "", "own"
    for number, (name, parent, key) in enumerate(path):
        text += f"EXISTS (SELECT 1 FROM {parent.table} AS up_{number} WHERE up_{number}.{key} = {holder}.{name} AND "
        holder = f"up_{number}"
    return text + holder


def _paths(blueprint: Blueprint, entity: Entity, table: str, hops: int) -> list[list[Hop]]:
    """Paths of references from an entity to a table, as short as they come."""
    if entity.table == table:
        return [[]]
    found: list[list[Hop]] = []
    for attribute in entity.attributes if hops else ():
        if attribute.references:
            parent, key = blueprint.target(attribute.references)
            hop = (attribute.name, parent, key.name)
            found += [[hop, *rest] for rest in _paths(blueprint, parent, table, hops - 1)]
    shortest = min(map(len, found), default=0)
    return [path for path in found if len(path) == shortest]


def _seen(
    world: World, session: ContractSession, combination: Combination, said: SaidRow, columns: Sequence[str]
) -> Iterator[tuple[str, bool]]:
    """Key -> whether the read shows its row with the computed columns as said, where it shows it at all."""
    calls = [call for call in combination.golden if call.tool == said.read][:1]
    entity = world.blueprint.entity(said.entity or "")
    keys = [name for name, origin in origins(world.blueprint.tool(said.read)).items() if _holds_key(entity, origin)]
    found: dict[str, bool] = {}
    for call in calls:
        for row in views(world, session, combination, call):
            for name in keys:
                key = str(row.get(name))
                found[key] = found.get(key, False) or _agrees(said.columns, row, columns)
    yield from found.items()


def _holds_key(entity: Entity, origin: tuple[str, str] | None) -> bool:
    return origin is not None and origin[1] == entity.key


def _agrees(said: Mapping[str, Json], row: Mapping[str, Json], columns: Sequence[str]) -> bool:
    return all(column in row and row[column] == said[column] for column in columns)
