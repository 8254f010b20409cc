"""The pipeline: all steps in order, which items wait for which, and what an item sees of what others made."""

import importlib
import pkgutil
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from skillweave.base.errors import ConfigError
from skillweave.base.manifest import ItemOutput, ItemRecord
from skillweave.config.load import nearest
from skillweave.config.sections import TaskMode
from synth.artifacts import Artifact, Every
from synth.engine.step import ALL, JOIN, Params, PipelineStep

NAME = re.compile(r"s\d\d_\w+")


@dataclass(frozen=True)
class Wait:
    """What the items of a step wait for: the items of an earlier one."""

    producer: PipelineStep[Any]
    whole: bool
    """All of its items, rather than the one of the same key."""


@dataclass(frozen=True)
class Pipeline:
    package: str
    """The package that the steps' modules are in."""
    steps: tuple[PipelineStep[Any], ...]

    def step(self, name: str) -> PipelineStep[Any]:
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

    def index(self, step: PipelineStep[Any]) -> int:
        return self.steps.index(step)

    def makers(self, artifact: Artifact[Any], before: PipelineStep[Any]) -> list[PipelineStep[Any]]:
        """Steps before one that write an artifact."""
        return [step for step in self.steps[: self.index(before)] if step.makes(artifact)]

    def waits(self, step: PipelineStep[Any]) -> list[Wait]:
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


def step_params(steps: Sequence[PipelineStep[Any]], sections: dict[str, dict[str, Any]]) -> dict[str, Params]:
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


def _step_of(module: str) -> PipelineStep[Any]:
    loaded = importlib.import_module(module)
    found = [value for value in vars(loaded).values() if isinstance(value, PipelineStep) and value.module == module]
    if len(found) != 1:
        raise ConfigError(f"module {module!r} should declare one step with @step(...), not {len(found)}")
    if found[0].each is None and found[0].join is not None:
        raise ConfigError(f"step {found[0].name!r} has one item and a {JOIN!r}; join in the item itself")
    return found[0]


VisibleOutputs = dict[tuple[str, str], ItemOutput]
"""(pattern of an artifact, key) -> what an item that was waited for made of it."""


def readable_by(step: PipelineStep[Any]) -> set[Artifact[Any]]:
    """The artifacts that a step's items may read."""
    reads = {read.artifact if isinstance(read, Every) else read for read in step.reads}
    return reads | set(step.listed)


def artifacts_of(step: PipelineStep[Any]) -> set[Artifact[Any]]:
    """All artifacts that a step has to do with."""
    return readable_by(step) | set(step.writes) | set(step.join_writes)


def visible_to(step: PipelineStep[Any], key: str, upstream: Sequence[ItemRecord]) -> VisibleOutputs:
    """What an item sees."""
    patterns = {artifact.pattern for artifact in readable_by(step)}
    if key == JOIN:
        patterns |= {artifact.pattern for artifact in step.writes}
    found: VisibleOutputs = {}
    for record in upstream:
        if record.state == "done":
            found |= {(out.artifact, out.key): out for out in record.outputs if out.artifact in patterns}
    return found


def blocking_reason(
    step: PipelineStep[Any], key: str, pipeline: Pipeline, upstream: Sequence[ItemRecord]
) -> str | None:
    """Why an item is to be skipped: what it stands on was not made."""
    for wait in pipeline.waits(step):
        records = [record for record in upstream if record.step == wait.producer.name]
        lost = [record for record in records if record.state != "done"]
        # Whoever reads the items of all keys goes on with what there is, and a join even where there is nothing.
        is_enough = key == JOIN or (wait.whole and len(lost) < len(records))
        if lost and (not is_enough or lost[0].key in (ALL, JOIN)):
            return _blame(lost[0])
    own = [record for record in upstream if record.step == step.name]
    if key == JOIN and own and all(record.state != "done" for record in own):
        return _blame(own[0])
    if step.each and key != JOIN:
        visible = visible_to(step, key, upstream)
        if not any((artifact.pattern, key) in visible for artifact in step.listed):
            return f"{step.listed[-1].label(key)} was not made"
    return None


def _blame(record: ItemRecord) -> str:
    """The first cause: what was skipped hands on why."""
    if record.state == "skipped" and record.reasons:
        return record.reasons[0]
    return f"{record.name} {'was rejected' if record.state == 'rejected' else 'failed'}"
