"""Where an evaluator takes tasks and worlds from: a dataset, or a task that is not in one yet."""

from collections.abc import Mapping
from typing import Protocol

from skillweave.schema.task import Task
from skillweave.world.world import World


class Source(Protocol):
    """Gives tasks by id, and their worlds."""

    @property
    def tasks(self) -> Mapping[str, Task]:
        """The tasks by id."""

    @property
    def digest(self) -> str:
        """Of what trajectories depend on."""

    def world(self, which: Task) -> World:
        """The world of a task. ArtifactError where it is not the one that the task was proven on."""
