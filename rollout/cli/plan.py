"""The plan of a run: which trajectories are asked for, in which order, and what the folder is to hold."""

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import zip_longest
from pathlib import Path
from typing import Any

from rollout.agent import AgentSettings
from rollout.task import TaskSource
from rollout.world.speakers import user_config
from skillweave.base.errors import ConfigError
from skillweave.config.llm import SpeakerConfig
from skillweave.config.sections import Config
from skillweave.llm.models import sampling_of
from skillweave.schema.record import Json

SHOWN = 3


def selected(source: TaskSource, globs: Sequence[str], limit: int | None) -> list[str]:
    """Ids of the tasks asked for: those that match one of the globs, worlds taking turns, the first `limit` of them.

    `@FILE` stands for the lines of a file. A larger limit takes more, never others. Raises ConfigError where nothing
    matches.
    """
    every = source.ids()
    wanted = [line for glob in globs for line in (_lines_of(glob[1:]) if glob.startswith("@") else [glob])]
    names, patterns = frozenset(wanted), [glob for glob in wanted if set(glob) & set("*?[")]
    matching = [id for id in every if not globs or id in names or any(fnmatchcase(id, glob) for glob in patterns)]
    if not matching:
        such = ", ".join(every[:SHOWN])
        raise ConfigError(
            f"no task matches --tasks {' '.join(globs)!r}; there are {len(every)}, such as {such}"
            if every
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
    """What is not done yet, trial by trial."""
    return ((id, trial) for trial in range(trials) for id in ids if f"{id}#{trial}" not in done)


def run_record(config: Config, source: TaskSource, globs: Sequence[str], limit: int | None) -> dict[str, Json]:
    """What `run.json` says: whatever changes a trajectory, and, under `asked`, what was asked for last."""
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
    found = source.digest
    if not isinstance(found, str):
        raise ConfigError(f"the digest of the task source is {found!r}; it must be a text")
    return found


def settings_of(config: Config) -> AgentSettings:
    """What the agent is told beside its task."""
    agent = config.rollout.agent
    return AgentSettings(sampling=sampling_of(agent), replay_reasoning=agent.replay_reasoning)


def _speaker(speaker: SpeakerConfig) -> dict[str, Json]:
    return {
        "model": speaker.model,
        "sampling": {**sampling_of(speaker).settings()},
        "replay_reasoning": speaker.replay_reasoning,
    }
