"""What is tried when: the splits of the items, the batches of an epoch, the minibatches that are reflected on."""

from collections.abc import Sequence
from math import ceil
from random import Random
from typing import NamedTuple, TypeVar

from skillweave.base.errors import ConfigError

T = TypeVar("T")
EPOCH_STRIDE = 1000
"""Between the seeds of one epoch and the next."""


class Batch(NamedTuple):
    """Items that are tried with one skill."""

    ids: tuple[str, ...]
    seed: int
    """Of all that is random in the batch."""


def steps_per_epoch(train_size: int, batch_size: int, accumulation: int) -> int:
    """Steps that one pass over train takes; a step has `accumulation` batches."""
    return ceil(train_size / (batch_size * accumulation))


def epoch_plan(
    ids: Sequence[str], *, batch_size: int, accumulation: int, seed: int, epoch: int, steps: int | None = None
) -> list[Batch]:
    """The batches of an epoch: one pass over train, shuffled anew.

    Args:
        ids: The items of train.
        batch_size: Items of a batch.
        accumulation: Batches of a step. What is missing to the last step is filled with items of another shuffle.
        seed: The seed of the run.
        epoch: From 1.
        steps: Steps of the epoch; None: as many as one pass takes.
    """
    start = seed + EPOCH_STRIDE * epoch
    shuffled = minibatch_order(ids, start)
    if steps is None:
        steps = steps_per_epoch(len(ids), batch_size, accumulation)
    batches = []
    for index in range(steps * accumulation):
        batch_seed = start + index + 1
        part = shuffled[index * batch_size : (index + 1) * batch_size]
        batches.append(Batch(tuple(part or minibatch_order(shuffled, batch_seed)[:batch_size]), batch_seed))
    return batches


def minibatch_order(items: Sequence[T], seed: int | None) -> list[T]:
    """Items shuffled by a seed; in their order without one."""
    ordered = list(items)
    if seed is not None:
        Random(seed).shuffle(ordered)
    return ordered


def minibatches(items: Sequence[T], size: int, seed: int | None) -> list[list[T]]:
    """Cut items into groups of at most `size`, shuffled by the seed if there is one."""
    ordered = minibatch_order(items, seed)
    size = max(1, size)
    return [ordered[start : start + size] for start in range(0, len(ordered), size)]


def split_counts(total: int, ratio: Sequence[int]) -> list[int]:
    """Divide a number of items by a ratio, by largest remainders; of equal ones the larger part goes first.

    Raises:
        ConfigError: A part of the ratio is not above 0.
    """
    if not ratio or min(ratio) <= 0:
        raise ConfigError(f"a split ratio should have whole numbers above 0, as in 2:1:7; it is {list(ratio)}")
    shares = [total * part / sum(ratio) for part in ratio]
    counts = [int(share) for share in shares]
    order = sorted(range(len(ratio)), key=lambda place: (counts[place] - shares[place], -ratio[place]))
    for place in order[: total - sum(counts)]:
        counts[place] += 1
    return counts
