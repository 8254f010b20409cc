"""Ids that a session mints: `PREFIX-0061`, the table's prefix and a number from the session's one counter.

The counter starts behind the largest number at the end of any key in the data. So neither a minted id nor a key derived
from one is in the data. Numbers have at least four digits, or as many as the data have: text order is creation order.
"""

import re
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass

from sqlglot import exp

from skillweave.base.errors import WorldError
from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import Tool
from skillweave.schema.entity import Entity
from skillweave.world.sql import parse

_NEW = re.compile(r"new_id(?:_(?P<rank>[2-9]|[1-9]\d))?")
_NUMBER = re.compile(r"\d+$")
DIGITS = 4
"""Digits of a number, at least."""


@dataclass(frozen=True)
class IdCounter:
    """How far a session has counted."""

    last: int
    """The number of the last id, or the largest number in the data."""
    digits: int = DIGITS
    """Digits of each number; shorter ones get leading zeros."""

    def mint(self, prefixes: tuple[str, ...]) -> "tuple[list[str], IdCounter]":
        """Mint one id for each prefix, in order; returns them and the counter behind them."""
        minted = [f"{prefix}-{self.last + rank:0{self.digits}d}" for rank, prefix in enumerate(prefixes, start=1)]
        return minted, IdCounter(self.last + len(prefixes), self.digits)

    def behind(self, keys: Iterable[object]) -> "IdCounter":
        """The counter moved behind these keys as well."""
        last, digits = self.last, self.digits
        for key in keys:
            number = _NUMBER.search(str(key))
            if number:
                last = max(last, int(number.group()))
                digits = max(digits, len(number.group()))
        return IdCounter(last, digits)

    def is_held_by(self, key: object) -> bool:
        """Whether the counter could be lower, or have fewer digits, without this key."""
        number = _NUMBER.search(str(key))
        return number is not None and (int(number.group()) >= self.last or len(number.group()) > DIGITS)


def prefix_of(entity: Entity) -> str:
    """The prefix of an entity's ids; the first three letters of its name until s05 allocates one."""
    return entity.prefix or entity.name[:3].upper()


def is_new(binding: str) -> bool:
    """Whether a binding stands for a minted id."""
    return _NEW.fullmatch(binding) is not None


def counter_of(connection: sqlite3.Connection, blueprint: Blueprint) -> IdCounter:
    """The counter behind every key in the database."""
    counter = IdCounter(0)
    for entity in blueprint.tables:
        counter = counter.behind(key for (key,) in connection.execute(f"SELECT {entity.key} FROM {entity.table}"))
    return counter


def minted_by(tool: Tool, blueprint: Blueprint) -> dict[str, Entity]:
    """The `new_id` bindings of a tool's statements.

    Returns:
        Binding -> the entity whose inserted row has it as its key, in counting order.

    Raises:
        WorldError: A binding is the key of no inserted row, or the numbering has a gap.
    """
    entities = {entity.table: entity for entity in blueprint.tables}
    keyed: dict[str, Entity] = {}
    used: set[str] = set()
    for effect in tool.effects:
        statement = parse(effect.sql)
        used.update(filter(is_new, statement.bindings))
        entity = entities.get(statement.target or "")
        for position, (column, value) in enumerate(statement.inserted):
            if entity is None or (column or entity.attributes[min(position, 1)].name) != entity.key:
                continue
            for node in value.find_all(exp.Placeholder):
                if is_new(str(node.this)):
                    keyed.setdefault(str(node.this), entity)
    if used - set(keyed):
        raise WorldError(f"tool {tool.name!r}: {sorted(used - set(keyed))} keys no inserted row")
    ordered = sorted(keyed, key=_rank)
    if [_rank(name) for name in ordered] != list(range(1, len(ordered) + 1)):
        raise WorldError(f"tool {tool.name!r}: new ids must be numbered :new_id, :new_id_2, ...; got {ordered}")
    return {name: keyed[name] for name in ordered}


def _rank(binding: str) -> int:
    matched = _NEW.fullmatch(binding)
    return int(matched["rank"] or 1) if matched else 0
