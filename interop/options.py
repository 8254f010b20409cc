"""The options of both commands, as they are passed on."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from skillweave.config.sections import Config
from skillweave.schema.task import Split


@dataclass(frozen=True)
class ExportOptions:
    """What `export` is asked for."""

    format: str
    """Name of the format."""
    outputs: Path
    """The dataset."""
    to: Path
    """The folder to write to."""
    rollouts: Sequence[Path] = ()
    """Folders or files of trajectories, all of this dataset; formats of tasks need none."""
    results: Path | None = None
    """A file of the evaluator's results, instead of those that are looked for in the dataset."""
    split: Split | None = None
    """Only this split; None: a file for each."""
    where: Sequence[str] = ()
    """Conditions as they were written; all must hold."""
    per_task: int | None = None
    """Most trajectories or pairs of a task; None: all."""
    keep_duplicates: bool = False
    """Keep trajectories whose agent says and calls the same."""
    keep_reasoning: bool = False
    """Keep `reasoning_content` of the agent's messages."""
    compact: bool = False
    """Short system prompts and tools."""
    workers: int | None = None
    """Processes; None: as the configuration says."""
    config: Config | None = None
    """The configuration by which trajectories are scored; None: `config.yaml`, or the defaults if there is none."""


@dataclass(frozen=True)
class ServeOptions:
    """What `serve` is asked for."""

    protocol: str
    """Name of the protocol."""
    outputs: Path
    """The dataset."""
    host: str = "127.0.0.1"
    port: int | None = None
    """None: the protocol's usual one; 0: any free one."""
    user: str | None = None
    """`provider/model` of the simulated user; None: as the configuration says."""
    split: Split | None = None
    """Only tasks of this split; None: all."""
    config: Path | None = None
    """The configuration; None: `config.yaml`, or the defaults if there is none."""
    overrides: Sequence[str] = ()
    """Keys of the configuration to override, `dotted.path=YAML value`."""
    token_env: str | None = None
    """Name of the environment variable with the bearer token; None: no token."""
    max_sessions: int | None = None
    """Most sessions at once; None: the server's own limit."""
    idle_timeout_s: float | None = None
    """Seconds without a request after which a session is closed; None: the server's own."""
    step_timeout_s: float | None = None
    """Most seconds of one step; None: the server's own."""
    compact: bool = False
    """Short system prompts and tools."""
