"""Contracts: what follows from a contract's SQL alone, without data."""

from collections.abc import Callable
from functools import wraps
from typing import TypeVar, TypeVarTuple, Unpack

from skillweave.schema.record import Record

Parts = TypeVarTuple("Parts")
Found = TypeVar("Found")

MOST_KNOWN = 4096
"""Answers of one function that are remembered."""


def follows(find: Callable[[Unpack[Parts]], Found]) -> Callable[[Unpack[Parts]], Found]:
    """Have a function remember what follows from parts of a contract. Nobody may change its answers.

    Records with lists have no hash: the same parts are the very same objects, or else those of the same text.
    """
    known: dict[tuple[int, ...], tuple[tuple[*Parts], Found]] = {}
    by_text: dict[tuple[str, ...], Found] = {}

    @wraps(find)
    def recall(*parts: *Parts) -> Found:
        key = tuple(map(id, parts))
        if key not in known:
            text = tuple(map(_text, parts))
            if text not in by_text:
                if len(by_text) >= MOST_KNOWN:
                    by_text.clear()
                by_text[text] = find(*parts)
            if len(known) >= MOST_KNOWN:
                known.clear()
            # What is kept beside the answer cannot give its identity to another object.
            known[key] = parts, by_text[text]
        return known[key][1]

    return recall


_TEXTS: dict[int, tuple[object, str]] = {}


def _text(part: object) -> str:
    if id(part) not in _TEXTS:
        if len(_TEXTS) >= MOST_KNOWN:
            _TEXTS.clear()
        _TEXTS[id(part)] = part, part.model_dump_json() if isinstance(part, Record) else repr(part)
    return _TEXTS[id(part)][1]
