"""The mix of a world's tasks: what people want and get done holds its share against what is declined, unclear or not
offered."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import zip_longest

from skillweave.schema.combination import Combination
from skillweave.schema.template import TaskTemplate

FURTHER = 2
"""How many times as many instances a goal may have where the other kinds outnumber those of goals."""


def is_goal(template: TaskTemplate) -> bool:
    """Whether it is what people want, and get."""
    return template.kind in ("do", "inform")


def balanced(
    templates: Sequence[TaskTemplate], able: Mapping[str, Sequence[Combination]], most: Mapping[str, int]
) -> list[Combination]:
    """The first instances of each template, up to its own `most`; of goals further ones, evenly, until they are half.

    `able`: template -> all instances that it may have, in order.
    """
    given = {one.id: min(most[one.id], len(able[one.id])) for one in templates}
    goals = [one.id for one in templates if is_goal(one)]
    wanted = sum(count for name, count in given.items() if name not in goals) - sum(given[name] for name in goals)
    while wanted > 0:
        open_goals = [name for name in goals if given[name] < min(FURTHER * most[name], len(able[name]))]
        if not open_goals:
            break
        fewest = min(open_goals, key=lambda name: given[name])
        given[fewest] += 1
        wanted -= 1
    return [one for template in templates for one in able[template.id][: given[template.id]]]


def beyond_share(combinations: Sequence[Combination], templates: Sequence[TaskTemplate], share: float) -> set[str]:
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


def in_turns(combinations: Sequence[Combination], templates: Sequence[TaskTemplate]) -> list[Combination]:
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
