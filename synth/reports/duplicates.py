"""Duplicates within a world and overlaps between splits.

Of tasks that repeat each other, the one in the strictest split stays.
"""

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import combinations
from random import Random
from typing import Literal, NamedTuple, get_args

from pydantic import TypeAdapter, ValidationError

from skillweave.base.errors import ArtifactError
from skillweave.base.store import Store
from skillweave.schema.contract import SESSION_TOOLS
from skillweave.schema.record import Json
from skillweave.schema.reports import DuplicateCounts
from skillweave.schema.task import Split, Task
from skillweave.schema.template import TaskTemplate
from skillweave.world.dataset import Dataset
from synth.tasks.splits import STRICTEST_FIRST, families_of

_TEMPLATES: TypeAdapter[list[TaskTemplate]] = TypeAdapter(list[TaskTemplate])
Axis = Literal["template", "form", "person", "instance", "message", "domain"]
AXES: tuple[Axis, ...] = get_args(Axis)


def overlaps(
    tasks: Sequence[Task], families: Mapping[str, Sequence[str]] | None = None, holdouts: Collection[str] = ()
) -> dict[Axis, list[str]]:
    """Axis -> its values that are in more than one split, in words; empty if the splits are disjoint.

    Args:
        families: Template -> the families it belongs to, by default itself.
        holdouts: Domains whose tasks all belong to `test`.
    """
    places: dict[tuple[Axis, str], dict[Split, str]] = defaultdict(dict)
    lines: dict[Axis, list[str]] = {axis: [] for axis in AXES}
    for task in sorted(tasks, key=lambda one: one.id):
        for axis, key in keys_of(task, families or {}):
            places[axis, key].setdefault(task.split, task.id)
        for domain in sorted({*holdouts} & {*task.domains}):
            if task.split != "test":
                lines["domain"].append(f"{task.id} is of {domain!r}, which is held out, and in {task.split}")
    for (axis, key), seen in places.items():
        if len(seen) > 1:
            where = ", ".join(f"{seen[split]} in {split}" for split in STRICTEST_FIRST if split in seen)
            lines[axis].append(f"{key[:120]}: {where}")
    return lines


def split_faults(
    tasks: Sequence[Task], families: Mapping[str, Sequence[str]] | None = None, holdouts: Collection[str] = ()
) -> list[str]:
    """Faults of the splits of a dataset's tasks, one on each line."""
    faults = [
        f"the same {axis} is in two splits: {line}" if axis != "domain" else line
        for axis, lines in overlaps(tasks, families, holdouts).items()
        for line in lines
    ]
    undecided = [task for task in tasks if task.split == "test" and is_undecided(task)]
    return [
        *faults,
        *(f"{task.id}: whether its outcome is unique is undecided, and it is in test" for task in undecided),
    ]


def is_undecided(task: Task) -> bool:
    """Whether the search for a second lawful end state met a bound."""
    return task.gates.grounded.get("unique") == "undecided"


def keys_of(task: Task, families: Mapping[str, Sequence[str]]) -> Iterator[tuple[Axis, str]]:
    """The (axis, value) pairs of a task that must not be in another split."""
    for family in families.get(task.lineage.template, [task.lineage.template]):
        yield "template", f"{task.world}: {family}"
        for form in task.forms:
            yield "form", f"{task.world}: {family} as {form.name}"
    yield "person", f"{task.world}: {task.persona.name}"
    instance = instance_of(task)
    if instance:
        yield "instance", f"{task.world}: {instance}"
    yield "message", f"{task.world}: {' '.join(text_of(task).casefold().split())}"


def text_of(task: Task) -> str:
    """The first message of a task."""
    return task.messages[0].content or "" if task.messages else ""


def instance_of(task: Task) -> str:
    """The calls with their arguments and the facts to tell; empty if they do not identify an instance.

    Equal calls mint equal ids, so minted ids do not distinguish instances.
    """
    calls = [*task.golden, *([task.criteria.asked] if task.criteria.asked else [])]
    facts: list[Json] = [[fact.noun, fact.values] for fact in task.criteria.communicate]
    if not facts and not any(call.arguments for call in calls if call.tool not in SESSION_TOOLS):
        return ""
    made_calls: list[Json] = [[call.tool, call.arguments] for call in calls if call.fault is None]
    return json.dumps([task.kind, made_calls, facts], sort_keys=True)


NEAR = 0.85
"""Jaccard similarity of two messages from which on they are near duplicates."""
SHINGLE = 3
"""Words of a shingle."""
BANDS, ROWS = 24, 3
"""Bands and rows of a MinHash: messages that agree in all rows of one band are compared."""
MANY = 64
"""Up to so many messages, every pair is compared."""
PRIME = (1 << 31) - 1

