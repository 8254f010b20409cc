"""What a command line says about the configuration and the pipeline."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillweave.base.errors import ConfigError

if TYPE_CHECKING:
    from skillweave.config.sections import Config
    from synth.engine.run import RunSpec


@dataclass(frozen=True)
class PipelineSource:
    """Which pipeline. There is one; tests have another."""

    package: str = "synth.steps"
    author: str = "synth.offline.author:OfflineAuthor"


DEFAULT_CONFIG = Path("config.yaml")
"""The configuration where none is named."""


@dataclass(frozen=True)
class PipelineOptions:
    """What a command line says about the configuration."""

    config: Path
    outputs: str | None = None
    overrides: Sequence[str] = ()
    seed: int | None = None
    runner: str | None = None
    workers: int | None = None

    def load(self) -> "Config":
        """The configuration. Raises ConfigError."""
        from skillweave.config.load import load_config

        values: dict[str, Any] = {
            "seed": self.seed,
            "execution.runner": self.runner,
            "execution.workers": self.workers,
            "outputs_dir": self.outputs,
        }
        given = {key: value for key, value in values.items() if value is not None}
        return load_config(self.config, self.overrides, given)

    def folder(self) -> Path:
        """The outputs folder, for who only looks. Raises ConfigError where there is none."""
        folder = Path(self.load().outputs_dir)
        if not folder.is_dir():
            raise ConfigError(
                f"there is no outputs folder {str(folder)!r}; name another with --outputs-dir, or write it with: "
                + self.command("run")
            )
        return folder

    def command(self, *words: str) -> str:
        """A command for the same configuration and outputs folder, to be given as advice."""
        given = list(words)
        if self.config != DEFAULT_CONFIG:
            given += ["--config", str(self.config)]
        if self.outputs is not None:
            given += ["--outputs-dir", self.outputs]
        if "run" in words and self.seed is not None:
            given += ["--seed", str(self.seed)]
        for override in self.overrides if "run" in words else ():
            given += ["--set", override]
        return f"python -m synth {shlex.join(given)}"

    def spec(
        self,
        place: PipelineSource,
        *,
        read_only: bool = False,
        fresh: frozenset[str] = frozenset(),
        retries_rejected: bool = False,
    ) -> "RunSpec":
        """The run that is meant. Raises ConfigError."""
        from synth.engine.run import RunSpec

        config = self.load()
        return RunSpec(
            config, Path(config.outputs_dir), place.package, place.author, read_only, fresh, retries_rejected
        )
