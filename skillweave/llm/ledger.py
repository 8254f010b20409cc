"""Ledger: what was asked of whom, how it went, and what it cost, by step, question and author.

It may be shared by threads and event loops. A child's entries are its parent's too, so that an item has figures of its
own and the run has them all. Tokens are counted where they are spent: a reply from the cache costs nothing.
"""

import threading
from typing import NamedTuple

from skillweave.llm.request import Request
from skillweave.schema.asking import Asking, summed


class Place(NamedTuple):
    """Where in a ledger something is entered."""

    step: str
    question: str
    author: str


def place_of(request: Request, author: str) -> Place:
    """Where a request to an author is entered."""
    return Place(request.step, request.question, author)


class Ledger:
    def __init__(self, parent: "Ledger | None" = None) -> None:
        self.parent = parent
        """Where all is entered, too."""
        self._entries: dict[Place, Asking] = {}
        self._lock = threading.Lock()

    def add(self, place: Place, **amounts: float) -> None:
        """Add to numbers of an entry, by the names of `Asking`."""
        with self._lock:
            self._entries[place] = self._at(place).plus(**amounts)
        if self.parent is not None:
            self.parent.add(place, **amounts)

    def complain(self, place: Place, kind: str) -> None:
        """Enter that something was wrong with a reply; `Asking.complaints` names the kinds."""
        with self._lock:
            self._entries[place] = self._at(place).complained(kind)
        if self.parent is not None:
            self.parent.complain(place, kind)

    def entries(self) -> dict[Place, Asking]:
        """A copy, sorted."""
        with self._lock:
            return dict(sorted(self._entries.items()))

    def askings(self, step: str | None = None) -> list[Asking]:
        """By question and author, sorted; of all steps together, or of one."""
        found: dict[tuple[str, str], list[Asking]] = {}
        for place, entry in self.entries().items():
            if step in (None, place.step):
                found.setdefault((place.question, place.author), []).append(entry)
        return [
            summed(entries, question=question, author=author) for (question, author), entries in sorted(found.items())
        ]

    def total(self) -> Asking:
        """Everything together."""
        return summed(list(self.entries().values()))

    def _at(self, place: Place) -> Asking:
        return self._entries.get(place) or Asking(question=place.question, author=place.author)
