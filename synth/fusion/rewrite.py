"""Rewriting contract SQL to other tables: edits at identifiers' positions, the author's text otherwise untouched.

A table that is read keeps its old name as an alias, so that columns go on being called by it. A table that is written
gets no alias, which SQLite would not accept everywhere: there the columns that are called by its name are renamed.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from sqlglot import exp

from skillweave.errors import WorldError
from skillweave.world.lineage import cte_of
from skillweave.world.sql import parse


class _Edit(NamedTuple):
    start: int
    end: int
    """Behind the last character."""
    text: str


def rewritten(text: str, tables: Mapping[str, str], views: Collection[str] = ()) -> str:
    """The statement or expression over other tables: `tables` maps old names, in lower case, to new ones.

    `views` are those of the new names that are views. WorldError where a name cannot be told from its surroundings.
    """
    tree = parse(text).tree
    target = _target(tree)
    edits = [*_reads(text, tree, target, tables)]
    if target is not None and target.name.lower() in tables:
        edits += _written(text, tree, target, tables[target.name.lower()], views)
    for edit in sorted(edits, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def _target(tree: exp.Expr) -> exp.Table | None:
    """The table that a statement writes."""
    if not isinstance(tree, exp.Insert | exp.Update | exp.Delete):
        return None
    found = tree.this.this if isinstance(tree.this, exp.Schema) else tree.this
    return found if isinstance(found, exp.Table) else None


def _reads(text: str, tree: exp.Expr, target: exp.Table | None, tables: Mapping[str, str]) -> Iterator[_Edit]:
    for node in tree.dfs():
        if isinstance(node, exp.In) and node.args.get("field") is not None:
            raise WorldError("`x IN table` cannot be rewritten; write IN (SELECT ...)")
        if not isinstance(node, exp.Table) or node is target or node.name.lower() not in tables:
            continue
        if cte_of(node) is not None:
            continue
        start, end = _place(node.this, text)
        new = tables[node.name.lower()]
        yield _Edit(start, end, new if node.alias else f"{new} AS {text[start:end]}")


def _written(text: str, tree: exp.Expr, target: exp.Table, new: str, views: Collection[str]) -> Iterator[_Edit]:
    start, end = _place(target.this, text)
    called = target.name
    alias = target.args.get("alias")
    if isinstance(alias, exp.TableAlias) and new in views:
        # SQLite does not find the columns of a view that is updated under an alias.
        called = alias.name
        end = _place(alias.this, text)[1]
    elif alias is not None:
        called = ""
    yield _Edit(start, end, new)
    for column in tree.find_all(exp.Column):
        if called and column.table.lower() == called.lower() and not _is_shadowed(column, called):
            yield _Edit(*_place(column.args["table"], text), new)


def _is_shadowed(column: exp.Column, name: str) -> bool:
    """Whether the name means a source of a query around the column, and not the table that is written."""
    child: exp.Expr = column
    current = column.parent
    while current is not None:
        # What stands in FROM, or in a WITH, does not see the other sources.
        inside = isinstance(child, exp.From | exp.With) or (isinstance(child, exp.Join) and _is_within(column, child))
        if isinstance(current, exp.Select) and not inside and name.lower() in _sources(current):
            return True
        child, current = current, current.parent
    return False


def _is_within(column: exp.Column, join: exp.Join) -> bool:
    """Whether a column stands in what is joined, and not in the condition by which."""
    current: exp.Expr | None = column
    while current is not None and current is not join:
        if current is join.this:
            return True
        current = current.parent
    return False


def _sources(query: exp.Select) -> set[str]:
    start = query.args.get("from_")
    found = [start.this, *(start.this.args.get("joins") or [])] if isinstance(start, exp.From) else []
    found += query.args.get("joins") or []
    return {(one.this if isinstance(one, exp.Join) else one).alias_or_name.lower() for one in found}


def _place(identifier: exp.Expr | None, text: str) -> tuple[int, int]:
    """Where an identifier stands in the text, with its quotes."""
    meta = identifier.meta if isinstance(identifier, exp.Identifier) else {}
    if "start" not in meta:
        raise WorldError(f"a table's name has no place in the text; it cannot be rewritten: {text!r}")
    return int(meta["start"]), int(meta["end"]) + 1
