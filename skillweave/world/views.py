"""Views of a fused world's persons: one a member, of its own columns and of the shared ones.

They belong to a connection and never to a file. An update through one is carried out on both tables; it sees the row
as it was before either changed.
"""

import sqlite3

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.fused import PersonView
from skillweave.world.authorizer import VIEWED_TABLE, trigger_of


def make_views(connection: sqlite3.Connection, blueprint: Blueprint) -> None:
    """Give the connection the views of a blueprint that has any."""
    if not blueprint.views:
        return
    connection.execute(f"CREATE TEMP TABLE {VIEWED_TABLE} (updated INTEGER)")
    for view in blueprint.views:
        own = {attribute.name for attribute in blueprint.entity(view.own).attributes}
        connection.execute(_view_sql(view, own))
        connection.execute(_trigger_sql(view, own))


def updated_through_views(connection: sqlite3.Connection) -> int:
    """Rows that were updated through views since this was last asked: SQLite does not count them."""
    updated = int(connection.execute(f"SELECT COUNT(*) FROM {VIEWED_TABLE}").fetchone()[0])
    connection.execute(f"DELETE FROM {VIEWED_TABLE}")
    return updated


def _view_sql(view: PersonView, own: set[str]) -> str:
    columns = [f"{'own' if name in own else 'person'}.{name}" for name in _names(view)]
    both = f"main.{view.own} AS own JOIN main.{view.shared} AS person"
    return (
        f"CREATE TEMP VIEW {view.entity.table} AS SELECT {', '.join(columns)} "
        f"FROM {both} ON person.{view.account} = own.{view.entity.key}"
    )


def _trigger_sql(view: PersonView, own: set[str]) -> str:
    sides = (
        (view.own, view.entity.key, [name for name in _names(view) if name in own]),
        (view.shared, view.account, [name for name in _names(view) if name not in own]),
    )
    # The update of its own columns always has one, the key: a row counts as changed where its values stay as well.
    updates = [
        f"UPDATE {table} SET {', '.join(f'{name} = NEW.{name}' for name in names)} WHERE {key} = OLD.{view.entity.key};"
        for table, key, names in sides
        if names
    ]
    return (
        f"CREATE TEMP TRIGGER {trigger_of(view.entity.table)} INSTEAD OF UPDATE ON {view.entity.table} "
        f"BEGIN {' '.join(updates)} INSERT INTO {VIEWED_TABLE} VALUES (1); END"
    )


def _names(view: PersonView) -> list[str]:
    return [attribute.name for attribute in view.entity.attributes]
