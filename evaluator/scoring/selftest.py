"""The self-test: the evaluator's verdict on every variant of a task, beside the verdict that it must give.

Each variant is read from a line, as anybody's trajectory is.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from pydantic_core import to_json

from evaluator.kinds import KINDS
from evaluator.replay.trial import RecordedTrajectory, ScoredTrial, read_trajectory
from evaluator.scoring.evaluate import EvaluationSource, Evaluator, NotScoredError
from evaluator.variants.conversation import Variant
from evaluator.variants.courses import courses, never_asked, other_courses, unasked
from evaluator.variants.executor import VariantExecutor
from evaluator.variants.held_out import HeldOutVariant, reaches
from skillweave.base.store import digest_bytes
from skillweave.schema.evaluation import HeldOutReport, MisjudgedVariant, VariantCount
from skillweave.schema.result import FailureClass, Result
from skillweave.schema.task import Task
from skillweave.world.dataset import Dataset
from skillweave.world.world import World


def variants_of(world: World, task: Task, *, conduct: bool = True) -> Iterator[Variant]:
    """All variants of a task's golden conversation, in a fixed order; each says whether it must pass.

    There are none where the golden calls do not do what the task demands, or do not end as the task's kind ends.

    Args:
        conduct: Whether to make those as well that are alike for all tasks of one conduct: how calls are written,
            what is recorded and told when, who is asked. Without them only those that depend on this task's values.
    """
    kind = KINDS[task.kind]
    executor = VariantExecutor(world, task)
    if executor.golden.unexecuted or not executor.reaches_goal(executor.golden.changes):
        return
    ending = kind.ending_of(task)
    if [call.tool for call in executor.ending_calls] != ([ending] if ending else []):
        return
    if executor.ending_calls and executor.ending_calls[0] is not executor.calls[-1]:
        return
    yield from kind.variants(executor)
    yield from courses(executor)
    yield from unasked(executor)
    yield from kind.conduct_variants(executor) if conduct else ()


def held_out_variants_of(world: World, task: Task) -> Iterator[HeldOutVariant]:
    """All variants of the second set, in a fixed order; none where the golden calls do not do what the task demands."""
    executor = VariantExecutor(world, task)
    if not executor.golden.unexecuted and reaches(executor, executor.golden.changes):
        yield from KINDS[task.kind].held_out_variants(executor)
        yield from other_courses(executor)
        yield from never_asked(executor)


class SelftestOutcome(NamedTuple):
    """The evaluator's verdict on one variant, beside the right one."""

    task_id: str
    name: str
    passes: bool
    """Whether it must pass."""
    classes: frozenset[FailureClass]
    """The failure classes that it may get."""
    passed: bool | None
    """Whether it passed; None: it was not scored."""
    class_: FailureClass | None
    """The failure class that it got."""
    error: str | None
    """Why it was not scored."""

    @property
    def is_right(self) -> bool:
        """Whether the verdict is right."""
        return self.passed is self.passes

    @property
    def has_right_class(self) -> bool:
        """Whether the verdict and the failure class are right."""
        return self.is_right and (self.passes or self.class_ in self.classes)

    @property
    def said(self) -> str:
        """The verdict in words."""
        if self.passed is None:
            return f"not scored: {self.error}"
        return "passed" if self.passed else f"failed: {self.class_}"


def selftest_outcomes(dataset: Dataset, evaluator: Evaluator, task: Task) -> Iterator[SelftestOutcome]:
    """The evaluator's verdict on each variant of a task."""
    for number, variant in enumerate(variants_of(dataset.world(task), task)):
        content = trajectory_line(task, number, variant)
        yield _outcome(task, variant, evaluator.evaluate(read_trajectory(content), digest_bytes(content)))


def recorded(task: Task, number: int, variant: Variant) -> RecordedTrajectory:
    """The variant as a trajectory that has been read; `trajectory_line` read again is equal."""
    return RecordedTrajectory.model_construct(
        id=f"{task.id}#{number}",
        task_id=task.id,
        trial=number,
        world=task.world,
        domains=task.domains,
        messages=variant.messages,
        user_turns=variant.turns,
        stop_reason=variant.stop_reason,
    )


