"""Names of records in a world: what a user who does not own them would have to invent.

A name is what people call a record by: the text of a column that is called a name, or that no two rows share. Ids,
addresses to write to and the values of enums are none.
"""

import re
from collections import defaultdict
from collections.abc import Mapping

from skillweave.schema.entity import Attribute, Entity
from skillweave.world.world import World

_NAMED = re.compile(r"(?:^|_)(?:name|title)$")
_REACHED_BY = ("email", "phone", "postcode")
SHORTEST = 3


def names_of(world: World) -> Mapping[str, frozenset[str]]:
    """Values of the columns that name a record, of all tables, each with the columns that it stands in.

    Single words that the blueprint itself uses in lower case (`card`, `business`) are common words, and no names.
    """
    common = set(re.findall(r"\b[a-z]+\b", world.blueprint.model_dump_json()))
    found: dict[str, set[str]] = defaultdict(set)
    with world.session() as session:
        for entity in world.blueprint.tables:
            columns = _naming_columns(entity)
            for row in session.rows(entity.table) if columns else ():
                for column in columns:
                    found[str(row[column] or "")].add(column)
    return {name: frozenset(found[name]) for name in sorted(found) if _is_name(name, common)}


def _naming_columns(entity: Entity) -> list[str]:
    return [attribute.name for attribute in entity.attributes[1:] if _names_a_row(attribute)]


def _names_a_row(attribute: Attribute) -> bool:
    if attribute.type != "string" or attribute.enum is not None or attribute.references is not None:
        return False
    return bool(_NAMED.search(attribute.name)) or (attribute.unique and attribute.name not in _REACHED_BY)


def _is_name(text: str, common: set[str]) -> bool:
    is_word = text.isalpha()
    return len(text) >= SHORTEST and not (is_word and (text.islower() or text.lower() in common))
