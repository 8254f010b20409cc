"""Conditions in Python with two truth values: each holds if and only if its SQL is exactly true.

NULL is handled in the leaves: `x < y` in SQL becomes `x is not None and x < y`, and its opposite, which refuses a call,
`x is None or x >= y`. The check is left out if an earlier part has shown that the value is not None.

A scope holds the values of a tool's function while its source is written: parameters, fetched rows and fetched values.
All guards see one state, so the function fetches each row once for all of them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from skillweave.schema.blueprint import Blueprint, FusedEntity
from skillweave.schema.contract import Tool
from skillweave.schema.entity import Entity
from skillweave.schema.record import table_of
from synth.servers.sql_text import GIVEN, call, is_word, split, top_level, unwrap

OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<", "in": "not in", "not in": "in"}


@dataclass(frozen=True)
class Operand:
    """A value in Python, and the conditions for reading it."""

    code: str
    kind: Literal["text", "number"]
    nullable: bool = False
    needs: tuple[str, ...] = ()
    """What must not be None before `code` is evaluated: the row that it is read from."""


@dataclass(frozen=True)
class PythonCondition:
    """A condition and its opposite, each as parts with one joining word."""

    holds: tuple[str, ...]
    broken: tuple[str, ...]
    joined: Literal["and", "or"] = "and"
    """The word that joins the parts of `holds`. The parts of `broken` are joined by the other one."""
    facts: frozenset[str] = frozenset()
    """Expressions that are not None if it holds."""
    facts_broken: frozenset[str] = frozenset()
    """Expressions that are not None if it is broken."""
    queries: bool = field(default=False)
    """Whether it asks the database."""


def compare(left: Operand, operator: str, right: Operand, known: frozenset[str]) -> PythonCondition:
    """`left operator right`, true only if both are values. `known` is what is not None."""
    needs = [code for operand in (left, right) for code in operand.needs if code not in known]
    nullable_sides = [side.code for side in (left, right) if side.nullable and side.code not in known]
    facts = frozenset([*needs, *nullable_sides, *left.needs, *right.needs])
    if operator == "==" and nullable_sides:
        # None equals no value, so it is enough if one side is a value.
        nullable_sides = nullable_sides[1:]
    checks = [*dict.fromkeys([*needs, *nullable_sides])]
    return PythonCondition(
        holds=(*(f"{code} is not None" for code in checks), f"{left.code} {operator} {right.code}"),
        broken=(*(f"{code} is None" for code in checks), f"{left.code} {OPPOSITE[operator]} {right.code}"),
        facts=facts,
    )


def among(operand: Operand, literals: Sequence[str], negated: bool, known: frozenset[str]) -> PythonCondition:
    """`operand IN (literals)`, or NOT IN."""
    choices = f"({', '.join(literals)}{',' if len(literals) == 1 else ''})"
    checks = [code for code in operand.needs if code not in known]
    if negated and operand.nullable and operand.code not in known:
        checks.append(operand.code)
    word, opposite = ("not in", "in") if negated else ("in", "not in")
    return PythonCondition(
        holds=(*(f"{code} is not None" for code in checks), f"{operand.code} {word} {choices}"),
        broken=(*(f"{code} is None" for code in checks), f"{operand.code} {opposite} {choices}"),
        facts=frozenset([*operand.needs, operand.code]),
    )


def is_null(operand: Operand, negated: bool, known: frozenset[str]) -> PythonCondition:
    """`operand IS NULL`, or IS NOT NULL. A value of a missing row is NULL too."""
    checks = [code for code in operand.needs if code not in known]
    present = (*(f"{code} is not None" for code in checks), f"{operand.code} is not None")
    absent = (*(f"{code} is None" for code in checks), f"{operand.code} is None")
    facts = frozenset([*operand.needs, operand.code])
    if negated:
        return PythonCondition(holds=present, broken=absent, facts=facts)
    return PythonCondition(holds=absent, broken=present, joined="or", facts_broken=facts)


def truth(operand: Operand, negated: bool, known: frozenset[str]) -> PythonCondition:
    """A number alone: true if it is not zero."""
    if negated:
        return compare(operand, "==", Operand("0", "number"), known)
    checks = [code for code in operand.needs if code not in known]
    return PythonCondition(
        holds=(*(f"{code} is not None" for code in checks), operand.code),
        broken=(*(f"{code} is None" for code in checks), f"not {operand.code}"),
        facts=frozenset([*operand.needs, operand.code]),
    )


def query(code: str) -> PythonCondition:
    """A condition that the database decides: a call that returns True or False."""
    return PythonCondition(holds=(code,), broken=(f"not {code}",), queries=True)


def join(parts: Sequence[PythonCondition], word: Literal["and", "or"]) -> PythonCondition:
    """Join parts. Each part relies on the facts of the earlier ones."""
    if len(parts) == 1:
        return parts[0]
    other: Literal["and", "or"] = "or" if word == "and" else "and"
    holds = [text for part in parts for text in _operands(part.holds, part.joined, word)]
    broken = [text for part in parts for text in _operands(part.broken, _other(part), other)]
    shown = frozenset(fact for part in parts for fact in (part.facts if word == "and" else part.facts_broken))
    return PythonCondition(
        holds=tuple(holds),
        broken=tuple(broken),
        joined=word,
        facts=shown if word == "and" else frozenset(),
        facts_broken=shown if word == "or" else frozenset(),
        queries=any(part.queries for part in parts),
    )


def _other(part: PythonCondition) -> Literal["and", "or"]:
    return "or" if part.joined == "and" else "and"


def _operands(texts: Sequence[str], joined: str, word: str) -> list[str]:
    if len(texts) == 1 or joined == word:
        return list(texts)
    return [f"({f' {joined} '.join(texts)})"]


RESERVED = frozenset(
    {"db", "new_id", "server", "Refused", "Row", "ServerSession", "Server", "Date", "Moment", "Annotated"}
)
RESERVED |= {"People", "Member"}
TEXT_TYPES = frozenset({"string", "date", "datetime"})
NUMBER_TYPES = frozenset({"integer", "number", "boolean"})


@dataclass
class FetchedRow:
    """A row that is fetched by its key, with the columns that later lines read."""

    variable: str
    entity: Entity
    binding: str
    value: str
    """The Python expression that is bound to the key."""
    columns: list[str] = field(default_factory=list)

    def statement(self) -> list[str]:
        """The line that fetches the row, or its lines."""
        columns = ", ".join(self.columns or [self.entity.key])
        sql = f"SELECT {columns} FROM {self.entity.table} WHERE {self.entity.key} = :{self.binding}"
        bound = [] if self.binding in GIVEN else [f"{self.binding}={self.value}"]
        return call(f"{self.variable} = db.one(", sql, bound, ")")


@dataclass
class FetchedValue:
    """A single value that is fetched by a query."""

    variable: str
    sql: str
    bound: list[str]

    def statement(self) -> list[str]:
        """The line that fetches the value, or its lines."""
        return call(f"{self.variable} = db.value(", self.sql, self.bound, ")")


class Scope:
    """Names and facts of one tool's function."""

    def __init__(self, blueprint: Blueprint, tool: Tool) -> None:
        self.blueprint = blueprint
        self.tool = tool
        known = [*blueprint.tables, *(view.entity for view in blueprint.views)]
        self.tables = {entity.table.lower(): entity for entity in known}
        self.lookups: dict[tuple[str, str], FetchedRow] = {}
        self.fetches: dict[str, FetchedValue] = {}
        self.facts: frozenset[str] = frozenset()
        self.pending: list[FetchedRow | FetchedValue] = []
        self._names = {parameter.name for parameter in tool.parameters} | RESERVED

    def parameter(self, name: str) -> Operand | None:
        """What `:name` stands for; None if it has no plain Python value."""
        if name == "now":
            return Operand("db.now", "text")
        if name in GIVEN and self.tool.kind != "auth":
            return Operand(f"db.{name}", "text")
        for parameter in self.tool.parameters:
            if parameter.name == name and parameter.type in TEXT_TYPES:
                return Operand(name, "text", nullable=not parameter.required)
            if parameter.name == name and parameter.type in NUMBER_TYPES:
                return Operand(name, "number", nullable=not parameter.required)
        return None

    def lookup(self, entity: Entity, binding: str, value: str) -> FetchedRow:
        """The row of a key. It is fetched before the guard that is being written, unless an earlier line fetched it.

        Args:
            entity: The row's table.
            binding: The name to which the key is bound in SQL.
            value: The Python expression of the key.
        """
        place = (entity.table, value)
        if place not in self.lookups:
            stem = binding.removesuffix("_id") if binding.endswith("_id") else stem_of(entity)
            row = FetchedRow(self.name(stem if binding != entity.key else stem_of(entity)), entity, binding, value)
            self.lookups[place] = row
            self.pending.append(row)
        return self.lookups[place]

    def column(self, row: FetchedRow, name: str) -> Operand | None:
        """A column of that row."""
        for attribute in row.entity.attributes:
            if attribute.name.lower() == name.lower():
                if attribute.name not in row.columns:
                    row.columns.append(attribute.name)
                kind: Literal["text", "number"] = "text" if attribute.type in TEXT_TYPES else "number"
                code = f'{row.variable}["{attribute.name}"]'
                return Operand(code, kind, nullable=attribute.nullable, needs=(row.variable,))
        return None

    def fetch(self, sql: str, bound: list[str], name: str) -> str:
        """The variable that holds a query's value; `name` is the name of a new variable."""
        if sql not in self.fetches:
            value = FetchedValue(self.name(name), sql, bound)
            self.fetches[sql] = value
            self.pending.append(value)
        return self.fetches[sql].variable

    def mark(self) -> "ScopeMark":
        """A mark of the rows and values fetched so far, for `undo`."""
        columns = [(row, list(row.columns)) for row in self.lookups.values()]
        return ScopeMark(dict(self.lookups), dict(self.fetches), list(self.pending), columns, set(self._names))

    def undo(self, mark: "ScopeMark") -> None:
        """Forget the rows and values fetched after the mark."""
        self.lookups, self.fetches, self.pending = dict(mark.lookups), dict(mark.fetches), list(mark.pending)
        for row, columns in mark.columns:
            row.columns[:] = columns
        self._names = set(mark.names)

    def name(self, stem: str) -> str:
        """A name that is not used yet: `stem`, or `stem_2`, ..."""
        name, number = stem, 2
        while name in self._names:
            name, number = f"{stem}_{number}", number + 1
        self._names.add(name)
        return name


