"""Look-ups: how an agent finds the row that a user means, with the reads that the world offers.

A user never says an id. They say what people say of a row (a day, a name, a kind), and a read that lists rows shows
which one it is. A look-up is that read, with arguments that are themselves said or looked up.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, product
from random import Random
from typing import NamedTuple

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import Parameter, Tool
from skillweave.schema.record import Json, Row, Value
from skillweave.schema.template import RowSource, TaskTemplate
from skillweave.world.session import ContractSession
from synth.contracts.visibility import is_owned_by_person
from synth.search.row_words import distinguishing_columns
from synth.search.slots import slots

DEPTH = 3
"""Look-ups that may depend on each other in a row."""
HOPS = 3
"""References that are followed from a row to what people say of it: the shop of the optometrist of a slot."""
TRIES = 24
"""Calls of one read that are tried at most."""
MOST_KEYS = 500
"""Keys of one table that are considered."""


@dataclass(frozen=True)
class LookupArgument:
    """The value of one argument of a look-up: said by the user, or found by another look-up."""

    value: Json
    lookup: "RowLookup | None" = None
    column: str | None = None
    """The column of the row looked up that holds the value; None: the key that was looked for."""
    source: str = ""
    """The grounding in an earlier call that gave the value; empty: none did."""
    row: "RowLookup | None" = None
    """The row that this value is of, if the user has spoken of it."""


@dataclass(frozen=True)
class RowLookup:
    """A read whose result shows one row, by columns that no other row of the result shares.

    If several rows hold the key (a list of models and their depots), they are one to the user: what is said and known
    of it is what they have in common.
    """

    read: str
    column: str
    """The column that holds the key looked for."""
    key: Json
    arguments: dict[str, LookupArgument]
    said: dict[str, Json]
    """Columns of the result by which the user refers to the row."""
    index: int
    """The place in the result of the first row that holds the key."""
    row: Row
    """What the rows that hold the key have in common."""
    entity: str


class EarlierRow(NamedTuple):
    """A row that the present call names, and that an earlier call has given."""

    reference: str
    key: Json
    row: Mapping[str, Json]
    """As that call has shown it; empty if it was not shown."""
    place: str
    """Where its columns stand: `call 3 [2].`."""
    lookup: RowLookup | None
    """How it was found; None: it is a result of its own."""


@dataclass
class LookupFinder:
    """Finds look-ups in the present state of a session, for one call of a template: the present call."""

    blueprint: Blueprint
    template: TaskTemplate
    session: ContractSession
    random: Random
    known: dict[str, LookupArgument] = field(default_factory=dict)
    """Arguments of the present call that are settled; its look-ups are given the same."""
    seen: list[RowLookup] = field(default_factory=list)
    """Rows already looked up for the present call; their other columns are known too."""
    spoken: Sequence[RowLookup] = ()
    """Rows that the user has spoken of for earlier calls. The words for another row must fit none of them."""
    given: list[EarlierRow] = field(default_factory=list)
    """Rows that earlier calls have given the present call; what they hold and refer to is known too."""
    domain: str = ""
    """The tool of the present call. What it is given is no argument for reads of another domain."""

    def keys(self, reference: str, sources: Sequence[RowSource]) -> list[str]:
        """Keys of rows that the sources may show: those shown by sources without required arguments, else all.

        Args:
            reference: The key, as `Entity.attribute`.
        """
        asking = [
            source for source in sources if not any(p.required for p in self.blueprint.tool(source.tool).parameters)
        ]
        shown = [row.get(source.column) for source in asking for row in self.rows(source.tool, {})]
        if not shown:
            entity, attribute = self.blueprint.target(reference)
            listed = self.session.query(
                f"SELECT {attribute.name} AS key FROM {entity.table} ORDER BY key LIMIT {MOST_KEYS}"
            )
            shown = [row["key"] for row in listed]
        return [key for key in dict.fromkeys(shown) if isinstance(key, str)]

    def find(self, reference: str, key: Json, sources: Sequence[RowSource], depth: int = DEPTH) -> RowLookup | None:
        """A look-up of the row with a key, by the first source in whose result people can tell it apart.

        Args:
            reference: The key, as `Entity.attribute`.
            depth: How many look-ups may depend on each other in a row.
        """
        for source in sorted(sources, key=lambda source: self._cost(source)):
            lookup = self._look_up_by(source, reference, key, depth)
            if lookup:
                return lookup
        return None

    def _cost(self, source: RowSource) -> tuple[int, str]:
        tool = self.blueprint.tool(source.tool)
        return sum(parameter.required for parameter in tool.parameters), source.tool

    def _look_up_by(self, source: RowSource, reference: str, key: Json, depth: int) -> RowLookup | None:
        tool = self.blueprint.tool(source.tool)
        columns = self.template.referred_by.get(tool.name, [])
        for arguments, rows in self.shown(source, reference, key, depth):
            row, others = common_row(rows, source.column, key)
            if row:
                earlier = [one.row for one in self.spoken if one.read == tool.name and one.key != key]
                is_free = depth == DEPTH and self._is_free(reference, key)
                days = self._days(tool, columns, row, is_free)
                words = distinguishing_columns([row, *others, *earlier], 0, columns, self.random, days)
                if words is not None:
                    entity = reference.partition(".")[0]
                    place = next(number for number, one in enumerate(rows) if one.get(source.column) == key)
                    return RowLookup(tool.name, source.column, key, arguments, words, place, row, entity)
        return None

    def shown(
        self, source: RowSource, reference: str, key: Json, depth: int = DEPTH
    ) -> Iterator[tuple[dict[str, LookupArgument], list[Row]]]:
        """Ways to call a source that may show the row with a key, each with the rows that it shows."""
        tool = self.blueprint.tool(source.tool)
        for arguments in islice(self._arguments(tool, reference, key, depth), TRIES):
            yield arguments, self.rows(tool.name, {name: given.value for name, given in arguments.items()})

    def _days(self, tool: Tool, columns: Sequence[str], row: Row, is_free: bool) -> list[str]:
        """Columns that are always said: the day, if the read searches by date or the row is free to be taken."""
        if not is_free and not any(parameter.type in ("date", "datetime") for parameter in tool.parameters):
            return []
        return [column for column in columns if _is_day(row.get(column))][:1]

    def _is_free(self, reference: str, key: Json) -> bool:
        """Whether a row that the present call, a write, takes belongs to nobody yet: a slot, a departure."""
        if not self.domain or self.blueprint.tool(self.domain).kind != "write":
            return False
        entity, attribute = self.blueprint.target(reference)
        row = self._table_row(entity.table, attribute.name, key)
        people = {role.own.name for role in self.blueprint.roles}
        held = [one.references.partition(".")[0] for one in entity.attributes if one.references and row.get(one.name)]
        return not is_owned_by_person(self.blueprint, entity) and people.isdisjoint(held)

    def rows(self, tool: str, arguments: Mapping[str, Json]) -> list[Row]:
        """The rows that a read gives now; the session keeps no trace of the call."""
        result = self.session.peek(tool, arguments)
        if not result.ok:
            return []
        value = result.value if isinstance(result.value, list) else [result.value]
        return [row for row in value if isinstance(row, dict)]  # type: ignore[misc]

    def _arguments(self, tool: Tool, reference: str, key: Json, depth: int) -> Iterator[dict[str, LookupArgument]]:
        """Ways to call a read that may show the row: with required arguments alone, then with one optional one each."""
        row = self._row(reference, key)
        required = [parameter for parameter in tool.parameters if parameter.required]
        optional = [parameter for parameter in tool.parameters if not parameter.required]
        for extra in [None, *optional]:
            asked = [*required, *([extra] if extra else [])]
            choices = [self._argument_values(tool, parameter, row, depth, (reference, key)) for parameter in asked]
            for values in product(*choices):
                yield {parameter.name: given for parameter, given in zip(asked, values, strict=True)}

    def _argument_values(
        self, tool: Tool, parameter: Parameter, row: Row, depth: int, wanted: tuple[str, Json]
    ) -> list[LookupArgument]:
        """Values for one parameter of a read that may show the `wanted` row; `row` holds its columns."""
        if parameter.name in self.known and self._is_same_domain(tool):
            return [self.known[parameter.name]]
        if parameter.refers_to:
            return self._referred_rows(tool, parameter, row, depth)
        if parameter.enum:
            chosen = [str(value) for value in row.values() if value in parameter.enum]
            return [LookupArgument(value) for value in dict.fromkeys([*chosen, *parameter.enum])]
        compared = slots(tool)[parameter.name].columns
        if parameter.type == "date":
            told = sorted((column not in {f"{t}.{c}" for t, c in compared}, column) for column in row)
            days = [str(row[column])[:10] for _, column in told if _is_day(row[column])]
            return [LookupArgument(day) for day in dict.fromkeys(days)] or self._known_values(tool, parameter.name)
        of_tables = [row[place] for table, column in compared if row.get(place := f"{table}.{column}") is not None]
        by_name = [value for column, value in row.items() if column in {name for _, name in compared}]
        held = [value for value in [*of_tables, *by_name] if value is not None] or self._farther_values(
            *wanted, compared
        )
        return [LookupArgument(value) for value in dict.fromkeys(held)] or self._known_values(tool, parameter.name)

    def _known_values(self, tool: Tool, name: str) -> list[LookupArgument]:
        """Values of that name in rows that the present call names: the days of a stay that is to move."""
        if not self._is_same_domain(tool):
            return []
        looked_up = [LookupArgument(one.row[name], one, name) for one in self.seen if one.row.get(name) is not None]
        earlier = [one for one in self.given if one.row.get(name) is not None]
        return [
            *looked_up,
            *(LookupArgument(one.row[name], source=f"{one.place}{name}", row=one.lookup) for one in earlier),
        ]

    def _farther_values(self, reference: str, key: Json, columns: Sequence[tuple[str, str]]) -> list[Value]:
        """Values of some columns, as (table, name), in the rows that a row refers to, the nearest first."""
        values: list[Value] = []
        ahead = [(reference, key)]
        for _ in range(HOPS):
            further: list[tuple[str, Json]] = []
            for entity, attribute, one in ((*self.blueprint.target(to), one) for to, one in ahead):
                row = self._table_row(entity.table, attribute.name, one)
                values += [row[name] for table, name in columns if table == entity.table and row.get(name) is not None]
                further += [
                    (column.references, row.get(column.name)) for column in entity.attributes if column.references
                ]
            ahead = further
        return values

    def _referred_rows(self, tool: Tool, parameter: Parameter, row: Row, depth: int) -> list[LookupArgument]:
        reference = parameter.refers_to or ""
        entity, attribute = self.blueprint.target(reference)
        for lookup in self.seen if self._is_same_domain(tool) else ():
            if isinstance(lookup.row.get(attribute.name), str):
                return [LookupArgument(lookup.row[attribute.name], lookup, attribute.name)]
        key = row.get(attribute.name) or self._referenced_key(attribute.name)
        sources = self.template.lookups.get(tool.name, {}).get(parameter.name, [])
        if key is None or depth <= 1 or entity == self.blueprint.role(tool.name).own:
            return []
        own = self.find(reference, key, sources, depth - 1)
        return [LookupArgument(key, own)] if own else []

    def _is_same_domain(self, tool: Tool) -> bool:
        """Whether a read is of the domain of the present call."""
        return not self.domain or self.blueprint.role(tool.name) == self.blueprint.role(self.domain)

    def _referenced_key(self, column: str) -> Value:
        """A key that a row already looked up refers to, although its read did not show it."""
        places = [(f"{lookup.entity}.{lookup.column}", lookup.key) for lookup in self.seen]
        rows = [self._row(reference, key) for reference, key in [*places, *(one[:2] for one in self.given)]]
        return next((row[column] for row in rows if row.get(column) is not None), None)

    def _row(self, reference: str, key: Json) -> Row:
        """The row with a key, with columns of rows that it refers to; its own win. All stand as `table.column` too."""
        entity, attribute = self.blueprint.target(reference)
        own = self._table_row(entity.table, attribute.name, key)
        merged: Row = {}
        placed: Row = {f"{entity.table}.{name}": value for name, value in own.items()}
        for column in entity.attributes:
            if column.references and own.get(column.name) is not None:
                parent, parent_key = self.blueprint.target(column.references)
                row = self._table_row(parent.table, parent_key.name, own[column.name])
                merged |= row
                placed |= {f"{parent.table}.{name}": value for name, value in row.items()}
        return merged | own | placed

    def _table_row(self, table: str, column: str, key: Json) -> Row:
        if not isinstance(key, str):
            return {}
        rows = self.session.query(f"SELECT * FROM {table} WHERE {column} = :key", {"key": key})
        return dict(rows[0]) if rows else {}


def common_row(rows: Sequence[Row], column: str, key: Json) -> tuple[Row, list[Row]]:
    """What the rows that hold a key have in common (empty if none holds it), and the other rows."""
    holding = [row for row in rows if row.get(column) == key]
    others = [row for row in rows if row.get(column) != key]
    first = holding[0] if holding else {}
    return {name: value for name, value in first.items() if all(row.get(name) == value for row in holding)}, others


def _is_day(value: Value) -> bool:
    return isinstance(value, str) and len(value) in (10, 19) and value[4:5] == "-" and value[7:8] == "-"
