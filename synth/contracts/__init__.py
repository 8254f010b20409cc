"""Contracts: what follows from a contract's SQL alone, without data."""

from collections.abc import Callable
from functools import wraps
from typing import TypeVar, TypeVarTuple, Unpack

Parts = TypeVarTuple("Parts")
Found = TypeVar("Found")

MOST_KNOWN = 4096
"""Answers of one function that are remembered."""


def follows(find: Callable[[Unpack[Parts]], Found]) -> Callable[[Unpack[Parts]], Found]:
    """Have a function remember what follows from parts of a contract. Nobody may change its answers.

    The same parts are the very same objects: records with lists have no hash, and are never changed.
    """
    known: dict[tuple[int, ...], tuple[tuple[*Parts], Found]] = {}

    @wraps(find)
    def recall(*parts: *Parts) -> Found:
        key = tuple(map(id, parts))
        if key not in known:
            if len(known) >= MOST_KNOWN:
                known.clear()
            # What is kept beside the answer cannot give its identity to another object.
            known[key] = parts, find(*parts)
        return known[key][1]

    return recall