def stem_of(entity: Entity) -> str:
    """The Python name for a row of a table: the name of the table in its own domain."""
    return table_of(entity.origin) if isinstance(entity, FusedEntity) else entity.table


class ScopeMark(NamedTuple):
    """The rows and values that a scope had fetched at some point."""

    lookups: dict[tuple[str, str], FetchedRow]
    fetches: dict[str, FetchedValue]
    pending: list[FetchedRow | FetchedValue]
    columns: list[tuple[FetchedRow, list[str]]]
    names: set[str]


@dataclass(frozen=True)
class RowQuery:
    """A subquery that finds one row by its key: `(SELECT status FROM loan WHERE loan_id = :loan_id AND ...)`."""

    entity: Entity
    alias: str
    column: str | None
    """The selected column; None if an expression is selected."""
    key: list[str]
    """The tokens that the key is compared with."""
    rest: list[list[str]]
    """The tokens of each other condition."""

    def bare(self, tokens: Sequence[str]) -> list[str]:
        """The tokens without `alias.` before the columns of this row."""
        return _bare(tokens, self.alias)


def row_query(tokens: Sequence[str], tables: Mapping[str, Entity]) -> RowQuery | None:
    """Read the subquery in `tokens`, which have its parentheses. Returns None if it has another form."""
    inner = list(tokens[1:-1])
    words = {token.upper(): place for place, token in reversed(list(top_level(inner)))}
    unfit = {"GROUP", "ORDER", "LIMIT", "JOIN", "UNION", "EXCEPT", "INTERSECT", "HAVING", "DISTINCT"}
    if (
        not inner
        or not is_word(inner[0], "SELECT")
        or "FROM" not in words
        or "WHERE" not in words
        or unfit & set(words)
    ):
        return None
    source = [token for token in inner[words["FROM"] + 1 : words["WHERE"]] if not is_word(token, "AS")]
    if not 1 <= len(source) <= 2 or source[0].lower() not in tables:
        return None
    entity, alias = tables[source[0].lower()], source[-1]
    selected = _bare(inner[1 : words["FROM"]], alias)
    conditions = [_bare(part, alias) for part in split(unwrap(inner[words["WHERE"] + 1 :]), "AND")]
    keys = [part for part in conditions if len(part) > 2 and part[0].lower() == entity.key.lower() and part[1] == "="]
    if not keys or len(selected) != 1:
        return None
    column = selected[0] if selected[0].isidentifier() else None
    rest = [part for part in conditions if part is not keys[0]]
    return RowQuery(entity, alias, column, keys[0][2:], rest)


def _bare(tokens: Sequence[str], alias: str) -> list[str]:
    bare: list[str] = []
    place = 0
    while place < len(tokens):
        if tokens[place].lower() == alias.lower() and tokens[place + 1 : place + 2] == ["."]:
            place += 2
            continue
        bare.append(tokens[place])
        place += 1
    return bare
