"""What a command line says about the configuration and the pipeline, and commands to give as advice.

A run leaves its configuration's path, its seed and its `--set` options in the outputs folder. Commands that only look
at the folder take them from there, so that what they advise to run next is the same run.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from skillweave.base.command import command_line
from skillweave.base.errors import ConfigError
from skillweave.base.store import CACHE, Store
from skillweave.config.load import PACKAGED_CONFIG, ConfigKeyError, load_config, path_of_override
from skillweave.config.sections import Config
from synth.engine.pipeline import OFFLINE_AUTHOR

if TYPE_CHECKING:
    from synth.engine.run import RunSpec

DEFAULT_CONFIG = Path("config.yaml")
"""The configuration if a command names none, and this folder has it."""
LAST_RUN = f"{CACHE}/options.json"


@dataclass(frozen=True)
class PipelineSource:
    """Which pipeline a command works on. The product has one; tests have another."""

    package: str = "synth.steps"
    author: str = OFFLINE_AUTHOR


@dataclass(frozen=True)
class PipelineOptions:
    """What a command line says about the configuration."""

    config: Path | None = None
    outputs: str | None = None
    overrides: Sequence[str] = ()
    """`dotted.path=YAML value` of each `--set`."""
    seed: int | None = None
    runner: str | None = None
    workers: int | None = None

    @property
    def file(self) -> Path:
        """The configuration's file: the one that is named, else `config.yaml` of this folder, else the package's."""
        if self.config is not None:
            return self.config
        return DEFAULT_CONFIG if os.path.lexists(DEFAULT_CONFIG) else PACKAGED_CONFIG

    def show_default(self, stream: TextIO | None = None) -> None:
        """Say so where the package's configuration is used, since nobody named it."""
        if self.file == PACKAGED_CONFIG:
            write = command_line("synth", "init-config")
            print(f"there is no {DEFAULT_CONFIG} here: this is the default run; to change it: {write}", file=stream)

    def load(self) -> Config:
        """The configuration with everything that the command line sets. Raises ConfigError."""
        options: dict[str, Any] = {
            "seed": self.seed,
            "execution.runner": self.runner,
            "execution.workers": self.workers,
            "outputs_dir": self.outputs,
        }
        with self.naming_overrides():
            return load_config(
                self.file, self.overrides, {key: value for key, value in options.items() if value is not None}
            )

    @contextmanager
    def naming_overrides(self) -> Iterator[None]:
        """An error about a key that a `--set` gave names that `--set`, not the configuration's file."""
        try:
            yield
        except ConfigKeyError as error:
            for override in reversed(self.overrides):
                path = path_of_override(override)
                if f"{error.key}.".startswith(f"{path}.") or f"{path}.".startswith(f"{error.key}."):
                    raise ConfigError(f"--set {override[:80]}: {error.complaint}") from error
            raise

    def folder(self) -> Path:
        """The outputs folder, for a command that only looks at it. Raises ConfigError if there is none."""
        folder = Path(self.load().outputs_dir)
        if not folder.is_dir():
            raise ConfigError(
                f"there is no outputs folder {str(folder)!r}; name another with --outputs-dir, or write it with: "
                + self.command("run")
            )
        return folder

    def command(self, *words: str) -> str:
        """A command line for the same configuration, settings and outputs folder, to be given as advice."""
        arguments: list[str | Path] = list(words)
        if self.config is not None and self.config != DEFAULT_CONFIG:
            arguments += ["--config", self.config]
        if self.outputs is not None:
            arguments += ["--outputs-dir", Path(self.outputs)]
        if "run" in words and self.seed is not None:
            arguments += ["--seed", str(self.seed)]
        for override in self.overrides if "run" in words else ():
            arguments += ["--set", override]
        return command_line("synth", *arguments)

    def remember(self, store: Store) -> None:
        """Leave the options in the outputs folder."""
        config = None if self.file == PACKAGED_CONFIG else str(self.file)
        text = json.dumps({"config": config, "seed": self.seed, "overrides": list(self.overrides)})
        store.write(LAST_RUN, text.encode())

    def as_last_run(self) -> "PipelineOptions":
        """These options; with those of the folder's last run if the command line gives none about the configuration."""
        if self.config not in (None, DEFAULT_CONFIG) or self.overrides or self.seed is not None:
            return self
        if self.outputs is None and not self.file.is_file():
            return self
        last = _last_run(Path(self.outputs or self.load().outputs_dir))
        config = self.config if last.get("config") is None else Path(str(last["config"]))
        if not last or not (config or self.file).is_file():
            return self
        return replace(self, config=config, overrides=tuple(map(str, last["overrides"])), seed=last.get("seed"))

    def spec(
        self,
        source: PipelineSource,
        *,
        read_only: bool = False,
        fresh: frozenset[str] = frozenset(),
        retries_rejected: bool = False,
    ) -> "RunSpec":
        """The run that is meant. Raises ConfigError."""
        from synth.engine.run import RunSpec

        config = self.load()
        outputs = Path(config.outputs_dir)
        return RunSpec(config, outputs, source.package, source.author, read_only, fresh, retries_rejected)


def _last_run(folder: Path) -> Mapping[str, Any]:
    """The options that the last run left; empty if there are none that can be read."""
    try:
        value = json.loads((folder / LAST_RUN).read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) and isinstance(value.get("overrides"), list) else {}
