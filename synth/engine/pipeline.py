"""The pipeline: all steps in order, which items wait for which, and what an item sees of what others made."""

import importlib
import pkgutil
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from skillweave.base.errors import ConfigError
from skillweave.base.manifest import ItemOutput, ItemRecord
from skillweave.config.load import ConfigKeyError, check_section, nearest
from skillweave.config.sections import TaskMode
from synth.engine.artifact import Artifact, Every
from synth.engine.step import ALL, JOIN, Params, PipelineStep

OFFLINE_AUTHOR = "synth.offline.author:OfflineAuthor"
"""`module:Class` of the author without a model, which is loaded by name."""
STEP_MODULE = re.compile(r"s\d\d_\w+")


@dataclass(frozen=True)
class Wait:
    """The items of a step wait for items of an earlier one, the producer."""

    producer: PipelineStep[Any]
    whole: bool
    """True: for all of its items; False: for the one of the same key."""


@dataclass(frozen=True)
class Pipeline:
    """Steps in order."""

    package: str
    """The package that the steps' modules are in."""
    steps: tuple[PipelineStep[Any], ...]

    def step(self, name: str) -> PipelineStep[Any]:
        """The step of a name or of a prefix of one. Raises ConfigError if no step, or more than one, fits."""
        matches = [step for step in self.steps if step.name == name] or [
            step for step in self.steps if step.name.startswith(name)
        ]
        if len(matches) == 1:
            return matches[0]
        padded = re.sub(r"^s(\d)(?!\d)", r"s0\1", name)
        names = [step.name for step in matches] or [step.name for step in self.steps]
        closest = [known for known in names if known.startswith(padded)] or names
        raise ConfigError(
            f"{'ambiguous' if matches else 'unknown'} step {name!r}; "
            + (f"did you mean {closest[0]!r}?" if len(closest) == 1 else nearest(name, closest))
        )

    def index(self, step: PipelineStep[Any]) -> int:
        return self.steps.index(step)

    def makers(self, artifact: Artifact[Any], before: PipelineStep[Any]) -> list[PipelineStep[Any]]:
        """The steps before `before` that write an artifact."""
        return [step for step in self.steps[: self.index(before)] if step.makes(artifact)]

    def waits(self, step: PipelineStep[Any]) -> list[Wait]:
        """What the items of a step wait for, in the order of the pipeline."""
        if step.name not in self._waits:
            self._waits[step.name] = self._found_waits(step)
        return self._waits[step.name]

    @cached_property
    def _waits(self) -> dict[str, list[Wait]]:
        return {}

    def _found_waits(self, step: PipelineStep[Any]) -> list[Wait]:
        waits_for_all: dict[int, bool] = {}
        for read in (*step.reads, *step.listed):
            artifact = read.artifact if isinstance(read, Every) else read
            for maker in self.makers(artifact, step):
                index = self.index(maker)
                reads_all = isinstance(read, Every) or step.each is None
                made_as_one = maker.each is None or artifact in maker.join_writes
                waits_for_all[index] = waits_for_all.get(index, False) or reads_all or made_as_one
        return [Wait(self.steps[index], whole) for index, whole in sorted(waits_for_all.items())]

    def followers(self, step: PipelineStep[Any]) -> int:
        """How many later steps wait for a step, directly or through others."""
        reached = {step.name}
        for later in self.steps[self.index(step) + 1 :]:
            if any(wait.producer.name in reached for wait in self.waits(later)):
                reached.add(later.name)
        return len(reached) - 1

    def restricted(self, mode: TaskMode) -> "Pipeline":
        """The steps that a task mode runs."""
        left_out = {"single": "cross", "cross_domain": "single", "both": ""}[mode]
        return Pipeline(self.package, tuple(step.in_mode(mode) for step in self.steps if step.mode != left_out))


def load_pipeline(package: str = "synth.steps") -> Pipeline:
    """The steps of a package: its modules named `sNN_...`, in the order of their names."""
    return Pipeline(package, tuple(_step_of(f"{package}.{name}") for name in _modules(package)))


