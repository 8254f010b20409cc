"""The difference between two texts, line by line, and word by word where a line was changed and not replaced."""

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Literal, NamedTuple

CONTEXT = 2
"""Unchanged lines that are shown around a change."""
MOST_LINES = 2_000
"""Lines of each text that are compared."""
LONGEST_TEXT = 100_000
"""Characters of each text that are compared."""
LONGEST_LINE = 2_000
"""Characters of a line that are compared."""
ALIKE = 0.5
"""From this likeness on, two lines are one line that was changed."""
MOST_PAIRS = 64
"""Removed times added lines of one place that are compared with each other; with more, none are."""
MOST_WORDS = 400
"""Words of a line, with the spaces between, that are compared with another line's."""
_WORDS = re.compile(r"\w+|\s+|[^\w\s]")


class DiffPart(NamedTuple):
    """A piece of a line."""

    text: str
    is_marked: bool
    """Whether these words were added or removed, in a line of which others stay."""


class DiffLine(NamedTuple):
    """A line of a difference."""

    kind: Literal["same", "added", "removed", "gap"]
    """`gap` stands for unchanged lines that are not shown."""
    parts: Sequence[DiffPart]


def diff(before: str, after: str) -> list[DiffLine]:
    """The lines that were removed and added, with a few around them; none if the texts are equal."""
    a, b = _lines(before), _lines(after)
    found: list[DiffLine] = []
    for group in SequenceMatcher(None, a, b).get_grouped_opcodes(CONTEXT):
        if found or group[0][1] > 0:
            found.append(DiffLine("gap", ()))
        for tag, a1, a2, b1, b2 in group:
            if tag == "equal":
                found += [DiffLine("same", [DiffPart(line, False)]) for line in a[a1:a2]]
            else:
                found += _changed(a[a1:a2], b[b1:b2])
    return found


def _lines(text: str) -> list[str]:
    # Other characters that end a line, which `splitlines` knows, are part of what a model wrote.
    lines = text[:LONGEST_TEXT].removesuffix("\n").split("\n") if text else []
    return [line[:LONGEST_LINE] for line in lines[:MOST_LINES]]


def _changed(removed: Sequence[str], added: Sequence[str]) -> Iterator[DiffLine]:
    """Removed lines, then added ones; of two that are alike, only the words that differ are marked."""
    first = {at: [DiffPart(line, False)] for at, line in enumerate(removed)}
    second = {at: [DiffPart(line, False)] for at, line in enumerate(added)}
    for a, b in _alike(removed, added):
        first[a], second[b] = _marked(removed[a], added[b])
    yield from (DiffLine("removed", parts) for parts in first.values())
    yield from (DiffLine("added", parts) for parts in second.values())


def _alike(removed: Sequence[str], added: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Positions of lines that are one line before and after, in their order."""
    if len(removed) * len(added) > MOST_PAIRS:
        return
    start = 0
    for a, line in enumerate(removed):
        likeness = {b: _likeness(line, added[b]) for b in range(start, len(added))}
        b = max(likeness, key=likeness.__getitem__, default=None)
        if b is not None and likeness[b] >= ALIKE:
            yield a, b
            start = b + 1


def _likeness(removed: str, added: str) -> float:
    a, b = _WORDS.findall(removed), _WORDS.findall(added)
    return SequenceMatcher(None, a, b, autojunk=False).ratio() if max(len(a), len(b)) <= MOST_WORDS else 0


def _marked(removed: str, added: str) -> tuple[list[DiffPart], list[DiffPart]]:
    """Both lines in parts."""
    a, b = _WORDS.findall(removed), _WORDS.findall(added)
    first, second = [], []
    for tag, a1, a2, b1, b2 in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        first.append(DiffPart("".join(a[a1:a2]), tag != "equal"))
        second.append(DiffPart("".join(b[b1:b2]), tag != "equal"))
    return [part for part in first if part.text], [part for part in second if part.text]
