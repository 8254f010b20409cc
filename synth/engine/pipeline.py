"""The pipeline: all steps in order, and which items wait for which."""

import importlib
import pkgutil
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from skillweave.config.load import nearest
from skillweave.config.models import TaskMode
from skillweave.errors import ConfigError
from synth.artifacts import Artifact, Every
from synth.step import JOIN, Params, Step

NAME = re.compile(r"s\d\d_\w+")


@dataclass(frozen=True)
class Wait:
    """What the items of a step wait for: the items of an earlier one."""

    producer: Step[Any]
    whole: bool
    """All of its items, rather than the one of the same key."""


@dataclass(frozen=True)
class Pipeline:
    package: str
    """The package that the steps' modules are in."""
    steps: tuple[Step[Any], ...]

    def step(self, name: str) -> Step[Any]:
        """The step of that name, or the only one whose name begins so. Raises ConfigError."""
        found = [step for step in self.steps if step.name == name] or [
            step for step in self.steps if step.name.startswith(name)
        ]
        if len(found) == 1:
            return found[0]
        padded = re.sub(r"^s(\d)(?!\d)", r"s0\1", name)
        names = [step.name for step in found] or [step.name for step in self.steps]
        closest = [known for known in names if known.startswith(padded)] or names
        raise ConfigError(
            f"{'ambiguous' if found else 'unknown'} step {name!r}; "
            + (f"did you mean {closest[0]!r}?" if len(closest) == 1 else nearest(name, closest))
        )

    def index(self, step: Step[Any]) -> int:
        return self.steps.index(step)

    def makers(self, artifact: Artifact[Any], before: Step[Any]) -> list[Step[Any]]:
        """Steps before one that write an artifact."""
        return [step for step in self.steps[: self.index(before)] if step.makes(artifact)]

    def waits(self, step: Step[Any]) -> list[Wait]:
        """What the items of a step wait for, in the order of the pipeline."""
        whole: dict[int, bool] = {}
        for read in (*step.reads, *step.listed):
            artifact = read.artifact if isinstance(read, Every) else read
            for maker in self.makers(artifact, step):
                index = self.index(maker)
                everything = (
                    isinstance(read, Every) or step.each is None or maker.each is None or artifact in maker.join_writes
                )
                whole[index] = whole.get(index, False) or everything
        return [Wait(self.steps[index], everything) for index, everything in sorted(whole.items())]

    def restricted(self, mode: TaskMode) -> "Pipeline":
        """The steps that a task mode runs."""
        left_out = {"single": "cross", "cross_domain": "single", "both": ""}[mode]
        return Pipeline(self.package, tuple(step.in_mode(mode) for step in self.steps if step.mode != left_out))


def load_pipeline(package: str = "synth.steps") -> Pipeline:
    """The steps of a package: its modules named `sNN_...`, in the order of their names."""
    found = importlib.import_module(package)
    names = sorted(info.name for info in pkgutil.iter_modules(found.__path__) if NAME.fullmatch(info.name))
    return Pipeline(package, tuple(_step_of(f"{package}.{name}") for name in names))


def step_params(steps: Sequence[Step[Any]], sections: dict[str, dict[str, Any]]) -> dict[str, Params]:
    """The parameters of each step, checked. Raises ConfigError for an unknown step or parameter."""
    from skillweave.config.load import check_section

    known = {step.name for step in steps}
    for name in sections:
        if name not in known:
            raise ConfigError(f"unknown step {name!r} under 'steps'; {nearest(name, known)}")
    return {
        step.name: check_section(
            step.params,
            {key: value for key, value in sections.get(step.name, {}).items() if key != "llm"},
            where=f"steps.{step.name}",
            source="config",
        )
        for step in steps
    }


def _step_of(module: str) -> Step[Any]:
    loaded = importlib.import_module(module)
    found = [value for value in vars(loaded).values() if isinstance(value, Step) and value.module == module]
    if len(found) != 1:
        raise ConfigError(f"module {module!r} should declare one step with @step(...), not {len(found)}")
    if found[0].each is None and found[0].join is not None:
        raise ConfigError(f"step {found[0].name!r} has one item and a {JOIN!r}; join in the item itself")
    return found[0]
