"""Names of records in a world: what a user who does not own them would have to invent.

A name is what people call a record by: the text of a column that is called a name, or that no two rows share. Ids,
addresses to write to and the values of enums are none.
"""

import re
from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Iterator, Mapping

from skillweave.schema.entity import Attribute, Entity
from skillweave.world.world import World

_NAMED = re.compile(r"(?:^|_)(?:name|title)$")
_REACHED_BY = ("email", "phone", "postcode")
_WORD = re.compile(r"[^\W_]+")
SHORTEST = 3
KEPT = 64
"""Worlds whose names are kept."""


class Names:
    """Names of records, each with the columns that it stands in, found in texts by their first word."""

    def __init__(self, columns: Mapping[str, frozenset[str]]) -> None:
        self._columns = columns
        self._by_word: dict[str, list[tuple[str, str, int]]] = defaultdict(list)
        """First word -> name, its text in lower case, and where the word stands in it."""
        self._by_end: dict[str, list[str]] = defaultdict(list)
        for name in columns:
            lowered = name.lower()
            first = _WORD.search(lowered)
            if first is not None:
                self._by_word[first.group()].append((name, lowered, first.start()))
            parts = name.split(" ")
            for start in range(len(parts)):
                self._by_end[" ".join(parts[start:])].append(name)

    def __len__(self) -> int:
        return len(self._columns)

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __contains__(self, name: str) -> bool:
        return name in self._columns

    def columns(self, name: str) -> frozenset[str]:
        """The columns that a name stands in; empty for what is no name."""
        return self._columns.get(name, frozenset())

    def full(self, name: str) -> str:
        """The one name that ends in these words; the words themselves where there is none."""
        found = self._by_end.get(name, ())
        return found[0] if len(found) == 1 else name

    def may_hold(self, words: Iterable[str]) -> bool:
        """Whether one of these words, in lower case, is the first of a name."""
        return not self._by_word.keys().isdisjoint(words)

    def places(self, lowered: str) -> Iterator[tuple[str, int, int]]:
        """Each name that stands as whole words in a text in lower case, with its start and end."""
        if not self._by_word:
            return
        for word in _WORD.finditer(lowered):
            for name, text, offset in self._by_word.get(word.group(), ()):
                start = word.start() - offset
                end = start + len(text)
                if start >= 0 and lowered.startswith(text, start) and not lowered[end : end + 1].isalnum():
                    yield name, start, end


NO_NAMES = Names({})
_HELD: OrderedDict[str, Names] = OrderedDict()


def names_of(world: World) -> Names:
    """Values of the columns that name a record, of all tables; those of the last worlds are kept.

    Single words that the blueprint itself uses in lower case (`card`, `business`) are common words, and no names.
    """
    if world.digest not in _HELD:
        _HELD[world.digest] = _names_in(world)
        while len(_HELD) > KEPT:
            _HELD.popitem(last=False)
    return _HELD[world.digest]


def _names_in(world: World) -> Names:
    common = set(re.findall(r"\b[a-z]+\b", world.blueprint.model_dump_json()))
    found: dict[str, set[str]] = defaultdict(set)
    with world.session() as session:
        accounts = {role.account for role in world.blueprint.roles}
        for entity in world.blueprint.tables:
            columns = [name for name in _naming_columns(entity) if entity != world.people or name not in accounts]
            for row in session.rows(entity.table) if columns else ():
                for column in columns:
                    found[str(row[column] or "")].add(column)
    return Names({name: frozenset(found[name]) for name in sorted(found) if _is_name(name, common)})


def _naming_columns(entity: Entity) -> list[str]:
    return [attribute.name for attribute in entity.attributes[1:] if _names_a_row(attribute)]


def _names_a_row(attribute: Attribute) -> bool:
    if attribute.type != "string" or attribute.enum is not None or attribute.references is not None:
        return False
    return bool(_NAMED.search(attribute.name)) or (attribute.unique and attribute.name not in _REACHED_BY)


def _is_name(text: str, common: set[str]) -> bool:
    is_word = text.isalpha()
    return len(text) >= SHORTEST and not (is_word and (text.islower() or text.lower() in common))
