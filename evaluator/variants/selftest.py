"""The self-test: an evaluator's word on every variant of a task, beside what it must say."""

import json
from collections.abc import Iterator
from typing import NamedTuple

from evaluator.evaluate import Evaluator
from evaluator.recorded import read
from evaluator.variants import Variant, variants_of
from skillweave.dataset import Dataset
from skillweave.digest import digest_bytes
from skillweave.schema.result import FailureClass, Result
from skillweave.schema.task import Task


class Outcome(NamedTuple):
    """What was said of one variant."""

    task_id: str
    name: str
    passes: bool
    """Whether it must pass."""
    classes: frozenset[FailureClass]
    """What it may be called."""
    passed: bool | None
    """Whether it did; None: it was not scored."""
    class_: FailureClass | None
    """What it was called."""
    error: str | None
    """Why it was not scored."""

    @property
    def is_right(self) -> bool:
        """Whether it passed or failed as it must."""
        return self.passed is self.passes

    @property
    def has_right_class(self) -> bool:
        """Whether it is called what it may be called."""
        return self.is_right and (self.passes or self.class_ in self.classes)

    @property
    def said(self) -> str:
        """What was said of it."""
        if self.passed is None:
            return f"not scored: {self.error}"
        return "passed" if self.passed else f"failed: {self.class_}"


def outcomes(dataset: Dataset, evaluator: Evaluator, task: Task) -> Iterator[Outcome]:
    """The evaluator's word on each variant of the task, read from a line as anybody's trajectory is."""
    for number, variant in enumerate(variants_of(dataset.world(task), task)):
        content = line(task, number, variant)
        yield _outcome(task, variant, evaluator.evaluate(read(content), digest_bytes(content)))


def line(task: Task, number: int, variant: Variant) -> bytes:
    """The variant as a line of a rollouts folder."""
    record = {
        "format": "skillweave/1",
        "id": f"{task.id}#{number}",
        "task_id": task.id,
        "trial": number,
        "world": task.world,
        "domains": task.domains,
        "messages": [message.model_dump(mode="json", exclude_none=True) for message in variant.messages],
        "user_turns": [turn.model_dump(mode="json") for turn in variant.turns],
        "stop_reason": variant.stop_reason,
        "error": None,
    }
    return json.dumps(record).encode()


def _outcome(task: Task, variant: Variant, result: Result) -> Outcome:
    return Outcome(
        task.id,
        variant.name,
        variant.passes,
        variant.classes,
        result.passed,
        result.failure.class_ if result.failure else None,
        result.error.message if result.error else None,
    )
