"""What the classes of all frameworks share: datasets that a process opens once, and what to install."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

from interop.actions import ActionLike
from interop.environments import EpisodeFactory, configuration
from interop.episode import Episode, EpisodeError, Step
from interop.in_process import Environment, Observation, in_background
from skillweave.base.errors import ConfigError
from skillweave.schema.task import Split

OUTPUTS_VARIABLE = "SKILLWEAVE_OUTPUTS"
"""Environment variable with the outputs folder, for trainers that leave no other way into their workers."""


def missing(framework: str, package: str) -> ImportError:
    """The error of a module whose framework is not installed.

    Args:
        framework: Its name.
        package: What to install, as pip takes it.
    """
    return ImportError(f"this module needs {framework}, which is not installed; install it with: pip install {package}")


@dataclass(frozen=True)
class DatasetOptions:
    """Which tasks an environment has, and who plays their users."""

    outputs: str = ""
    """The outputs folder; empty: what the environment variable SKILLWEAVE_OUTPUTS says."""
    user: str | None = None
    """`provider/model` of the simulated user; None: as the configuration says, or `offline/user`."""
    split: Split | None = None
    """Only tasks of this split; None: all."""
    compact: bool = False
    """Compact system prompts."""
    config: str | None = None
    """A configuration file, with the settings of the user's endpoint; None: the defaults."""

    def factory(self) -> EpisodeFactory:
        """The tasks; one factory in a process for the same options.

        Raises:
            ArtifactError: There is no dataset, or it has no tasks.
            ConfigError: There is no outputs folder, or the user is unknown.
        """
        outputs = self.outputs or os.environ.get(OUTPUTS_VARIABLE, "")
        if not outputs:
            raise ConfigError(f"give the outputs folder of a run: outputs=..., or set {OUTPUTS_VARIABLE}")
        return _factory(str(Path(outputs).resolve()), self.user, self.split, self.compact, self.config)


class BackgroundEpisode:
    """An episode for frameworks with an event loop of their own; it runs on that of all episodes."""

    def __init__(self, factory: EpisodeFactory, task_id: str) -> None:
        """Create an episode; `open` begins it.

        Args:
            factory: The tasks.
            task_id: The task.
        """
        self._factory = factory
        self._task_id = task_id
        self._episode: Episode | None = None

    async def open(self) -> Episode:
        """Begin the episode. Raises SkillweaveError."""
        self._episode = await in_background(self._factory.open(self._task_id))
        return self._episode

    async def current(self) -> Episode:
        """The episode. Raises EpisodeError before it is opened."""
        if self._episode is None:
            raise EpisodeError("over", f"the episode of {self._task_id!r} is not open")
        return self._episode

    async def step(self, action: ActionLike, *, text: bool = False) -> Step:
        """Take a step; see `Episode.step`. Raises ActionError or EpisodeError."""
        return await in_background((await self.current()).step(action, text=text))

    async def finish(self) -> Step:
        """End the episode as it stands, and score it. Raises EpisodeError."""
        return await in_background((await self.current()).finish())

    async def close(self) -> None:
        """Release the session. It can be called twice."""
        if self._episode is not None:
            await in_background(self._episode.close())


def openings(factory: EpisodeFactory, limit: int | None = None) -> Iterator[Observation]:
    """How each task begins: prompt and tools, in the dataset's order; of the first `limit` tasks, or of all."""
    with Environment(factory) as environment:
        for id in factory.ids[:limit]:
            yield environment.reset(id)


def options_from(*sources: object) -> DatasetOptions:
    """The options that mappings or objects with attributes name; the first that names one counts."""
    named: dict[str, Any] = {}
    for field in fields(DatasetOptions):
        values = (_named(source, field.name) for source in sources)
        value = next((value for value in values if value not in (None, "")), None)
        if value is not None:
            named[field.name] = str(value) if field.name == "outputs" else value
    return DatasetOptions(**named)


def _named(source: object, name: str) -> object:
    return source.get(name) if isinstance(source, Mapping) else getattr(source, name, None)


@cache
def _factory(outputs: str, user: str | None, split: Split | None, compact: bool, config: str | None) -> EpisodeFactory:
    settings = configuration(Path(config)) if config else None
    return EpisodeFactory(Path(outputs), user=user, split=split, compact=compact, config=settings)
