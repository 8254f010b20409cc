"""The options of a command line, checked; and what they were when results were made."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from evaluator.checks import CHECKS
from evaluator.scoring.evaluate import CheckSettings
from evaluator.scoring.worker_pool import EvaluationSetup
from skillweave.base.command import command_line
from skillweave.base.errors import ArtifactError, ConfigError
from skillweave.base.store import CACHE, Store
from skillweave.config.load import CONFIG, load_config, named_config, nearest
from skillweave.config.sections import Config, ExecutionConfig
from skillweave.plugins import load_plugins

MODES = ("all", "single", "prune")


LAST_OPTIONS = f"{CACHE}/options.json"
"""Beside the results: where the last evaluation found what it scored."""


@dataclass(frozen=True)
class EvaluationOptions:
    rollouts: Path
    config_file: Path | None = None
    mcp_outputs: Path | None = None
    output_file: Path | None = None
    mode: str = "all"
    check: str | None = None
    prune: bool = True
    cache: bool = True
    verbose: bool = False
    quiet: bool = False
    overrides: Sequence[str] = ()
    plugins: Sequence[str] = ()
    """Modules of one's own to load, beside those that the configuration names."""
    values: Mapping[str, Any] = field(default_factory=dict)
    """Dotted path of a configuration key -> value of an option; None: not given."""
    loaded: Config | None = None
    """A configuration that is loaded already, in place of the file, `overrides` and `values`."""

    def check_consistency(self) -> None:
        """Check that the options fit together. Raises ConfigError."""
        if self.mode not in MODES:
            raise ConfigError(f"--mode {self.mode!r} is unknown; {nearest(self.mode, MODES)}")
        if (self.mode == "single") != (self.check is not None):
            raise ConfigError("--mode single and --evaluator NAME go together: the one check to be made")
        if self.verbose and self.quiet:
            raise ConfigError("-v and -q ask for opposite things; give one of them")
        self.load_plugins()
        if self.check is not None and self.check not in CHECKS:
            raise ConfigError(f"--evaluator {self.check!r} is unknown; {nearest(self.check, [*CHECKS])}")

    @property
    def places(self) -> dict[str, str]:
        """The options that name the same rollouts, dataset and configuration to another command."""
        given = {
            "--rollouts-dir": self.rollouts,
            "--outputs-dir": self.outputs,
            "--mcp-outputs-dir": self.mcp_outputs,
            "--config": self.config_file,
        }
        return {name: str(path) for name, path in given.items() if path is not None}

    def remember(self, store: Store) -> None:
        """Leave the places beside the results, so that commands that read only these can say how to go on."""
        store.write(LAST_OPTIONS, json.dumps(self.places).encode())

    def load_plugins(self) -> None:
        """Load the plug-ins of the command line and of the configuration. Raises ConfigError."""
        load_plugins([*self.config.plugins, *self.plugins])

    @cached_property
    def config(self) -> Config:
        """The configuration. Raises ConfigError."""
        if self.loaded is not None:
            return self.loaded
        given = {path: value for path, value in self.values.items() if value is not None}
        return load_config(named_config(self.config_file), self.overrides, given)

    @cached_property
    def outputs(self) -> Path:
        """The dataset."""
        return Path(self.config.outputs_dir)

    @property
    def output(self) -> Path:
        """The file of results. A single check has a folder of its own, so that whole evaluations stay."""
        return self.output_file or self.outputs / "evaluation" / (self.check or "") / "results.jsonl"

    @property
    def execution(self) -> ExecutionConfig:
        """Where it is scored, and by how many workers."""
        most = self.config.evaluation.max_workers or self.config.execution.workers
        return self.config.execution.model_copy(update={"workers": most})

    @property
    def settings(self) -> tuple[str, ...]:
        """Settings that change scores, as the version of the checks names them."""
        given = {
            "confirmation": self.config.evaluation.confirmation_in_reward,
            "unpruned": not self.prune,
            f"only_{self.check}": self.check is not None,
        }
        return tuple(name for name, is_set in given.items() if is_set)

    @property
    def judged(self) -> tuple[str, ...]:
        """Checks for the judge, beside those that tasks' rewards count."""
        if self.check is not None:
            return (self.check,) if CHECKS[self.check].needs_judge else ()
        settings = self.config.evaluation
        asked = {"rubric": settings.enable_rubric, "subjective": settings.enable_subjective}
        return tuple(name for name, is_asked in asked.items() if is_asked)

    def setup(self, version: str) -> EvaluationSetup:
        """What every process needs to evaluate.

        Args:
            version: Version of the checks.
        """
        # Of what a judge alone is asked, the replay is made all the same: it is what the judge is shown.
        only = () if self.check is None else ("replay",) if CHECKS[self.check].needs_judge else (self.check,)
        settings = CheckSettings(
            checks=only,
            prune=self.prune,
            cache=self.cache,
            confirmation_in_reward=self.config.evaluation.confirmation_in_reward,
            version=version,
        )
        return EvaluationSetup(self.outputs, self.mcp_outputs or self.outputs, settings)


def last_places(store: Store) -> dict[str, Path]:
    """The places that the last evaluation left beside its results; empty if it left none, or they are gone."""
    try:
        value = from_json(store.read(LAST_OPTIONS)) if store.exists(LAST_OPTIONS) else {}
    except (ArtifactError, ValueError):
        return {}
    places = {str(name): Path(str(path)) for name, path in value.items()} if isinstance(value, dict) else {}
    is_whole = {"--rollouts-dir", "--outputs-dir"} <= places.keys()
    return places if is_whole and all(path.exists() for path in places.values()) else {}


def show_line(id: str, places: Mapping[str, str | Path]) -> str:
    """The command that shows a trajectory, or those of a task."""
    usual = {"--rollouts-dir": Path("rollouts"), "--outputs-dir": Path("outputs"), "--config": CONFIG}
    given = [(name, Path(path)) for name, path in places.items() if Path(path) != usual.get(name)]
    return command_line("evaluator", "show", id, *(word for option in given for word in option))
