"""Ids that golden calls minted, and what they are called on the made side."""

import re
from collections.abc import Iterable, Sequence

from skillweave.schema.record import Json


class MintedIds:
    """Ids minted by golden calls, and what they are called on the other side."""

    def __init__(self, minted: Sequence[str]) -> None:
        choices = "|".join(re.escape(found) for found in sorted(minted, key=lambda found: (-len(found), found)))
        self._pattern = re.compile(rf"(?<![A-Za-z0-9])(?:{choices})(?![A-Za-z0-9])") if choices else None
        self._there: dict[str, str] = {}

    def pair(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Learn what golden ids are called on the other side; what is known stays."""
        for one, other in pairs:
            self._there.setdefault(one, other)

    def translated(self, value: Json) -> Json:
        """A golden value with the ids that it holds as they are called there; one without a fellow equals nothing."""
        if self._pattern is None:
            return value
        if isinstance(value, str):
            return self._pattern.sub(lambda match: self._there.get(match.group(), f"\0{match.group()}"), value)
        if isinstance(value, list):
            return [self.translated(item) for item in value]
        if isinstance(value, dict):
            return {name: self.translated(item) for name, item in value.items()}
        return value
