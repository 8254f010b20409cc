"""Splits and shares: which templates and persons belong to which split, and how many instances of each kind remain.

All templates of a family, in whatever form, are in one split, and each person of a world is in one split, so no row is
in two.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from math import ceil
from random import Random
from typing import NamedTuple, TypeVar

from skillweave.config.load import nearest
from skillweave.config.sections import SplitsConfig
from skillweave.schema.combination import Combination
from skillweave.schema.record import Value
from skillweave.schema.task import Split
from skillweave.schema.template import TaskTemplate
from synth.tasks.turns import is_goal, is_refusal

STRICTEST_FIRST: tuple[Split, ...] = ("test", "validation", "train")
"""If two splits want the same thing, the first of them gets it."""
SPARE_FACTOR = 3
"""Instances that are sought for each one that is wanted, so that there is something to choose from."""
FIRST_WORTH = 200
NEXT_WORTH = 100
"""What the first instance of a template is worth, and each further one."""
WIDEST = Fraction(1, 3)
"""Largest share of validation and test together of which customers have twice as much."""
STRICTER_WORTH = 1
"""What an instance is worth more for each split that is less strict than its own."""


def families_of(templates: Iterable[TaskTemplate]) -> dict[str, list[str]]:
    """Template -> the families that it belongs to: one or, of a compound, those of its parts.

    A family is a goal with all that is derived from it, and has its name.
    """
    return {one.id: [*dict.fromkeys(part.base or part.id for part in _wholes(one))] for one in templates}


def _wholes(template: TaskTemplate) -> Iterator[TaskTemplate]:
    """The templates of which a compound consists; any other template itself."""
    for part in template.parts:
        yield from _wholes(part)
    if not template.parts:
        yield template


def relatives_of(template: TaskTemplate) -> Iterator[str]:
    """The templates from which a template was derived, and those of which it consists."""
    yield from [template.base] if template.base else []
    for part in template.parts:
        yield part.id
        yield from relatives_of(part)


def splits_of(
    templates: Iterable[TaskTemplate], domains: Collection[str], splits: SplitsConfig, seed: str
) -> dict[str, Split]:
    """Assign each template of a world to a split.

    Families stand in a seeded order, and the shares are laid over them. So a world has its share of each split to
    within one family, and many small worlds have it together. Compounds change nothing: each is made of families of
    one split, and is in that one.

    Args:
        domains: The domains that the world consists of.

    Returns:
        Template -> split.
    """
    families = families_of(templates)
    if is_held_out(domains, splits):
        return dict.fromkeys(families, "test")
    start = Random(f"{seed}/splits/{'+'.join(sorted(domains))}").random()
    names = {name for own in families.values() for name in own}
    order = sorted(names, key=lambda name: (Random(f"{seed}/splits/{name}").random(), name))
    drawn = {name: _split_at((place + start) / len(order), splits) for place, name in enumerate(order)}
    return {template: drawn[own[0]] for template, own in families.items()}


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
    """The split in whose share a place from 0 to below 1 lies."""
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

    Nobody is moved to another split if that costs more instances than it gives, and the least strict one keeps at least
    half as many persons as it has of the templates: nobody may have been tried for what it has.

    Returns:
        Caller -> split.
    """
    splits = [split for split in STRICTEST_FIRST if any(demand.split == split for demand in demands)]
    home = splits[-1] if splits else "train"
    allotted: dict[str, Split] = dict.fromkeys(callers, home)
    kept = ceil(sum(demand.split == home for demand in demands) / max(len(demands), 1) * len(callers) / 2)
    while moves := [
        (gain, caller, split)
        for caller in callers
        for split in splits
        if allotted[caller] != home or sum(at == home for at in allotted.values()) > kept
        if (gain := _gain(caller, split, allotted, demands)) > 0
    ]:
        # Of equal gains the first counts, so that the order of callers and splits decides.
        _, caller, split = max(moves, key=lambda move: move[0])
        allotted[caller] = split
    for split in splits[:-1]:
        _fill(split, home, kept, allotted, demands)
    return allotted


def split_of_customer(domains: Collection[str], splits: SplitsConfig, seed: str) -> Callable[[str], Split] | None:
    """How the customers of a world are put into splits; None if each world allots its own.

    In a world of held-out domains alone all is for testing, and so it is wherever else these domains are.

    Args:
        domains: The domains that the world consists of.

    Returns:
        A function from a person's name to their split.
    """
    if not splits.customers_apart or all(name in splits.holdout_domains for name in domains):
        return None
    return partial(customer_split, splits=splits, seed=seed)


def person_name(row: Mapping[str, Value]) -> str:
    """The name by which a person is known in every world.

    Args:
        row: The person's row.
    """
    return str(row.get("full_name") or "the caller")


def customer_split(name: str, splits: SplitsConfig, seed: str) -> Split:
    """The split of a customer in all worlds, drawn by name.

    Validation and test get twice their shares where at least a third stays for training: few persons can have a task.
    """
    widened = 2 if splits.validation + splits.test <= WIDEST else 1
    place = Random(f"{seed}/customers/{name}").random() / widened
    return _split_at(place, splits)


def _fill(split: Split, home: Split, kept: int, allotted: dict[str, Split], demands: Sequence[SplitDemand]) -> None:
    """Give a split persons whom the others do not need, up to twice its share: rows may still be created for them.

    Args:
        kept: Persons who stay at home, at least.
    """
    enough = ceil(2 * sum(demand.split == split for demand in demands) / len(demands) * len(allotted))
    for caller in [caller for caller, current in allotted.items() if current == home]:
        at_home = sum(current == home for current in allotted.values())
        if at_home <= kept or sum(current == split for current in allotted.values()) >= enough:
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


def combinations_over_share(
    combinations: Sequence[Combination], templates: Sequence[TaskTemplate], goals: float, refusals: float
) -> set[str]:
    """Combinations to leave out, so that goals and what is declined have their shares of the rest.

    What is kept covers as much as it can: first each rule and each thing withheld or not offered, then the rest.

    Args:
        goals: Share of goals, at least.
        refusals: Share of requests that are declined, at most.

    Returns:
        Their ids.
    """
    known = {template.id: template for template in templates}
    others = [one for one in combinations if not is_goal(known[one.template])]
    of_goals = len(combinations) - len(others)
    # Shares as they are written: 0.9 as a binary fraction is a little more than 9/10.
    least, most = Fraction(str(goals)), Fraction(str(refusals))
    allowed = int(of_goals * (1 - least) / least) if least else len(others)
    ranked = by_coverage(others, lambda one: known[one.template])
    declined = [one for one in ranked[:allowed] if is_refusal(known[one.template])]
    rest = of_goals + len(ranked[:allowed]) - len(declined)
    allowed_declined = int(rest * most / (1 - most)) if most < 1 else len(declined)
    return {one.id for one in [*ranked[allowed:], *declined[allowed_declined:]]}


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
