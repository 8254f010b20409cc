"""The evaluator's word on the second set, and why it is wrong where it is."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from evaluator.evaluate import Evaluator, NotScoredError
from evaluator.recorded import read
from evaluator.source import Source
from evaluator.trial import Scored
from evaluator.variants.held_out import HeldOut, held_out
from evaluator.variants.selftest import line
from skillweave.schema.held_out import HeldOutReport, Sort, Survivor
from skillweave.schema.task import Task

_LONGEST = 400
"""Characters of what is told of a survivor."""
_MOST = 6
"""Rows that are told of a survivor."""


class Word(NamedTuple):
    """What was said of one variant."""

    task: str
    sort: str
    passes: bool
    """Whether it must pass."""
    survivor: Survivor | None
    """None where it was said rightly."""


def words(source: Source, evaluator: Evaluator, task: Task) -> Iterator[Word]:
    """The evaluator's word on each variant of the task's second set, read from a line as anybody's trajectory is."""
    for number, one in enumerate(held_out(source.world(task), task)):
        scored, said = _scored(evaluator, line(task, number, one.variant))
        is_right = scored is not None and scored.passed is one.variant.passes
        survivor = None if is_right else _survivor(task, one, said if scored is None else _why(one, scored))
        yield Word(task.id, one.variant.name, one.variant.passes, survivor)


def report(dataset: str, found: Iterable[Word]) -> HeldOutReport:
    """All words together."""
    made: dict[bool, dict[str, Sort]] = {True: {}, False: {}}
    survivors: list[Survivor] = []
    tasks: set[str] = set()
    for word in found:
        tasks.add(word.task)
        sort = made[word.passes].get(word.sort, Sort(made=0, right=0))
        right = sort.right + (word.survivor is None)
        made[word.passes][word.sort] = Sort(made=sort.made + 1, right=right)
        survivors += [word.survivor] if word.survivor else []
    return HeldOutReport(
        dataset=dataset,
        tasks=len(tasks),
        mutants=dict(sorted(made[False].items())),
        equivalents=dict(sorted(made[True].items())),
        survivors=survivors,
    )


def _scored(evaluator: Evaluator, content: bytes) -> tuple[Scored | None, str]:
    try:
        return evaluator.scored(read(content)), ""
    except NotScoredError as error:
        return None, f"not scored: {error}"


def _survivor(task: Task, one: HeldOut, why: str) -> Survivor:
    return Survivor(
        task=task.id,
        sort=one.variant.name,
        must="pass" if one.variant.passes else "fail",
        what=one.what[:_LONGEST],
        differs=[row[:_LONGEST] for row in one.differs[:_MOST]],
        why=why[:_LONGEST],
    )


def _why(one: HeldOut, scored: Scored) -> str:
    basis = scored.trial.task.criteria.reward_basis
    if not one.variant.passes:
        seen = "the end state differs, and the state check takes it for the one demanded"
        return seen if one.differs else f"nothing is found wrong by {', '.join(basis)}"
    parts = {name: getattr(scored.checks, name) for name in basis}
    low = {name: part for name, part in parts.items() if part is None or part.score < 1}
    return "; ".join(
        f"{name}: {part.model_dump_json(exclude_defaults=True) if part else 'not made'}" for name, part in low.items()
    )
