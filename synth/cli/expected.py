"""What items are going to ask: what they asked before, else what others like them did, else what a default run did."""

from collections.abc import Sequence
from typing import Any

from skillweave.manifest import ItemRecord
from synth.artifacts import DOMAIN_COMBINATIONS
from synth.engine.run import Run
from synth.questions.sizes import ByQuestion, Size, Sizes, StepSizes, asked_in, keys_of, times, together
from synth.step import ALL, JOIN, Step

DOMAINS = "target_domains"
COMBINATIONS = "cross_domain_combinations"
"""Parameters of steps that say how many there are to be."""


class Expected:
    """For one run, from its folder's records and from the sizes that are shipped."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._records = run.manifest.items()
        self._combinations = keys_of(DOMAIN_COMBINATIONS.pattern, self._records)
        shipped = Sizes.shipped()
        self._shipped = shipped.steps
        self._domains = self._param(DOMAINS, shipped.domains)
        self._joined = self._param(COMBINATIONS, shipped.combinations) if run.spec.config.task_mode != "single" else 0
        self.is_measured = any(record.askings for record in self._records)
        """Whether this folder's own records say something."""

    def of_item(self, step: Step[Any], key: str) -> ByQuestion:
        """What an item is going to ask."""
        known = [record for record in self._records if record.step == step.name and record.state == "done"]
        own = [record for record in known if record.key == key]
        alike = own or [record for record in known if self._is_like(record, key)]
        if alike:
            return times(together([asked_in(record) for record in alike]), 1 / len(alike))
        return self._of_new(step, key)

    def of_step(self, step: Step[Any]) -> ByQuestion | None:
        """What a step is going to ask whose items nobody knows yet; None where that cannot be told."""
        sizes = self._shipped.get(step.name)
        if sizes is None:
            return None if step.questions else {}
        return sizes.of(self._domains, self._joined)

    def _of_new(self, step: Step[Any], key: str) -> ByQuestion:
        sizes = self._shipped.get(step.name)
        if key == JOIN:
            return {}
        if sizes is None:
            return {question.name: Size(asked=1) for question in step.questions}
        if key == ALL:
            return sizes.of(self._domains, self._joined)
        return self._of_one(sizes, key)

    def _of_one(self, sizes: StepSizes, key: str) -> ByQuestion:
        return sizes.combination if key in self._combinations else sizes.domain

    def _is_like(self, record: ItemRecord, key: str) -> bool:
        """Whether an item is of the same kind: a join, of a combination, of a domain."""
        if JOIN in (record.key, key):
            return record.key == key
        return (record.key in self._combinations) == (key in self._combinations)

    def _param(self, name: str, otherwise: int) -> int:
        """A parameter of whichever step has it."""
        found: Sequence[int] = [getattr(params, name) for params in self._run.params.values() if hasattr(params, name)]
        return found[0] if found else otherwise
