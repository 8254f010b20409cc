"""A step of the pipeline: an async function of one item, with the names of what it reads and writes.

A step's full name is its module's name: `s02_entity_extraction`. An item is one key of the artifact `each`, or of
`fused` in a run across domains; a step without `each` has the single item `all`. An item waits for the items of
earlier steps that make what it reads: those of its own key, or all of them if it reads `every(...)`, has no key,
or is the join.
"""

import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, Literal, Self, TypeVar

from pydantic import Field

from skillweave.config.sections import TaskMode
from skillweave.plugins import Registry
from skillweave.schema.record import Record
from synth.engine.artifact import Artifact, Every

if TYPE_CHECKING:
    from skillweave.llm.question import Question
    from synth.engine.context import Context

StepMode = Literal["single", "cross", "both"]

ALL = "all"
"""The key of the one item of a step without `each`."""
JOIN = "join"
"""The key of the item that runs after all others of its step."""


def short_name(step: str) -> str:
    """The number of a step: `s02` of `s02_entity_extraction`."""
    return step.partition("_")[0]


class Params(Record):
    """What the configuration can set of every step."""

    repairs: int = Field(default=2, ge=0)
    """How often an answer that fails its check is sent back to its author."""
    max_rejected: float = Field(default=0.34, ge=0, le=1)
    """Share of a step's items that may be rejected before the step counts as failed."""


P = TypeVar("P", bound=Params)


@dataclass(frozen=True)
class PipelineStep(Generic[P]):
    """A declared step. `step(...)` makes it."""

    name: str
    module: str
    title: str
    """The first line of its module's docstring."""
    run: "Callable[[Context[P], str], Awaitable[None]]"
    each: Artifact[Any] | None
    """It has one item for each key of this artifact; None: it has the one item `all`."""
    fused: Artifact[Any] | None
    """In a run across domains it has items for the keys of this artifact too: the fused worlds."""
    reads: tuple[Artifact[Any] | Every[Any], ...]
    writes: tuple[Artifact[Any], ...]
    params: type[P]
    questions: "tuple[Question[Any], ...]"
    join: "Callable[[Context[P], list[str]], Awaitable[None]] | None"
    """Runs after all items, with the keys of those that are done."""
    join_writes: tuple[Artifact[Any], ...]
    mode: StepMode
    registries: tuple[Registry[Any], ...] = ()
    """Registries whose parts it uses. A plug-in's parts make the items stale only if the step names their registry."""

    @property
    def short(self) -> str:
        """The number of the step: `s02`."""
        return short_name(self.name)

    @property
    def listed(self) -> tuple[Artifact[Any], ...]:
        """The artifacts whose keys it has items for; none if it has the one item `all`."""
        return tuple(artifact for artifact in (self.each, self.fused) if artifact is not None)

    @property
    def artifacts(self) -> frozenset[Artifact[Any]]:
        """All artifacts that any of its items may read or write."""
        return self.readable(JOIN) | self.writable(JOIN)

    def readable(self, key: str) -> frozenset[Artifact[Any]]:
        """The artifacts that the item of a key may read. The join also reads what the step's other items wrote."""
        declared = [read.artifact if isinstance(read, Every) else read for read in self.reads]
        return frozenset((*declared, *self.listed, *(self.writes if key == JOIN else ())))

    def writable(self, key: str) -> frozenset[Artifact[Any]]:
        """The artifacts that the item of a key may write."""
        return frozenset(self.join_writes if key == JOIN else self.writes)

    def in_mode(self, mode: TaskMode) -> Self:
        """The step with the items that a task mode has."""
        if self.fused is None or mode == "both":
            return self
        return replace(self, fused=None) if mode == "single" else replace(self, each=self.fused, fused=None)

    def makes(self, artifact: Artifact[Any]) -> bool:
        """Whether any of its items writes the artifact."""
        return artifact in self.writes or artifact in self.join_writes


def step(
    *,
    each: Artifact[Any] | None,
    fused: Artifact[Any] | None = None,
    reads: Sequence[Artifact[Any] | Every[Any]],
    writes: Sequence[Artifact[Any]],
    params: type[P],
    questions: "Sequence[Question[Any]]" = (),
    join: "Callable[[Context[P], list[str]], Awaitable[None]] | None" = None,
    join_writes: Sequence[Artifact[Any]] = (),
    mode: StepMode = "both",
    registries: Sequence[Registry[Any]] = (),
) -> "Callable[[Callable[[Context[P], str], Awaitable[None]]], PipelineStep[P]]":
    """Make a step of an async function of a context and an item's key.

    Args:
        each: The artifact whose keys are the items' keys; None for the one item `all`.
        fused: The artifact whose keys are further items in a run across domains.
        reads: What items read: the value of their own key, or `every(artifact)` for all keys.
        writes: What items write. A path has one writing step.
        params: The type of the step's section in the configuration.
        questions: The questions that items may ask.
        join: Runs after all items; it gets the keys of those that are done.
        join_writes: What `join` writes.
        mode: The task modes that have the step: `single`, `cross` (across domains) or `both`.
        registries: The registries of plug-ins whose parts decide what items make.
    """

    def register(run: "Callable[[Context[P], str], Awaitable[None]]") -> PipelineStep[P]:
        module = run.__module__
        return PipelineStep(
            name=module.rpartition(".")[2],
            module=module,
            title=_title(module),
            run=run,
            each=each,
            fused=fused,
            reads=tuple(reads),
            writes=tuple(writes),
            params=params,
            questions=tuple(questions),
            join=join,
            join_writes=tuple(join_writes),
            mode=mode,
            registries=tuple(registries),
        )

    return register


def _title(module: str) -> str:
    lines = (sys.modules[module].__doc__ or "").strip().splitlines()
    return lines[0].partition(": ")[2] or lines[0] if lines else ""
