"""The options of a command line, and the configuration that they lead to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from skillweave.config.load import load_config
from skillweave.config.sections import Config
from skillweave.plugins import load_plugins

CONFIG = Path("config.yaml")
"""The configuration file if none is named."""


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
