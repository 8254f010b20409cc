"""A noisy task as it would be without its faults: what it is about is proved and searched there."""

from collections.abc import Mapping, Sequence

from skillweave.schema.task import Fault, GoldenCall, Task
from skillweave.world.replay import source_of

MADE_AGAIN: frozenset[Fault] = frozenset({"timeout", "temporary_error", "partial_page", "stale_read"})
"""Faults behind which the call is made once more."""


def befallen(golden: Sequence[GoldenCall]) -> frozenset[int]:
    """Places of golden calls that a fault spoils: each is made again, and nothing rests on it."""
    return frozenset(place for place, call in enumerate(golden) if call.fault in MADE_AGAIN)


def undisturbed(task: Task) -> Task:
    """The task without its noise; the golden calls that a fault spoils are left out, and the others keep their order.

    The places in its `gates` are those of these golden calls.
    """
    if task.noise is None:
        return task
    spoiled = befallen(task.golden)
    kept = [place for place in range(len(task.golden)) if place not in spoiled]
    places = {place: number for number, place in enumerate(kept)}
    golden = [renumbered(task.golden[place], places).model_copy(update={"fault": None}) for place in kept]
    asked = task.criteria.asked
    criteria = task.criteria.model_copy(update={"asked": asked and renumbered(asked, places)})
    return task.model_copy(update={"noise": None, "golden": golden, "criteria": criteria})


def renumbered(call: GoldenCall, places: Mapping[int, int]) -> GoldenCall:
    """The call with its sources at other places; those that have none there stay as they are."""
    found = {}
    for name, text in call.grounding.items():
        source = source_of(text)
        if source is not None and source.call in places:
            text = text.replace(f"call {source.call} ", f"call {places[source.call]} ", 1)
        found[name] = text
    return call.model_copy(update={"grounding": found})
