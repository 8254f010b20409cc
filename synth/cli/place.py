"""Where a command works: which steps, which author, which configuration."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skillweave.config.models import Config
    from synth.engine.run import RunSpec


@dataclass(frozen=True)
class Place:
    """Which pipeline. There is one; tests have another."""

    package: str = "synth.steps"
    author: str = "synth.offline.author:OfflineAuthor"


@dataclass(frozen=True)
class Options:
    """What a command line says about the configuration."""

    config: Path
    outputs: Path | None = None
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
            "outputs_dir": str(self.outputs) if self.outputs is not None else None,
        }
        given = {key: value for key, value in values.items() if value is not None}
        return load_config(self.config, self.overrides, given)

    def spec(self, place: Place, *, read_only: bool = False, fresh: frozenset[str] = frozenset()) -> "RunSpec":
        """The run that is meant. Raises ConfigError."""
        from synth.engine.run import RunSpec

        config = self.load()
        return RunSpec(config, Path(config.outputs_dir), place.package, place.author, read_only, fresh)
