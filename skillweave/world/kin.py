"""Kin of a value: the other values of the text columns that hold it, as the data are before any session."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from skillweave.schema.entity import Entity
from skillweave.schema.record import Json, Row

_MOST_VALUES = 2_000
"""Different values of a column that is looked at; one with more holds free text or keys."""
_LONGEST = 80
"""Characters of a value that people say in one breath."""


class Kin:
    """The values of a world's text columns, by those that stand in one column with them."""

    def __init__(self, entities: Iterable[Entity], rows: Mapping[str, Mapping[str, Row]]) -> None:
        """`rows` by table and key."""
        self._columns: dict[str, list[frozenset[str]]] = defaultdict(list)
        self._found: dict[str, frozenset[str]] = {}
        for entity in entities:
            for name in [column.name for column in entity.attributes if column.type == "string"]:
                held = (row[name] for row in rows[entity.table].values())
                values = frozenset(value for value in held if isinstance(value, str) and 0 < len(value) <= _LONGEST)
                if 1 < len(values) <= _MOST_VALUES:
                    for value in values:
                        self._columns[value].append(values)

    def of(self, value: Json) -> frozenset[str]:
        """Its kin; empty for what no text column holds."""
        if not isinstance(value, str) or value not in self._columns:
            return frozenset()
        if value not in self._found:
            self._found[value] = frozenset[str]().union(*self._columns[value]) - {value}
        return self._found[value]
