"""Duplicates: tasks of a world that repeat another one are left out; the one in the strictest split stays.

Near duplicates are decided by what two messages really share. Where many could be alike, MinHash says which to compare.
"""

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import combinations
from random import Random
from typing import Literal, NamedTuple

from skillweave.schema.diversity import Duplicates
from skillweave.schema.task import Task
from synth.diversity.overlaps import instance_of, keys_of, text_of
from synth.tasks.splits import STRICTEST_FIRST

NEAR = 0.85
"""Share of the shingles of two messages that both have, from which on they are nearly the same."""
SHINGLE = 3
"""Words in a shingle."""
BANDS, ROWS = 24, 3
"""Of a MinHash: messages that agree in all rows of one band are compared."""
MANY = 64
"""Messages of one sort up to which all are compared with all."""
PRIME = (1 << 31) - 1

Repeat = Literal["exact", "near", "across"]
REASONS: dict[Repeat, str] = {
    "exact": "an exact duplicate",
    "near": "a near duplicate",
    "across": "an instance or a message of a stricter split",
}


class Kept(NamedTuple):
    tasks: list[Task]
    """By id."""
    removed: list[tuple[Task, Repeat]]
    duplicates: Duplicates


def without_duplicates(tasks: Sequence[Task], families: Mapping[str, str]) -> Kept:
    """The tasks of one world without those that repeat others. `families`: template -> the family it belongs to."""
    ordered = sorted(tasks, key=lambda task: (STRICTEST_FIRST.index(task.split), task.id))
    near = near_duplicates(ordered)
    kept: dict[str, Task] = {}
    removed: list[tuple[Task, Repeat]] = []
    seen: set[str] = set()
    places: dict[tuple[str, str], str] = {}
    for task in ordered:
        keys = list(keys_of(task, families))
        repeat: Repeat | None = None
        if any(places.get(key, task.split) != task.split for key in keys):
            repeat = "across"
        elif structure_of(task) in seen:
            repeat = "exact"
        elif any(other in kept for other in near.get(task.id, ())):
            repeat = "near"
        if repeat:
            removed.append((task, repeat))
            continue
        kept[task.id] = task
        seen.add(structure_of(task))
        places.update((key, task.split) for key in keys if key not in places)
    counts = {name: sum(repeat == name for _, repeat in removed) for name in REASONS}
    found = Duplicates(tasks=len(tasks), exact=counts["exact"], near=counts["near"], across=counts["across"])
    return Kept(sorted(kept.values(), key=lambda task: task.id), removed, found)


def structure_of(task: Task) -> str:
    """What is done in a task, and for whom: equal for exact duplicates."""
    noise = task.noise.model_dump_json() if task.noise else ""
    instance = instance_of(task) or "|".join(call.tool for call in task.golden)
    return "\n".join((task.world, task.kind, task.lineage.template, task.persona.name, instance, noise))


def near_duplicates(tasks: Sequence[Task]) -> dict[str, list[str]]:
    """Task -> those before it that make the same calls and whose first message is nearly the same."""
    alike: dict[tuple[str, ...], list[Task]] = defaultdict(list)
    for task in tasks:
        alike[task.world, task.kind, *(call.tool for call in task.golden)].append(task)
    found: dict[str, list[str]] = defaultdict(list)
    for group in alike.values():
        words = {task.id: shingles(text_of(task)) for task in group}
        place = {task.id: number for number, task in enumerate(group)}
        for one, other in sorted(_candidates(words)):
            first, second = sorted((one, other), key=lambda name: place[name])
            if jaccard(words[first], words[second]) >= NEAR:
                found[second].append(first)
    return dict(found)


def words_of(text: str) -> list[str]:
    """The words of a text, in small letters."""
    return re.findall(r"[^\W_]+(?:['\u2019][^\W_]+)?", text.casefold())


def shingles(text: str) -> frozenset[str]:
    """Runs of words of a text; of a shorter one, itself."""
    words = words_of(text)
    runs = range(max(1, len(words) - SHINGLE + 1))
    return frozenset(" ".join(words[place : place + SHINGLE]) for place in runs)


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """What two sets share, of all that either has."""
    return len(one & other) / len(one | other) if one or other else 1.0


def _candidates(words: Mapping[str, frozenset[str]]) -> set[tuple[str, str]]:
    """Pairs that agree in one band of their MinHashes; of few messages, all pairs."""
    if len(words) <= MANY:
        return set(combinations(sorted(words), 2))
    found: set[tuple[str, str]] = set()
    buckets: dict[tuple[int, ...], list[str]] = defaultdict(list)
    for name, runs in sorted(words.items()):
        signature = _signature(runs)
        for band in range(BANDS):
            buckets[band, *signature[band * ROWS : (band + 1) * ROWS]].append(name)
    for names in buckets.values():
        found.update(combinations(names, 2))
    return found


def _signature(runs: Iterable[str]) -> list[int]:
    hashed = [int.from_bytes(hashlib.blake2b(run.encode(), digest_size=4).digest()) for run in runs]
    return [min((factor * one + shift) % PRIME for one in hashed) for factor, shift in _permutations()]


@cache
def _permutations() -> list[tuple[int, int]]:
    return list(_drawn(Random("minhash")))


def _drawn(random: Random) -> Iterator[tuple[int, int]]:
    for _ in range(BANDS * ROWS):
        yield random.randrange(1, PRIME), random.randrange(PRIME)