def trajectory_line(task: Task, number: int, variant: Variant) -> bytes:
    """The variant as a line of a rollouts folder."""
    record = {
        "format": "skillweave/1",
        "id": f"{task.id}#{number}",
        "task_id": task.id,
        "trial": number,
        "world": task.world,
        "domains": task.domains,
        "messages": variant.messages,
        "user_turns": [turn.model_dump(mode="json") for turn in variant.turns],
        "stop_reason": variant.stop_reason,
        "error": None,
    }
    return to_json(record, exclude_none=True)


def _outcome(task: Task, variant: Variant, result: Result) -> SelftestOutcome:
    return SelftestOutcome(
        task.id,
        variant.name,
        variant.passes,
        variant.classes,
        result.passed,
        result.failure.class_ if result.failure else None,
        result.error.message if result.error else None,
    )


_LONGEST = 400
"""Characters of a text about a survivor."""
_MOST = 6
"""Rows listed for a survivor."""


class HeldOutVerdict(NamedTuple):
    """The evaluator's verdict on one variant, beside the right one."""

    task: str
    sort: str
    passes: bool
    """Whether it must pass."""
    survivor: MisjudgedVariant | None
    """The misjudged variant; None where the verdict is right."""


def held_out_verdicts(source: EvaluationSource, evaluator: Evaluator, task: Task) -> Iterator[HeldOutVerdict]:
    """The evaluator's verdict on each variant of a task's second set."""
    for number, one in enumerate(held_out_variants_of(source.world(task), task)):
        scored, said = _scored(evaluator, trajectory_line(task, number, one.variant))
        is_right = scored is not None and scored.passed is one.variant.passes
        survivor = None if is_right else _survivor(task, one, said if scored is None else _why(one, scored))
        yield HeldOutVerdict(task.id, one.variant.name, one.variant.passes, survivor)


def held_out_report(dataset: str, found: Iterable[HeldOutVerdict]) -> HeldOutReport:
    """The report on all verdicts."""
    made: dict[bool, dict[str, VariantCount]] = {True: {}, False: {}}
    survivors: list[MisjudgedVariant] = []
    tasks: set[str] = set()
    for word in found:
        tasks.add(word.task)
        sort = made[word.passes].get(word.sort, VariantCount(made=0, right=0))
        right = sort.right + (word.survivor is None)
        made[word.passes][word.sort] = VariantCount(made=sort.made + 1, right=right)
        survivors += [word.survivor] if word.survivor else []
    return HeldOutReport(
        dataset=dataset,
        tasks=len(tasks),
        mutants=dict(sorted(made[False].items())),
        equivalents=dict(sorted(made[True].items())),
        survivors=survivors,
    )


def _scored(evaluator: Evaluator, content: bytes) -> tuple[ScoredTrial | None, str]:
    try:
        return evaluator.scored(read_trajectory(content)), ""
    except NotScoredError as error:
        return None, f"not scored: {error}"


def _survivor(task: Task, one: HeldOutVariant, why: str) -> MisjudgedVariant:
    return MisjudgedVariant(
        task=task.id,
        sort=one.variant.name,
        must="pass" if one.variant.passes else "fail",
        what=one.what[:_LONGEST],
        differs=[row[:_LONGEST] for row in one.differs[:_MOST]],
        why=why[:_LONGEST],
    )


def _why(one: HeldOutVariant, scored: ScoredTrial) -> str:
    basis = scored.trial.task.criteria.reward_basis
    if not one.variant.passes:
        seen = "the end state differs, and the state check takes it for the one demanded"
        return seen if one.differs else f"nothing is found wrong by {', '.join(basis)}"
    parts = {name: getattr(scored.checks, name) for name in basis}
    low = {name: part for name, part in parts.items() if part is None or part.score < 1}
    return "; ".join(
        f"{name}: {part.model_dump_json(exclude_defaults=True) if part else 'not made'}" for name, part in low.items()
    )
