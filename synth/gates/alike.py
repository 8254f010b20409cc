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
    return [key for key in keys if seen.get(key, True)]


def _test(blueprint: Blueprint, entity: Entity, origin: tuple[str, str] | None, binding: str) -> str | None:
    """A condition on a row of the entity, in SQL, that the column shown has a value; None where no table holds it."""
    if origin is None:
        return None
    table, column = origin
    if table == entity.table:
        return f"own.{column} IS {binding}"
    parents = [(a.name, *blueprint.target(a.references)) for a in entity.attributes if a.references]
    links = [(name, parent, key) for name, parent, key in parents if parent.table == table]
    if len(links) != 1:
        return None
    name, parent, key = links[0]
    return (
        f"EXISTS (SELECT 1 FROM {parent.table} AS parent "
        f"WHERE parent.{key.name} = own.{name} AND parent.{column} IS {binding})"
    )


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