Repeat = Literal["exact", "near", "across"]
REASONS: dict[Repeat, str] = {
    "exact": "an exact duplicate",
    "near": "a near duplicate",
    "across": "an instance or a message of a stricter split",
}


class Deduplicated(NamedTuple):
    tasks: list[Task]
    """The tasks kept, by id."""
    removed: list[tuple[Task, Repeat]]
    duplicates: DuplicateCounts


def without_duplicates(tasks: Sequence[Task], families: Mapping[str, Sequence[str]]) -> Deduplicated:
    """The tasks of one world without duplicates. `families`: template -> the families it belongs to."""
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
    duplicates = DuplicateCounts(tasks=len(tasks), exact=counts["exact"], near=counts["near"], across=counts["across"])
    return Deduplicated(sorted(kept.values(), key=lambda task: task.id), removed, duplicates)


def structure_of(task: Task) -> str:
    """The actions of a task and its caller: equal for exact duplicates."""
    noise = task.noise.model_dump_json() if task.noise else ""
    instance = instance_of(task) or "|".join(call.tool for call in task.golden)
    return "\n".join((task.world, task.kind, task.lineage.template, task.persona.name, instance, noise))


def near_duplicates(tasks: Sequence[Task]) -> dict[str, list[str]]:
    """Task -> earlier tasks with the same calls and nearly the same first message."""
    alike: dict[tuple[str, ...], list[Task]] = defaultdict(list)
    for task in tasks:
        alike[task.world, task.kind, *(call.tool for call in task.golden)].append(task)
    repeats: dict[str, list[str]] = defaultdict(list)
    for group in alike.values():
        words = {task.id: shingles(text_of(task)) for task in group}
        place = {task.id: number for number, task in enumerate(group)}
        for one, other in sorted(_candidates(words)):
            first, second = sorted((one, other), key=lambda name: place[name])
            if jaccard(words[first], words[second]) >= NEAR:
                repeats[second].append(first)
    return dict(repeats)


def words_of(text: str) -> list[str]:
    """The words of a text, in lower case."""
    return re.findall(r"[^\W_]+(?:['\u2019][^\W_]+)?", text.casefold())


def shingles(text: str) -> frozenset[str]:
    """Runs of words of a text; a shorter text is its own only run."""
    words = words_of(text)
    runs = range(max(1, len(words) - SHINGLE + 1))
    return frozenset(" ".join(words[place : place + SHINGLE]) for place in runs)


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """The Jaccard similarity of two sets."""
    return len(one & other) / len(one | other) if one or other else 1.0


def _candidates(words: Mapping[str, frozenset[str]]) -> set[tuple[str, str]]:
    """Pairs that agree in one band of their MinHashes; all pairs if there are few messages."""
    if len(words) <= MANY:
        return set(combinations(sorted(words), 2))
    pairs: set[tuple[str, str]] = set()
    buckets: dict[tuple[int, ...], list[str]] = defaultdict(list)
    for name, runs in sorted(words.items()):
        signature = _signature(runs)
        for band in range(BANDS):
            buckets[band, *signature[band * ROWS : (band + 1) * ROWS]].append(name)
    for names in buckets.values():
        pairs.update(combinations(names, 2))
    return pairs


def _signature(runs: Iterable[str]) -> list[int]:
    hashed = [int.from_bytes(hashlib.blake2b(run.encode(), digest_size=4).digest()) for run in runs]
    return [min((factor * one + shift) % PRIME for one in hashed) for factor, shift in _permutations()]


@cache
def _permutations() -> list[tuple[int, int]]:
    return list(_drawn(Random("minhash")))


def _drawn(random: Random) -> Iterator[tuple[int, int]]:
    for _ in range(BANDS * ROWS):
        yield random.randrange(1, PRIME), random.randrange(PRIME)


def read_templates(store: Store, world: str) -> dict[str, TaskTemplate]:
    """The templates of a world by id; empty if they cannot be read."""
    path = f"task_templates/{world}.json"
    try:
        templates = _TEMPLATES.validate_json(store.read(path)) if store.exists(path) else []
    except (ArtifactError, ValidationError):
        return {}
    return {template.id: template for template in templates}


def families_in(dataset: Dataset) -> dict[str, list[str]]:
    """Template -> the families that it belongs to, of all templates of a finished dataset."""
    families: dict[str, list[str]] = {}
    for world in dataset.tasks.worlds:
        families |= families_of(read_templates(dataset.store, world).values())
    return families
