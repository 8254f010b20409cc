"""Persons of splits: each person of a world is in one split, so that no row of theirs is in two.

They are allotted by need. How many instances each template would have is known from trying; a person goes where most of
these are kept.
"""

from collections.abc import Mapping, Sequence
from math import ceil
from typing import NamedTuple

from skillweave.schema.task import Split
from synth.tasks.splits import STRICTEST_FIRST

SPARE = 3
"""Instances that are sought of each one that is wanted, so that there is something to choose from."""
FIRST = 200
NEXT = 100
"""What the first instance of a template is worth, and each further one."""
STRICTER = 1
"""What an instance is worth more in a split that has fewer of them."""


class Want(NamedTuple):
    """What one template can have."""

    split: Split
    callers: frozenset[str]
    """Who has an instance."""
    most: int
    """Instances that are wanted."""


def allotted(callers: Sequence[str], wants: Sequence[Want]) -> dict[str, Split]:
    """Caller -> split. The splits of the wants share the callers; nobody moves where that costs more than it gives."""
    splits = [split for split in STRICTEST_FIRST if any(want.split == split for want in wants)]
    home = splits[-1] if splits else "train"
    place: dict[str, Split] = dict.fromkeys(callers, home)
    while moves := [
        (gain, caller, split)
        for caller in callers
        for split in splits
        if (gain := _gain(caller, split, place, wants)) > 0
    ]:
        # The first of the best.
        _, caller, split = max(moves, key=lambda move: move[0])
        place[caller] = split
    for split in splits[:-1]:
        _fill(split, home, place, wants)
    return place


def _fill(split: Split, home: Split, place: dict[str, Split], wants: Sequence[Want]) -> None:
    """Give a split whom the others do not need, up to twice its share: rows may still be created for them."""
    enough = ceil(2 * sum(want.split == split for want in wants) / len(wants) * len(place))
    for caller in [one for one, taken in place.items() if taken == home]:
        if sum(taken == split for taken in place.values()) >= enough:
            return
        if _gain(caller, split, place, wants) >= 0:
            place[caller] = split


def _gain(caller: str, split: Split, place: Mapping[str, Split], wants: Sequence[Want]) -> int:
    """What moving a caller to a split adds to the worth of all instances."""
    if place[caller] == split:
        return 0
    gain = 0
    for want in wants:
        if caller in want.callers and want.split in (split, place[caller]):
            others = sum(place[one] == want.split for one in want.callers if one != caller)
            gain += _worth(want, others) if want.split == split else -_worth(want, others)
    return gain


def _worth(want: Want, others: int) -> int:
    """Of one more person, where a template has so many others."""
    if others >= want.most:
        return 0
    return (FIRST if others == 0 else NEXT) + STRICTER * (len(STRICTEST_FIRST) - STRICTEST_FIRST.index(want.split))
