"""The diversity of a dataset, world by world and together. Pure: the same tasks give the same figures."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.diversity import Diversity, Duplicates, WorldDiversity
from skillweave.schema.task import Split, Task
from synth.diversity.coverage import coverage_of, together
from synth.diversity.wording import wording_of
from synth.tasks.splits import STRICTEST_FIRST


def diversity_of(
    tasks: Mapping[str, Sequence[Task]],
    blueprints: Mapping[str, Blueprint],
    duplicates: Mapping[str, Duplicates] | None = None,
    holdouts: Collection[str] = (),
) -> Diversity:
    """The diversity of the tasks by world; worlds without a blueprint are left out.

    `duplicates`: world -> what was removed when its tasks were made.
    """
    removed = duplicates or {}
    worlds = {
        name: _world(tasks[name], blueprints[name], removed.get(name)) for name in sorted(tasks) if name in blueprints
    }
    every = [task for name in worlds for task in tasks[name]]
    known = [one.duplicates for one in worlds.values() if one.duplicates]
    return Diversity(
        tasks=len(every),
        splits=_splits(every),
        holdout_domains=sorted(holdouts),
        structures=sum(one.structures for one in worlds.values()),
        duplicates=_sum(known) if known else None,
        wording=wording_of(every),
        coverage=together(one.coverage for one in worlds.values()),
        worlds=worlds,
    )


def _world(tasks: Sequence[Task], blueprint: Blueprint, duplicates: Duplicates | None) -> WorldDiversity:
    return WorldDiversity(
        tasks=len(tasks),
        splits=_splits(tasks),
        structures=len({(task.kind, *(call.tool for call in task.golden)) for task in tasks}),
        duplicates=duplicates,
        wording=wording_of(tasks),
        coverage=coverage_of(blueprint, tasks),
    )


def _splits(tasks: Sequence[Task]) -> dict[Split, int]:
    counts = Counter(task.split for task in tasks)
    return {split: counts[split] for split in reversed(STRICTEST_FIRST)}


def _sum(found: Sequence[Duplicates]) -> Duplicates:
    return Duplicates(
        tasks=sum(one.tasks for one in found),
        exact=sum(one.exact for one in found),
        near=sum(one.near for one in found),
        across=sum(one.across for one in found),
    )
