"""Overlaps: what is in two splits. Each axis that splits claim to keep apart is looked at in the tasks themselves.

A person, an instance and a first message are told apart within their world. Worlds of several companies have the
customers of their members: the card counts those who are in another split there.
"""

import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Literal

from skillweave.schema.call import SESSION_TOOLS
from skillweave.schema.record import Json
from skillweave.schema.task import Split, Task
from synth.tasks.splits import STRICTEST_FIRST

Axis = Literal["template", "person", "instance", "message", "domain"]
AXES: tuple[Axis, ...] = ("template", "person", "instance", "message", "domain")


def overlaps(
    tasks: Sequence[Task], families: Mapping[str, str] | None = None, holdouts: Collection[str] = ()
) -> dict[Axis, list[str]]:
    """Axis -> what of it is in more than one split, in words; nothing where splits are apart.

    `families`: template -> the family it belongs to, by default itself. `holdouts`: domains that are all for testing.
    """
    places: dict[tuple[Axis, str], dict[Split, str]] = defaultdict(dict)
    found: dict[Axis, list[str]] = {axis: [] for axis in AXES}
    for task in sorted(tasks, key=lambda one: one.id):
        for axis, key in keys_of(task, families or {}):
            places[axis, key].setdefault(task.split, task.id)
        for domain in sorted({*holdouts} & {*task.domains}):
            if task.split != "test":
                found["domain"].append(f"{task.id} is of {domain!r}, which is held out, and in {task.split}")
    for (axis, key), seen in places.items():
        if len(seen) > 1:
            where = ", ".join(f"{seen[split]} in {split}" for split in STRICTEST_FIRST if split in seen)
            found[axis].append(f"{key[:120]}: {where}")
    return found


def split_faults(
    tasks: Sequence[Task], families: Mapping[str, str] | None = None, holdouts: Collection[str] = ()
) -> list[str]:
    """What is wrong with the splits of a dataset's tasks, a line each."""
    found = [
        f"the same {axis} is in two splits: {line}" if axis != "domain" else line
        for axis, lines in overlaps(tasks, families, holdouts).items()
        for line in lines
    ]
    undecided = [task for task in tasks if task.split == "test" and is_undecided(task)]
    return [
        *found,
        *(f"{task.id}: whether its outcome is unique is undecided, and it is in test" for task in undecided),
    ]


def is_undecided(task: Task) -> bool:
    """Whether the search for a second lawful end state came to no end."""
    return task.gates.grounded.get("unique") == "undecided"


def keys_of(task: Task, families: Mapping[str, str]) -> Iterator[tuple[Axis, str]]:
    """What of a task may be in no other split than it is in."""
    family = families.get(task.lineage.template, task.lineage.template)
    yield "template", f"{task.world}: {family}"
    yield "person", f"{task.world}: {task.persona.name}"
    instance = instance_of(task)
    if instance:
        yield "instance", f"{task.world}: {instance}"
    yield "message", f"{task.world}: {' '.join(text_of(task).casefold().split())}"


def text_of(task: Task) -> str:
    """The first message."""
    return task.messages[0].content or "" if task.messages else ""


def instance_of(task: Task) -> str:
    """The calls with their arguments, and what is told; empty where nothing in it tells one instance from another.

    Ids that a run mints follow from the calls, and are the same where these are.
    """
    calls = [*task.golden, *([task.criteria.asked] if task.criteria.asked else [])]
    told: list[Json] = [[fact.noun, fact.values] for fact in task.criteria.communicate]
    if not told and not any(call.arguments for call in calls if call.tool not in SESSION_TOOLS):
        return ""
    made: list[Json] = [[call.tool, call.arguments] for call in calls if call.fault is None]
    return json.dumps([task.kind, made, told], sort_keys=True)
