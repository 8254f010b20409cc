"""A step of the pipeline: an async function of one item, with the names of what it reads and writes.

A step's full name is its module's name: `s02_entity_extraction`. An item is one key of the artifact `each`, or of
`fused` in a run across domains; a step without `each` has the single item `all`. An item waits for the items of
earlier steps that make what it reads: those of its own key, or all of them if it reads `every(...)`, has no key,
or is the join.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from pydantic import Field

from skillweave.config.sections import TaskMode
from skillweave.schema.record import Record
from synth.artifacts import Artifact, Every

if TYPE_CHECKING:
    from skillweave.llm.question import Question
    from synth.engine.context import Context

StepMode = Literal["single", "cross", "both"]

ALL = "all"
"""The key of the one item of a step without `each`."""
JOIN = "join"
"""The key of the item that runs after all others of its step."""


class Params(Record):
    """What the configuration can set of every step."""

    repairs: int = Field(default=2, ge=0)
    """How often an answer that fails its check is sent back to its author."""
    max_rejected: float = Field(default=0.34, ge=0, le=1)
    """Share of a step's items that may be rejected before the step counts as failed."""


P = TypeVar("P", bound=Params)


@dataclass(frozen=True)
class PipelineStep(Generic[P]):
    """A registered step."""

    name: str
    module: str
    title: str
    """The first line of its module's docstring."""
    run: "Callable[[Context[P], str], Awaitable[None]]"
    each: Artifact[Any] | None
    fused: Artifact[Any] | None
    """Where domains are joined, it has items for the keys of this artifact too: the fused worlds."""
    reads: tuple[Artifact[Any] | Every[Any], ...]
    writes: tuple[Artifact[Any], ...]
    params: type[P]
    questions: "tuple[Question[Any], ...]"
    join: "Callable[[Context[P], list[str]], Awaitable[None]] | None"
    join_writes: tuple[Artifact[Any], ...]
    mode: StepMode

    @property
    def short(self) -> str:
        """`s02`."""
        return self.name.partition("_")[0]

    @property
    def listed(self) -> tuple[Artifact[Any], ...]:
        """The artifacts whose keys it has items for; none where it has the one item `all`."""
        return tuple(artifact for artifact in (self.each, self.fused) if artifact is not None)

    def in_mode(self, mode: TaskMode) -> "PipelineStep[P]":
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
) -> "Callable[[Callable[[Context[P], str], Awaitable[None]]], PipelineStep[P]]":
    """Make a step of an async function of a context and an item's key.

    `join(ctx, keys)` runs after all items, with the keys of those that are done; what it writes is in `join_writes`.
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
        )

    return register


def _title(module: str) -> str:
    import sys

    lines = (sys.modules[module].__doc__ or "").strip().splitlines()
    return lines[0].partition(": ")[2] or lines[0] if lines else ""
