"""Whether a sentence names an enum value: its words in a row, in whatever form a sentence bends them to."""

import re
from collections.abc import Sequence
from functools import cache

_IRREGULAR = {
    "paid": "pay", "held": "hold", "sent": "send", "lost": "lose", "kept": "keep", "left": "leave", "taken": "take",
    "given": "give", "sold": "sell", "flown": "fly", "withdrawn": "withdraw", "written": "write", "driven": "drive",
    "made": "make", "lent": "lend", "spent": "spend", "broken": "break", "stolen": "steal", "shown": "show",
}  # fmt: skip
_ASIDE = frozenset({"not", "be", "been", "become", "becomes", "made", "than"})
"""Words shortly before a value that make it an aside: `can be used`, `not one already used`."""
_ENDINGS = ("ations", "ation", "ings", "ing", "ies", "ied", "als", "al", "ers", "er", "ed", "es", "s", "e", "y")


def names(sentence: str, value: str) -> bool:
    """Whether the sentence names the value: `cancelled` also where it says `cancelling`."""
    wanted, there = stems(value), stems(sentence)
    return _runs(wanted, there)


def places(sentence: str, value: str) -> list[tuple[int, int]]:
    """Where the value's words stand in a sentence: (start, end) in characters."""
    words = [(match[0], match.start(), match.end()) for match in re.finditer(r"[a-z]+|\d+", sentence.lower())]
    wanted, there = stems(value), [_stem(word) for word, _, _ in words]
    count = len(wanted)
    return [
        (words[at][1], words[at + count - 1][2])
        for at in range(len(words) - count + 1)
        if tuple(there[at : at + count]) == wanted
    ]


def asserts(sentence: str, value: str) -> bool:
    """Whether the value's very words stand in the sentence, as what is rather than what is not or is to be done."""
    words, wanted = _words(sentence), _words(value)
    for at in range(len(words) - len(wanted) + 1):
        if words[at : at + len(wanted)] == wanted and not _ASIDE & set(words[max(0, at - 3) : at]):
            return True
    return False


@cache
def stems(text: str) -> tuple[str, ...]:
    """The words of a text without their endings."""
    return tuple(_stem(word) for word in _words(text))


@cache
def _words(text: str) -> tuple[str, ...]:
    return tuple(re.findall(r"[a-z]+|\d+", text.replace("_", " ").lower()))


def _runs(wanted: Sequence[str], there: Sequence[str]) -> bool:
    return any(tuple(there[at : at + len(wanted)]) == tuple(wanted) for at in range(len(there) - len(wanted) + 1))


@cache
def _stem(word: str) -> str:
    word = _IRREGULAR.get(word, word)
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word.removesuffix(ending)
            break
    return re.sub(r"(.)\1$", r"\1", word)
