"""What a command line says."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from skillweave.config.load import load_config
from skillweave.config.sections import Config
from skillweave.plugins import load_plugins

CONFIG = Path("config.yaml")
"""The configuration where none is named."""


@dataclass(frozen=True)
class RolloutOptions:
    config: Path
    rollouts: Path
    tasks: Sequence[str] = ()
    limit: int | None = None
    overrides: Sequence[str] = ()
    values: Mapping[str, Any] = field(default_factory=dict)
    """Dotted path -> what an option says of it; None: nothing."""

    def load(self) -> Config:
        """The configuration. Raises ConfigError."""
        given = {path: value for path, value in self.values.items() if value is not None}
        config = load_config(self.config, self.overrides, given)
        load_plugins(config.plugins)
        return config
