"""Splits and shares: which templates and persons belong to which split, and how many instances of each kind remain.

All templates of a family are in one split, and each person of a world is in one split, so no row is in two.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import zip_longest
from math import ceil
from random import Random
from typing import NamedTuple, TypeVar

from evaluator.kinds import KINDS
from skillweave.config.load import nearest
from skillweave.config.sections import SplitsConfig
from skillweave.schema.combination import Combination, TaskTemplate
from skillweave.schema.task import Split

STRICTEST_FIRST: tuple[Split, ...] = ("test", "validation", "train")
"""If two splits want the same thing, the first of them gets it."""
SPARE_FACTOR = 3
"""Instances that are sought for each one that is wanted, so that there is something to choose from."""
FIRST_WORTH = 200
NEXT_WORTH = 100
"""What the first instance of a template is worth, and each further one."""
STRICTER_WORTH = 1
"""What an instance is worth more for each split that is less strict than its own."""
GOAL_FACTOR = 2
"""How many times as many instances a goal may have if the other kinds outnumber those of goals."""


def family_of(template: TaskTemplate) -> str:
    """What the templates that are derived from one goal have in common."""
    return template.base or template.id


def splits_of(
    templates: Iterable[TaskTemplate], domains: Collection[str], splits: SplitsConfig, seed: str
) -> dict[str, Split]:
    """Assign each template of a world to a split.

    Families stand in a seeded order, evenly spaced from a seeded start, and the shares are laid over them. So a world
    has its share of each split to within one family, and many small worlds have it together.

    Args:
        domains: The domains that the world consists of.

    Returns:
        Template -> split.
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
    """What is wrong with the configured hold-out domains; None if nothing is.

    Args:
        domains: The domains of the run.
    """
    for name in splits.holdout_domains:
        if name not in domains:
            return f"splits.holdout_domains names {name!r}, which is no domain of this run; {nearest(name, domains)}"
    return None


def _split_at(place: float, splits: SplitsConfig) -> Split:
    """The split in whose share a place from 0 to below 2 lies."""
    if place < splits.test:
        return "test"
    return "validation" if place < splits.test + splits.validation else "train"


class SplitDemand(NamedTuple):
    """The instances that one template can have."""

    split: Split
    callers: frozenset[str]
    """Who has an instance."""
    most: int
    """Instances that are wanted."""


def allot_persons(callers: Sequence[str], demands: Sequence[SplitDemand]) -> dict[str, Split]:
    """Allot the persons of a world to the splits that its templates are in.

    Nobody is moved to another split if that costs more instances than it gives.

    Returns:
        Caller -> split.
    """
    splits = [split for split in STRICTEST_FIRST if any(demand.split == split for demand in demands)]
    home = splits[-1] if splits else "train"
    allotted: dict[str, Split] = dict.fromkeys(callers, home)
    while moves := [
        (gain, caller, split)
        for caller in callers
        for split in splits
        if (gain := _gain(caller, split, allotted, demands)) > 0
    ]:
        # Of equal gains the first counts, so that the order of callers and splits decides.
        _, caller, split = max(moves, key=lambda move: move[0])
        allotted[caller] = split
    for split in splits[:-1]:
        _fill(split, home, allotted, demands)
    return allotted


def _fill(split: Split, home: Split, allotted: dict[str, Split], demands: Sequence[SplitDemand]) -> None:
    """Give a split persons whom the others do not need, up to twice its share: rows may still be created for them."""
    enough = ceil(2 * sum(demand.split == split for demand in demands) / len(demands) * len(allotted))
    for caller in [caller for caller, current in allotted.items() if current == home]:
        if sum(current == split for current in allotted.values()) >= enough:
            return
        if _gain(caller, split, allotted, demands) >= 0:
            allotted[caller] = split


def _gain(caller: str, split: Split, allotted: Mapping[str, Split], demands: Sequence[SplitDemand]) -> int:
    """What moving a caller to a split adds to the worth of all instances."""
    if allotted[caller] == split:
        return 0
    gain = 0
    for demand in demands:
        if caller in demand.callers and demand.split in (split, allotted[caller]):
            others = sum(allotted[other] == demand.split for other in demand.callers if other != caller)
            worth = _worth_of_next(demand, others)
            gain += worth if demand.split == split else -worth
    return gain


