"""Subqueries that find one row by its key: `(SELECT status FROM loan WHERE loan_id = :loan_id AND ...)`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from skillweave.schema.entity import Entity
from synth.offline.coding.tokens import is_word, split, top_level, unwrap


@dataclass(frozen=True)
class Select:
    entity: Entity
    alias: str
    column: str | None
    """The only column selected, if it is a column."""
    key: list[str]
    """What the key is compared with."""
    rest: list[list[str]]
    """The other conditions."""

    def bare(self, tokens: Sequence[str]) -> list[str]:
        """The tokens with `alias.` taken off the columns of this row."""
        return _bare(tokens, self.alias)


def select_of(tokens: Sequence[str], tables: Mapping[str, Entity]) -> Select | None:
    """The subquery in `tokens` (with its parentheses), or None where it is not of this form."""
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
    return Select(entity, alias, column, keys[0][2:], rest)


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
