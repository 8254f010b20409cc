"""Known phrases in a text: names and codes as people write them, found by their first word."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

from evaluator.words.markup import folded

_CODE = re.compile(r"[^\W\d_]+|\d+")


class Phrases:
    """Finds any of the texts, whatever signs and capitals they are written with; where two begin, the longer one."""

    def __init__(self, texts: Sequence[str]) -> None:
        by_first: dict[str, list[int]] = defaultdict(list)
        for place, text in enumerate(texts):
            by_first[first_word(text)].append(place)
        by_first.pop("", None)
        self._texts = texts
        self._places = by_first
        self._patterns: dict[str, re.Pattern[str]] = {}

    def find(self, text: str) -> Iterator[tuple[int, int, int]]:
        """Start and end of each phrase that a text holds, and its place among the texts."""
        end = 0
        for word in _CODE.finditer(text):
            first = word.group().casefold()
            if word.start() < end or first not in self._places:
                continue
            match = self._pattern(first).match(text, word.start())
            if match:
                end = match.end()
                yield match.start(), end, int((match.lastgroup or "v0")[1:])

    def _pattern(self, first: str) -> re.Pattern[str]:
        """The phrases that begin with a word, each as a group `v0`, `v1`, ..., the longest first."""
        if first not in self._patterns:
            places = sorted(self._places[first], key=lambda place: (-len(self._texts[place]), place))
            either = "|".join(f"(?P<v{place}>{_words(self._texts[place])})" for place in places)
            self._patterns[first] = re.compile(either, re.IGNORECASE)
        return self._patterns[first]


def first_word(text: str) -> str:
    """The first word or number of a text, in small letters; empty where it has none."""
    found = _CODE.search(folded(text))
    return found.group().casefold() if found else ""


def _words(text: str) -> str:
    parts = _CODE.findall(folded(text))
    pattern = re.escape(parts[0])
    for before, part in pairwise(parts):
        between = r"[\W_]{0,3}" if before.isdigit() != part.isdigit() else r"[\W_]{1,3}"
        pattern += between + re.escape(part)
    return rf"(?<![^\W_])(?<!\w-){pattern}(?![^\W_])(?!-(?-i:[A-Z0-9]))(?![.,]\d)"
