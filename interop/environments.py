"""The tasks of a dataset as episodes: which tasks there are, by number, id or seed, and who plays their users."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

from interop.episode import Episode, EpisodeSettings
from rollout.conversation import RolloutLimits
from rollout.parts import SourceContext
from rollout.world.source import BackendFactory, world_tasks
from skillweave.base.errors import ArtifactError, ConfigError
from skillweave.config.load import load_config, named_config
from skillweave.config.sections import Config
from skillweave.plugins import load_plugins
from skillweave.schema.task import Split, Task
from skillweave.world.dataset import Dataset

SCRIPTED_USER = "offline/user"
"""The user if nobody names another: it understands the phrases of the scripted agents, and nothing else."""


class EpisodeFactory:
    """Opens episodes of one dataset. All of them run on the event loop on which they are opened."""

    def __init__(
        self,
        outputs: Path,
        *,
        user: str | None = None,
        split: Split | None = None,
        compact: bool = False,
        config: Config | None = None,
        step_timeout_s: float = 120.0,
    ) -> None:
        """Open a dataset.

        Args:
            outputs: The outputs folder of a run.
            user: `provider/model` of the simulated user; None: that of the configuration, or else `offline/user`,
                which understands the phrases of the scripted agents alone.
            split: Only tasks of this split; None: all.
            compact: Give compact system prompts.
            config: Settings of the user's endpoint, and limits (`rollout.max_turns`, `rollout.max_calls`); None: the
                defaults.
            step_timeout_s: Most seconds of a step.

        Raises:
            ArtifactError: There is no dataset, or it has no tasks.
            ConfigError: The user is unknown.
        """
        self.config = _configured(config or Config(), outputs, user, compact)
        self.dataset = Dataset(outputs)
        self._all = {id: number for number, id in enumerate(self.dataset.tasks)}
        self._source = world_tasks(SourceContext(self.config, outputs, self._backends().user()))
        self.ids: Sequence[str] = [*self._all] if split is None else self._source.ids(split)
        """Ids of the tasks, in the dataset's order."""
        if not self.ids:
            raise ArtifactError(f"{str(outputs)!r} has no tasks{f' of the split {split!r}' if split else ''}")
        self.split = split
        self._numbered = [*self._all]
        rollout = self.config.rollout
        limits = RolloutLimits(max_turns=rollout.max_turns, max_calls=rollout.max_calls, timeout_s=rollout.timeout_s)
        self._settings = EpisodeSettings(limits, step_timeout_s, self.dataset.digest)

    def __len__(self) -> int:
        """Number of tasks of the whole dataset, whatever the split: numbers of tasks are below it."""
        return len(self._all)

    def id_of(self, number: int) -> str:
        """The task of a number: its position in the whole dataset, the same whatever the split.

        Raises:
            ConfigError: There is no such number.
        """
        if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < len(self._all):
            raise ConfigError(f"no task has the number {number!r}; there are 0 to {len(self._all) - 1}")
        return self._numbered[number]

    def id_in_split(self, task: str | int) -> str:
        """The id of a task by id or number, if the task is of this factory's split.

        Raises:
            ArtifactError: There is no task of that id, or it is of another split.
            ConfigError: There is no task of that number.
        """
        record = self.record(self.id_of(task) if isinstance(task, int) else task)
        if self.split not in (None, record.split):
            raise ArtifactError(
                f"the task {record.id!r} is of the split {record.split!r}; here is {self.split!r} alone"
            )
        return record.id

    def number_of(self, id: str) -> int:
        """The number of a task. Raises ArtifactError if there is no such task."""
        return self._all[self.record(id).id]

    def drawn(self, seed: int | Random) -> str:
        """The id of a task that a seed draws, or a generator."""
        random = seed if isinstance(seed, Random) else Random(f"{seed}/environment")
        return random.choice(self.ids)

    def record(self, id: str) -> Task:
        """The record of a task. Raises ArtifactError if there is none of that id."""
        return self.dataset.tasks[id]

    async def open(self, id: str, trial: int = 0) -> Episode:
        """Begin an episode.

        Args:
            id: The task's id.
            trial: The number of the trial; with `rollout.personas`, trials have users of different manner.

        Raises:
            ArtifactError: There is no such task, or its world does not open.
            WorldError: Its world does not open.
        """
        self.record(id)
        return await Episode(self._source.task(id, trial), trial, self._settings).open()

    async def close(self) -> None:
        """Close the worlds. Episodes are closed one by one, by whoever opened them."""
        await self._source.close()
        self.dataset.close()

    def _backends(self) -> BackendFactory:
        return BackendFactory(self.config, lambda: self.dataset)


def _configured(config: Config, outputs: Path, user: str | None, compact: bool) -> Config:
    """The configuration with outputs and user. Raises ConfigError where the user is none."""
    known = config.rollout.user
    if user is not None:
        speaker: Mapping[str, Any] | None = {**(known.model_dump(exclude_unset=True) if known else {}), "model": user}
    elif known is not None and "model" in known.model_fields_set:
        speaker = known.model_dump(exclude_unset=True)
    else:
        speaker = {"model": SCRIPTED_USER}
    rollout = {"user": speaker, **({"prompt": "compact"} if compact else {})}
    given = config.model_dump(exclude_unset=True)
    own = given.get("rollout", {})
    # An agent is nobody's business here: whoever takes the steps is the agent.
    values = {**given, "outputs_dir": str(outputs), "rollout": {**own, **rollout}}
    return Config.model_validate(values)


def configuration(file: Path | None, overrides: Sequence[str] = ()) -> Config:
    """Load a configuration with its plug-ins; without a file, `config.yaml`, or the defaults if there is none.

    Raises:
        ConfigError: The file or an override is wrong.
    """
    config = load_config(named_config(file), overrides, {})
    load_plugins(config.plugins)
    return config
