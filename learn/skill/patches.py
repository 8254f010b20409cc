"""Patches: the changes that reflections propose, how they are brought into one list, and which of them are made.

Patches of failures and of successes are merged apart, each by a tree of questions, then with each other. Where a merge
fails, its patches are joined as they are, so that no proposal is lost to a bad answer.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Literal, TypeVar

from learn.skill.document import Edit, Source
from learn.skill.replies import RewrittenSkill, Suggestion
from skillweave.base.errors import AuthorError

T = TypeVar("T")
P = TypeVar("P", Edit, Suggestion, RewrittenSkill)
MergeSource = Literal["failure", "success", "both"]
Merge = Callable[[Sequence[Sequence[T]], int, MergeSource], Awaitable[list[T] | None]]
"""Merges a group of patches, at a level of the tree; None: no usable answer."""


def normalise(items: Sequence[P], *, source: Source, batch_size: int) -> list[P]:
    """Note on each proposal where it comes from, and how many conversations support it, if it does not say so itself.

    Args:
        items: What one reflection proposes.
        source: What it reflected on.
        batch_size: Conversations that it read, as it says; at least 1 is noted.
    """
    notes = {"source_type": source, "support_count": max(1, batch_size)}
    return [
        item.model_copy(update={name: value for name, value in notes.items() if name not in item.model_fields_set})
        for item in items
    ]


async def merge_patches(
    failure: Sequence[Sequence[T]], success: Sequence[Sequence[T]], *, merge_batch_size: int, merge: Merge[T]
) -> list[T]:
    """Bring patches into one list.

    Args:
        failure: Patches of failures, in order.
        success: Patches of successes, in order.
        merge_batch_size: Patches of one question, at least 2.
        merge: Asks a model to merge a group. The groups of one level are asked about at the same time; the outcome
            depends on their order alone.

    Returns:
        The changes. An empty answer is an answer: it drops them all.
    """
    failures, depth = await _merged(failure, merge_batch_size, merge, "failure")
    successes, other = await _merged(success, merge_batch_size, merge, "success")
    if not failures or not successes:
        return failures or successes
    return await _merge_group([failures, successes], max(depth, other) + 1, "both", merge)


async def _merged(
    patches: Sequence[Sequence[T]], size: int, merge: Merge[T], source: MergeSource
) -> tuple[list[T], int]:
    """The changes of one source, and the level of the last question."""
    layer = [list(patch) for patch in patches]
    size, level = max(2, size), 0
    while len(layer) > 1:
        level += 1
        groups = [layer[start : start + size] for start in range(0, len(layer), size)]
        layer = await asyncio.gather(*(_merge_group(group, level, source, merge) for group in groups))
    return (layer[0] if layer else []), level


async def _merge_group(group: Sequence[Sequence[T]], level: int, source: MergeSource, merge: Merge[T]) -> list[T]:
    """One patch from a group; a group of one is itself."""
    joined = [item for patch in group for item in patch]
    if len(group) == 1:
        return joined
    try:
        merged = await merge(group, level, source)
    except AuthorError:
        merged = None
    return joined if merged is None else merged


def needs_ranking(pool: Sequence[T], budget: int) -> bool:
    """Whether somebody has to choose: there is more than the budget, and the budget is above 0."""
    return 0 < budget < len(pool)


def select(pool: Sequence[T], budget: int, indices: Iterable[int] | None) -> list[T]:
    """The changes that a step makes.

    Args:
        pool: All of them.
        budget: The most to make; 0 makes none.
        indices: Places in the pool, the most useful first. What is no place, or stands twice, is passed over.

    Returns:
        The whole pool in its order, if the budget allows; else the chosen ones in the order chosen; the first of the
        pool, if none was chosen.
    """
    budget = max(0, budget)
    if len(pool) <= budget:
        return list(pool)
    places = dict.fromkeys(index for index in indices or () if type(index) is int and 0 <= index < len(pool))
    return [pool[place] for place in places][:budget] or list(pool[:budget])
