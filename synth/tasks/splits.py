"""Splits: which tasks are for training, validation and testing.

All templates of a family are in one split. A domain that is held out is for testing as a whole, with all worlds that it
is in.
"""

from collections.abc import Collection, Iterable
from random import Random

from skillweave.config.load import nearest
from skillweave.config.models import SplitsConfig
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
