"""Splits and shares: which templates and persons belong to which split, and how many instances of each kind remain.

All templates of a family are in one split, and each person of a world is in one split, so no row is in two.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import zip_longest
from math import ceil
from random import Random
from typing import NamedTuple

from evaluator.kinds import KINDS
from skillweave.config.load import nearest
from skillweave.config.sections import SplitsConfig
from skillweave.schema.combination import Combination
from skillweave.schema.task import Split
from skillweave.schema.template import TaskTemplate

STRICTEST_FIRST: tuple[Split, ...] = ("test", "validation", "train")
"""Of two splits that want the same thing, the first has it."""


def family_of(template: TaskTemplate) -> str:
    """What the templates that are derived from one goal have in common."""
    return template.base or template.id


def splits_of(
    templates: Iterable[TaskTemplate], domains: Collection[str], splits: SplitsConfig, seed: str
) -> dict[str, Split]:
    """Template -> split, for all templates of a world that lies in these domains.

    Families stand in a seeded order, evenly spaced from a seeded start, and the shares are laid over them: a world has
    its share of each split to within one family, and many small worlds have it together.
    """
    family = {template.id: family_of(template) for template in templates}
    if is_held_out(domains, splits):
        return dict.fromkeys(family, "test")
    start = Random(f"{seed}/splits/{'+'.join(sorted(domains))}").random()
    families = sorted(set(family.values()), key=lambda name: (Random(f"{seed}/splits/{name}").random(), name))
    drawn = {name: _split_at((place + start) / len(families), splits) for place, name in enumerate(families)}
    return {template: drawn[name] for template, name in family.items()}


def is_held_out(domains: Collection[str], splits: SplitsConfig) -> bool:
    """Whether one of a world's domains is kept whole for testing."""
    return any(name in splits.holdout_domains for name in domains)


def holdout_fault(splits: SplitsConfig, domains: Collection[str]) -> str | None:
    """What is wrong with the domains that are to be held out of a run that has these; None: nothing."""
    for name in splits.holdout_domains:
        if name not in domains:
            return f"splits.holdout_domains names {name!r}, which is no domain of this run; {nearest(name, domains)}"
    return None


def _split_at(place: float, splits: SplitsConfig) -> Split:
    if place < splits.test:
        return "test"
    return "validation" if place < splits.test + splits.validation else "train"


SPARE_FACTOR = 3
"""Instances that are sought of each one that is wanted, so that there is something to choose from."""
FIRST_WORTH = 200
NEXT_WORTH = 100
"""What the first instance of a template is worth, and each further one."""
STRICTER_WORTH = 1
"""What an instance is worth more in a split that has fewer of them."""


class SplitDemand(NamedTuple):
    """What one template can have."""

    split: Split
    callers: frozenset[str]
    """Who has an instance."""
    most: int
    """Instances that are wanted."""


def allot_persons(callers: Sequence[str], wants: Sequence[SplitDemand]) -> dict[str, Split]:
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


def _fill(split: Split, home: Split, place: dict[str, Split], wants: Sequence[SplitDemand]) -> None:
    """Give a split whom the others do not need, up to twice its share: rows may still be created for them."""
    enough = ceil(2 * sum(want.split == split for want in wants) / len(wants) * len(place))
    for caller in [one for one, taken in place.items() if taken == home]:
        if sum(taken == split for taken in place.values()) >= enough:
            return
        if _gain(caller, split, place, wants) >= 0:
            place[caller] = split


def _gain(caller: str, split: Split, place: Mapping[str, Split], wants: Sequence[SplitDemand]) -> int:
    """What moving a caller to a split adds to the worth of all instances."""
    if place[caller] == split:
        return 0
    gain = 0
    for want in wants:
        if caller in want.callers and want.split in (split, place[caller]):
            others = sum(place[one] == want.split for one in want.callers if one != caller)
            gain += _worth(want, others) if want.split == split else -_worth(want, others)
    return gain


def _worth(want: SplitDemand, others: int) -> int:
    """Of one more person, where a template has so many others."""
    if others >= want.most:
        return 0
    return (FIRST_WORTH if others == 0 else NEXT_WORTH) + STRICTER_WORTH * (
        len(STRICTEST_FIRST) - STRICTEST_FIRST.index(want.split)
    )


GOAL_FACTOR = 2
"""How many times as many instances a goal may have where the other kinds outnumber those of goals."""


def is_goal(template: TaskTemplate) -> bool:
    """Whether it is what people want, and get."""
    return KINDS[template.kind].is_goal


def balanced_combinations(
    templates: Sequence[TaskTemplate], able: Mapping[str, Sequence[Combination]], most: Mapping[str, int]
) -> list[Combination]:
    """The first instances of each template, up to its own `most`; of goals further ones, evenly, until they are half.

    `able`: template -> all instances that it may have, in order.
    """
    given = {one.id: min(most[one.id], len(able[one.id])) for one in templates}
    goals = [one.id for one in templates if is_goal(one)]
    wanted = sum(count for name, count in given.items() if name not in goals) - sum(given[name] for name in goals)
    while wanted > 0:
        open_goals = [name for name in goals if given[name] < min(GOAL_FACTOR * most[name], len(able[name]))]
        if not open_goals:
            break
        fewest = min(open_goals, key=lambda name: given[name])
        given[fewest] += 1
        wanted -= 1
    return [one for template in templates for one in able[template.id][: given[template.id]]]


def combinations_over_share(
    combinations: Sequence[Combination], templates: Sequence[TaskTemplate], share: float
) -> set[str]:
    """The ids of the combinations to leave out, so that those of goals are at least `share` of the rest.

    What is kept covers as much as it can: each rule and each thing left unsaid or not offered first, then the rest.
    """
    known = {template.id: template for template in templates}
    others = [one for one in combinations if not is_goal(known[one.template])]
    goals = len(combinations) - len(others)
    # As written: 0.9 as a binary fraction is a little more than 9/10.
    least = Fraction(str(share))
    allowed = int(goals * (1 - least) / least) if least else len(others)
    return {one.id for one in [*_by_coverage(others, known)][allowed:]}


def alternate_goals(combinations: Sequence[Combination], templates: Sequence[TaskTemplate]) -> list[Combination]:
    """All, one of a goal and one of another kind in turn: of either first those that cover something new."""
    known = {template.id: template for template in templates}
    goals = [*_by_coverage([one for one in combinations if is_goal(known[one.template])], known)]
    others = [*_by_coverage([one for one in combinations if not is_goal(known[one.template])], known)]
    return [one for pair in zip_longest(goals, others) for one in pair if one is not None]


def _by_coverage(some: Sequence[Combination], known: Mapping[str, TaskTemplate]) -> Iterator[Combination]:
    """All, those that cover something new first; of equals one of each kind, then so many of each as there are."""
    seen: Counter[str] = Counter()
    turns: dict[tuple[int, str], list[Combination]] = {}
    for one in some:
        template = known[one.template]
        covers = template.forbidden or template.id
        turn = 0 if not seen[covers] else 1 + seen[template.id]
        seen.update({covers, template.id})
        turns.setdefault((turn, template.kind), []).append(one)
    places = [
        ((turn, place > 1, Fraction(place, len(found)), kind), one)
        for (turn, kind), found in turns.items()
        for place, one in enumerate(found, start=1)
    ]
    yield from (one for _, one in sorted(places, key=lambda entry: entry[0]))