def step_names(package: str, mode: TaskMode) -> Sequence[str]:
    """The names of the steps that a task mode runs, in order. Steps are loaded only if the mode leaves some out."""
    return (
        _modules(package) if mode == "both" else [step.name for step in load_pipeline(package).restricted(mode).steps]
    )


def _modules(package: str) -> list[str]:
    folder = importlib.import_module(package).__path__
    return sorted(info.name for info in pkgutil.iter_modules(folder) if STEP_MODULE.fullmatch(info.name))


def step_params(steps: Sequence[PipelineStep[Any]], sections: dict[str, dict[str, Any]]) -> dict[str, Params]:
    """The parameters of each step, validated.

    Args:
        steps: All steps, also those that the task mode leaves out.
        sections: The section of each step under `steps` in the configuration; missing ones take the defaults.

    Raises:
        ConfigError: A step or a parameter is unknown, or a value is wrong.
    """
    known = {step.name for step in steps}
    for name in sections:
        if name not in known:
            complaint = f"unknown step {name!r} under 'steps'; {nearest(name, known)}"
            raise ConfigKeyError("config", f"steps.{name}", complaint)
    return {
        step.name: check_section(
            step.params,
            {key: value for key, value in sections.get(step.name, {}).items() if key != "llm"},
            where=f"steps.{step.name}",
            source="config",
        )
        for step in steps
    }


def _step_of(module: str) -> PipelineStep[Any]:
    loaded = importlib.import_module(module)
    declared = [value for value in vars(loaded).values() if isinstance(value, PipelineStep) and value.module == module]
    if len(declared) != 1:
        raise ConfigError(f"module {module!r} should declare one step with @step(...), not {len(declared)}")
    if declared[0].each is None and declared[0].join is not None:
        raise ConfigError(f"step {declared[0].name!r} has one item and a {JOIN!r}; join in the item itself")
    return declared[0]


VisibleOutputs = dict[tuple[str, str], ItemOutput]
"""(pattern of an artifact, key) -> the output that an earlier item made."""


def visible_to(step: PipelineStep[Any], key: str, upstream: Sequence[ItemRecord]) -> VisibleOutputs:
    """The outputs that an item may read, of those that the items before it made.

    Args:
        step: The item's step.
        key: The item's key.
        upstream: The records of all items that it waits for.
    """
    patterns = {artifact.pattern for artifact in step.readable(key)}
    return {
        (output.artifact, output.key): output
        for record in upstream
        if record.state == "done"
        for output in record.outputs
        if output.artifact in patterns
    }


def blocking_reason(
    step: PipelineStep[Any], key: str, pipeline: Pipeline, upstream: Sequence[ItemRecord], visible: VisibleOutputs
) -> str | None:
    """Why an item has to be skipped; None if everything that it needs was made.

    Args:
        step: The item's step.
        key: The item's key.
        pipeline: The pipeline that the step belongs to.
        upstream: The records of all items that it waits for.
        visible: What the item may read.
    """
    for wait in pipeline.waits(step):
        records = [record for record in upstream if record.step == wait.producer.name]
        lost = [record for record in records if record.state != "done"]
        # An item that reads all keys needs one of them at least; a join needs none.
        is_enough = key == JOIN or (wait.whole and len(lost) < len(records))
        if lost and (not is_enough or lost[0].key in (ALL, JOIN)):
            return _blame(lost[0])
    own = [record for record in upstream if record.step == step.name]
    if key == JOIN and own and all(record.state != "done" for record in own):
        return _blame(own[0])
    if step.each and key != JOIN and not any((artifact.pattern, key) in visible for artifact in step.listed):
        return f"{step.listed[-1].label(key)} was not made"
    return None


def _blame(record: ItemRecord) -> str:
    """The first cause: a skipped item names the reason for which it was skipped."""
    if record.state == "skipped" and record.reasons:
        return record.reasons[0]
    return f"{record.name} {'was rejected' if record.state == 'rejected' else 'failed'}"