def _worth_of_next(demand: SplitDemand, others: int) -> int:
    """What one more person is worth to a template that has so many others."""
    if others >= demand.most:
        return 0
    strictness = len(STRICTEST_FIRST) - STRICTEST_FIRST.index(demand.split)
    return (FIRST_WORTH if others == 0 else NEXT_WORTH) + STRICTER_WORTH * strictness


def is_goal(template: TaskTemplate) -> bool:
    """Whether a template is a goal that an author gave, not derived from one."""
    return KINDS[template.kind].is_goal


def balanced_combinations(
    templates: Sequence[TaskTemplate], available: Mapping[str, Sequence[Combination]], most: Mapping[str, int]
) -> list[Combination]:
    """The first instances of each template. Goals get further ones, evenly, until they are half of all.

    Args:
        available: Template -> all instances that it may have, in order.
        most: Template -> instances that it has at most; a goal up to GOAL_FACTOR times as many.
    """
    counts = {one.id: min(most[one.id], len(available[one.id])) for one in templates}
    goals = [template.id for template in templates if is_goal(template)]
    lacking = sum(count for name, count in counts.items() if name not in goals) - sum(counts[name] for name in goals)
    while lacking > 0:
        open_goals = [name for name in goals if counts[name] < min(GOAL_FACTOR * most[name], len(available[name]))]
        if not open_goals:
            break
        fewest = min(open_goals, key=lambda name: counts[name])
        counts[fewest] += 1
        lacking -= 1
    return [one for template in templates for one in available[template.id][: counts[template.id]]]


def combinations_over_share(
    combinations: Sequence[Combination], templates: Sequence[TaskTemplate], share: float
) -> set[str]:
    """Combinations to leave out, so that those of goals are at least a share of the rest.

    What is kept covers as much as it can: first each rule and each thing withheld or not offered, then the rest.

    Returns:
        Their ids.
    """
    known = {template.id: template for template in templates}
    others = [one for one in combinations if not is_goal(known[one.template])]
    goals = len(combinations) - len(others)
    # The share as it is written: 0.9 as a binary fraction is a little more than 9/10.
    least = Fraction(str(share))
    allowed = int(goals * (1 - least) / least) if least else len(others)
    return {one.id for one in by_coverage(others, lambda one: known[one.template])[allowed:]}


def alternate_goals(combinations: Sequence[Combination], templates: Sequence[TaskTemplate]) -> list[Combination]:
    """All combinations, goals and other kinds in turn; of either first those that cover something new."""
    known = {template.id: template for template in templates}
    goals = by_coverage([one for one in combinations if is_goal(known[one.template])], lambda one: known[one.template])
    others = by_coverage(
        [one for one in combinations if not is_goal(known[one.template])], lambda one: known[one.template]
    )
    return [one for pair in zip_longest(goals, others) for one in pair if one is not None]


Thing = TypeVar("Thing")


def by_coverage(things: Iterable[Thing], template_of: Callable[[Thing], TaskTemplate]) -> list[Thing]:
    """All combinations, or templates, those that cover something new first.

    Among equals comes first one of each kind, then as many of each as there are in proportion.
    """
    seen: Counter[str] = Counter()
    turns: dict[tuple[int, str], list[Thing]] = {}
    for thing in things:
        template = template_of(thing)
        covered = template.forbidden or template.id
        turn = 0 if not seen[covered] else 1 + seen[template.id]
        seen.update({covered, template.id})
        turns.setdefault((turn, template.kind), []).append(thing)
    ranked = [
        ((turn, place > 1, Fraction(place, len(same)), kind), thing)
        for (turn, kind), same in turns.items()
        for place, thing in enumerate(same, start=1)
    ]
    return [thing for _, thing in sorted(ranked, key=lambda entry: entry[0])]
