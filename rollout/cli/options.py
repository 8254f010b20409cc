"""What a command line asks for: the configuration, and the plan of which trajectories are to be made in which order."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import zip_longest
from pathlib import Path
from typing import Any

from rollout.task import TaskSource
from rollout.world.source import user_config
from skillweave.base.errors import ConfigError
from skillweave.config.llm import SpeakerConfig
from skillweave.config.load import load_config
from skillweave.config.sections import Config
from skillweave.llm.models import sampling_of
from skillweave.plugins import load_plugins
from skillweave.schema.record import Json


@dataclass(frozen=True)
class RolloutOptions:
    config: Path
    rollouts: Path
    tasks: Sequence[str] = ()
    limit: int | None = None
    overrides: Sequence[str] = ()
    values: Mapping[str, Any] = field(default_factory=dict)
    """Dotted path of a key -> the value of its option; None if the option was not used."""

    def load(self) -> Config:
        """Load the configuration, with overrides and options, and its plug-ins.

        Raises:
            ConfigError: The file, a key or a plug-in is wrong.
        """
        values = {path: value for path, value in self.values.items() if value is not None}
        config = load_config(self.config, self.overrides, values)
        load_plugins(config.plugins)
        return config


SHOWN = 3
"""Ids that an error names as examples."""


def selected(source: TaskSource, globs: Sequence[str], limit: int | None) -> list[str]:
    """Select the tasks of a run. Worlds take turns, so that a limit is spread over them.

    Args:
        source: All tasks.
        globs: Ids, patterns of ids, or `@FILE` for a file with one of these a line. None given: all tasks match.
        limit: The most tasks to take. A larger limit adds tasks and replaces none.

    Returns:
        Ids of the first `limit` matching tasks.

    Raises:
        ConfigError: No task matches, or a file cannot be read.
    """
    ids = source.ids()
    wanted = [line for glob in globs for line in (_lines_of(glob[1:]) if glob.startswith("@") else [glob])]
    names, patterns = frozenset(wanted), [glob for glob in wanted if set(glob) & set("*?[")]
    matching = [id for id in ids if not globs or id in names or any(fnmatchcase(id, glob) for glob in patterns)]
    if not matching:
        examples = ", ".join(ids[:SHOWN])
        raise ConfigError(
            f"no task matches --tasks {' '.join(globs)!r}; there are {len(ids)}, such as {examples}"
            if ids
            else "there are no tasks; write some with: python -m synth run"
        )
    groups: dict[str, list[str]] = {}
    for id in matching:
        groups.setdefault(id.rpartition("-")[0], []).append(id)
    turns = [id for turn in zip_longest(*groups.values()) for id in turn if id is not None]
    return turns[:limit]


def _lines_of(file: str) -> list[str]:
    try:
        return [line.strip() for line in Path(file).read_text("utf-8").splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"--tasks @{file}: the file of task ids cannot be read: {error}") from error


def owed(ids: Sequence[str], trials: int, done: frozenset[str]) -> Iterator[tuple[str, int]]:
    """Task id and trial of each trajectory that is not done yet, trial by trial."""
    return ((id, trial) for trial in range(trials) for id in ids if f"{id}#{trial}" not in done)


def run_record(config: Config, source: TaskSource, globs: Sequence[str], limit: int | None) -> dict[str, Json]:
    """The content of `run.json`: all settings that change a trajectory, and under `asked` the last request."""
    rollout = config.rollout
    parts: dict[str, Any] = rollout.parts.model_dump(mode="json")
    return {
        "format": "skillweave/1",
        "seed": config.seed,
        "agent": _speaker(rollout.agent),
        "user": _speaker(user_config(rollout)),
        "task_set": parts.pop("tasks"),
        "dataset": _digest(source),
        "parts": parts,
        "engine": rollout.engine,
        "personas": rollout.personas,
        "limits": {"max_turns": rollout.max_turns, "max_calls": rollout.max_calls},
        "record_tokens": rollout.record_tokens,
        "asked": {"tasks": [*globs], "limit": limit, "trials": rollout.trials},
    }


def _digest(source: TaskSource) -> str:
    digest = source.digest
    if not isinstance(digest, str):
        raise ConfigError(f"the digest of the task source is {digest!r}; it must be a text")
    return digest


def _speaker(speaker: SpeakerConfig) -> dict[str, Json]:
    return {
        "model": speaker.model,
        "sampling": {**sampling_of(speaker).settings()},
        "replay_reasoning": speaker.replay_reasoning,
    }
