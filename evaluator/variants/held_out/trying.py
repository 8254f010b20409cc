"""Variants of the second set, each with what was changed in it, sorted by what comes of it."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from random import Random
from typing import NamedTuple

from evaluator.variants.conversation import Variant, all_facts, failing, passing, transcript
from evaluator.variants.executor import VariantCall, VariantExecution, VariantExecutor
from evaluator.variants.held_out.reading import differing, reaches

SEED = "second set"
MOST = 3
"""Ways of one sort that are carried out in search of one that goes through."""


class HeldOutVariant(NamedTuple):
    variant: Variant
    what: str
    """What was changed, in words."""
    differs: list[str]
    """How its end state differs from the one demanded; empty where it does not."""


class ChangedCalls(NamedTuple):
    """Calls in the place of the golden ones."""

    moves: list[VariantCall]
    what: str


def held_out_random(bench: VariantExecutor, purpose: str) -> Random:
    """The second set's own draws."""
    return Random(f"{SEED}/{bench.task.id}/{purpose}")


def wrong(bench: VariantExecutor, name: str, ways: Iterable[ChangedCalls]) -> Iterator[HeldOutVariant]:
    """One that ends elsewhere: the first whose golden calls all go through, else the first."""
    found: tuple[ChangedCalls, VariantExecution] | None = None
    for way in islice(ways, MOST):
        attempt = bench.attempt(way.moves)
        if reaches(bench, attempt.changes):
            continue
        if found is None or not attempt.undone:
            found = way, attempt
        if not attempt.undone:
            break
    if found is not None:
        way, attempt = found
        words = [all_facts(bench.task.criteria.communicate)]
        variant = failing(name, transcript(bench.task, attempt.made, words), {"other"})
        yield HeldOutVariant(variant, way.what, differing(bench, attempt.changes))


def right(
    bench: VariantExecutor, name: str, ways: Iterable[ChangedCalls], words: Sequence[str] = ()
) -> Iterator[HeldOutVariant]:
    """The first that ends as it should, with every golden call made and no rule broken."""
    for way in islice(ways, MOST):
        attempt = bench.attempt(way.moves)
        if not attempt.undone and attempt.is_lawful and reaches(bench, attempt.changes):
            said = [*words] or [all_facts(bench.task.criteria.communicate)]
            yield HeldOutVariant(passing(name, transcript(bench.task, attempt.made, said)), way.what, [])
            return
