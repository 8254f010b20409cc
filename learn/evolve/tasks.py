"""The sets of tasks: those of the first trajectories, those to explore, and those held out.

No held-out task is in another set. A domain is held out if no task of the other sets needs it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from learn.config import EvolveConfig, TasksConfig
from skillweave.base.command import counted
from skillweave.base.errors import ConfigError
from skillweave.base.store import Store, digest_text
from skillweave.config.load import nearest
from skillweave.schema.task import Task
from skillweave.selection import first_in_turns
from skillweave.world.dataset import Dataset

SEED, EXPLORE, HELD_OUT = "seed", "explore", "held_out"
SHOWN = 3
"""Ids that an error names."""


@dataclass(frozen=True)
class TaskSets:
    """Ids of the tasks of each set, in the order in which they take turns."""

    seed: Sequence[str]
    explore: Sequence[str]
    held_out: Sequence[str]

    @property
    def trained(self) -> frozenset[str]:
        """All tasks that are not held out."""
        return frozenset([*self.seed, *self.explore])

    def refuse_overlap(self) -> None:
        """Raise ConfigError if a held-out task is in another set."""
        held_out = frozenset(self.held_out)
        for name, ids in (("seed_tasks", self.seed), ("explore", self.explore)):
            both = [id for id in ids if id in held_out]
            if both:
                raise ConfigError(
                    f"evolve.held_out and evolve.{name} share {counted(len(both), 'task')}, such as "
                    f"{', '.join(both[:SHOWN])}; choose other splits, worlds or levels for one of them"
                )


def task_sets(dataset: Dataset, evolve: EvolveConfig) -> TaskSets:
    """Choose the tasks of each set.

    Args:
        dataset: The dataset.
        evolve: The settings. With `first` the trajectories say which tasks begin, and `seed` is empty.

    Raises:
        ConfigError: A set is empty, names an unknown world, or shares a task with the held-out ones.
        ArtifactError: A task is damaged.
    """
    tasks = [*dataset.tasks.values()]
    sets = TaskSets(
        _chosen(tasks, evolve.seed_tasks, "seed_tasks") if evolve.first is None else (),
        _chosen(tasks, evolve.explore, "explore"),
        _chosen(tasks, evolve.held_out, "held_out"),
    )
    sets.refuse_overlap()
    return sets


def _chosen(tasks: Sequence[Task], wanted: TasksConfig, name: str) -> list[str]:
    worlds = {task.world for task in tasks}
    for world in wanted.worlds:
        if world not in worlds:
            raise ConfigError(f"evolve.{name}.worlds: no task is of the world {world!r}; {nearest(world, worlds)}")
    fitting = {task.id: task for task in tasks if _fits(task, wanted)}
    found = first_in_turns([*fitting], wanted.limit, fitting)
    if not found:
        raise ConfigError(
            f"evolve.{name} chooses none of the {counted(len(tasks), 'task')} of the dataset; "
            "name other worlds, another split, other levels or a larger share"
        )
    return found


def _fits(task: Task, wanted: TasksConfig) -> bool:
    is_of_world = not wanted.worlds or task.world in wanted.worlds
    is_of_level = not wanted.levels or task.difficulty.level in wanted.levels
    return is_of_world and is_of_level and wanted.split in (None, task.split) and _is_in_share(task.id, wanted.share)


def _is_in_share(id: str, share: Sequence[float]) -> bool:
    """Whether the place of an id, from 0 to 1 by its digest, lies in a share."""
    place = int(digest_text(id)[:8], 16) / 2**32
    return share[0] <= place < share[1]


def apart(dataset: Dataset, sets: TaskSets) -> Mapping[str, bool]:
    """For each held-out task, whether no task of the other sets needs one of its domains."""
    known = {domain for id in sets.trained for domain in dataset.tasks[id].domains}
    return {id: known.isdisjoint(dataset.tasks[id].domains) for id in sets.held_out}


def read_ids(store: Store, name: str) -> list[str]:
    """The ids of a set that was written. Raises ArtifactError if there is none."""
    return store.read(_path(name)).decode("utf-8", "replace").split()


def write_ids(store: Store, name: str, ids: Iterable[str]) -> None:
    """Write the ids of a set, one a line."""
    store.write(_path(name), "".join(f"{id}\n" for id in ids).encode())


def option_of(store: Store, name: str) -> str:
    """The option of `rollout run` for the tasks of a set."""
    return f"@{store.root / _path(name)}"


def _path(name: str) -> str:
    return f"tasks/{name}.txt"
