"""Contract SQL, parsed into a syntax tree by sqlglot.

Trees are only read. What runs is always the author's own text.
"""

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token

from skillweave.base.errors import WorldError

# sqlglot warns of syntax that it keeps as text; `forbidden_sql` decides about that.
logging.getLogger("sqlglot").setLevel(logging.ERROR)


@dataclass(frozen=True)
class Statement:
    """One statement, or one expression, of a contract."""

    text: str
    tree: exp.Expr

    @property
    def bindings(self) -> tuple[str, ...]:
        """Names of the `:name` bindings, in order of first appearance."""
        return tuple(dict.fromkeys(str(node.this) for node in self._all(exp.Placeholder) if node.args.get("this")))

    @property
    def literals(self) -> tuple[str, ...]:
        """Numbers and strings, in order of appearance; strings without their quotes."""
        return tuple(str(node.this) for node in self._all(exp.Literal))

    @property
    def target(self) -> str | None:
        """The table that an INSERT, UPDATE or DELETE writes; None for a statement that only reads."""
        if not isinstance(self.tree, exp.Insert | exp.Update | exp.Delete):
            return None
        table = self.tree.this.this if isinstance(self.tree.this, exp.Schema) else self.tree.this
        return str(table.name) if isinstance(table, exp.Table) else None

    @property
    def inserted(self) -> list[tuple[str | None, exp.Expr]]:
        """For an INSERT: (column, value) of its first row. The column is None if the statement lists no columns."""
        if not isinstance(self.tree, exp.Insert):
            return []
        values = _first_row(self.tree.expression)
        if not isinstance(self.tree.this, exp.Schema):
            return [(None, value) for value in values]
        return list(zip([column.name for column in self.tree.this.expressions], values, strict=False))

    def _all(self, kind: type[exp.Expr]) -> Iterator[exp.Expr]:
        return (node for node in self.tree.dfs() if isinstance(node, kind))


def _first_row(source: exp.Expr | None) -> list[exp.Expr]:
    if isinstance(source, exp.Values) and source.expressions:
        row = source.expressions[0]
        return list(row.expressions) if isinstance(row, exp.Tuple) else [row]
    if isinstance(source, exp.Select):
        return [node.this if isinstance(node, exp.Alias) else node for node in source.expressions]
    return []


@lru_cache(maxsize=4096)
def parse(text: str) -> Statement:
    """Parse a statement or expression. Raises WorldError if the text is not exactly one."""
    try:
        trees = [tree for tree in sqlglot.parse(text, dialect="sqlite") if tree is not None]
    except (SqlglotError, RecursionError) as error:
        raise WorldError(f"SQL does not parse: {str(error).splitlines()[0]}") from error
    if len(trees) != 1:
        raise WorldError(f"{len(trees)} SQL statements where one was expected")
    if isinstance(trees[0], exp.Command):
        raise WorldError(f"SQL statement {str(trees[0].this)!r} may not be used; use SELECT, INSERT, UPDATE or DELETE")
    return Statement(text, trees[0])


@lru_cache(maxsize=4096)
def tokens(text: str) -> tuple[Token, ...]:
    """The tokens of a statement. Raises WorldError if SQL does not know one of them."""
    try:
        return tuple(sqlglot.tokenize(text, dialect="sqlite"))
    except SqlglotError as error:
        raise WorldError(f"SQL does not parse: {str(error).splitlines()[0]}") from error
