"""Rates of false pass and false fail over a dataset, with their intervals: what checks let through, and what they deny.

Of the first set every task was dropped in which it showed one, so the rate is over tasks tried; of the second set none
was, so it is over variants.
"""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from evaluator.report.statistics import Interval, wilson
from skillweave.base.errors import ArtifactError
from skillweave.base.manifest import MANIFEST, Manifest
from skillweave.base.store import Store
from skillweave.schema.evaluation import HeldOutReport, VariantCount
from skillweave.schema.record import Json
from skillweave.world.dataset import Dataset, first_fault
from synth.gates.variants import EQUIVALENT_FAILS, MUTANT_PASSES

HELD_OUT = "evaluation/held_out.json"
"""Where `python -m evaluator selftest --held-out` leaves what the second set showed."""


class GateRate(NamedTuple):
    wrong: int
    tried: int
    interval: Interval | None
    """95 %; None where nothing was tried."""

    @property
    def rate(self) -> float:
        """The share that is wrong; 0 where nothing was tried."""
        return self.wrong / self.tried if self.tried else 0.0


class GateRates(NamedTuple):
    mutants: int
    """Wrong trajectories of the first set that the kept tasks were tried with; all were killed."""
    equivalents: int
    """Right ones; all passed."""
    mutant_sorts: dict[str, int]
    """The mutants by sort."""
    equivalent_sorts: dict[str, int]
    """The equivalents by sort."""
    fewest_mutants: int
    """Of one task."""
    fewest_equivalents: int
    """Of one task."""
    false_pass: GateRate
    """Tasks in which a mutant of the first set passed, and which were dropped for it, of all that came so far."""
    false_fail: GateRate
    """Tasks in which an equivalent failed, likewise."""
    second_false_pass: GateRate | None
    """Mutants of the second set that passed; None where it was not tried on this very dataset."""
    second_false_fail: GateRate | None
    """Equivalents of the second set that failed, likewise."""


def gate_rates(outputs: Path) -> GateRates:
    """The rates of a finished dataset, from its files."""
    dataset = Dataset(outputs)
    gates = [task.gates for task in dataset.tasks.values()]
    sorts = [_sorts([gate.mutants for gate in gates]), _sorts([gate.equivalents for gate in gates])]
    dropped = _dropped(dataset.store)
    second = _second(dataset)
    return GateRates(
        mutants=sum(sorts[0].values()),
        equivalents=sum(sorts[1].values()),
        mutant_sorts=sorts[0],
        equivalent_sorts=sorts[1],
        fewest_mutants=min((_made(gate.mutants) for gate in gates), default=0),
        fewest_equivalents=min((_made(gate.equivalents) for gate in gates), default=0),
        false_pass=rate_of(dropped[MUTANT_PASSES], len(gates) + sum(dropped.values())),
        false_fail=rate_of(dropped[EQUIVALENT_FAILS], len(gates) + sum(dropped.values())),
        second_false_pass=_rate_of(second.mutants) if second else None,
        second_false_fail=_rate_of(second.equivalents) if second else None,
    )


def rate_of(wrong: int, tried: int) -> GateRate:
    """A rate with its interval by Wilson's score."""
    return GateRate(wrong, tried, wilson(wrong, tried) if tried else None)


def _sorts(figures: Iterable[dict[str, Json]]) -> dict[str, int]:
    """How many there are of each sort, over all tasks."""
    counts: Counter[str] = Counter()
    for gate in figures:
        sorts = gate.get("sorts")
        for name, count in sorts.items() if isinstance(sorts, dict) else ():
            counts[name] += count if isinstance(count, int) else 0
    return dict(sorted(counts.items()))


def _dropped(store: Store) -> Counter[str]:
    """Tasks that fell at these two gates, by reason, as the run's record has it."""
    dropped: Counter[str] = Counter()
    for item in Manifest(store).items() if store.exists(MANIFEST) else ():
        dropped.update({reason: item.rejected.get(reason, 0) for reason in (MUTANT_PASSES, EQUIVALENT_FAILS)})
    return dropped


def _second(dataset: Dataset) -> HeldOutReport | None:
    """What the second set showed; None where it was not tried, or on another dataset."""
    if not dataset.store.exists(HELD_OUT):
        return None
    try:
        report = HeldOutReport.model_validate_json(dataset.store.read(HELD_OUT))
    except ValidationError as error:
        raise ArtifactError(f"{HELD_OUT!r} is damaged: {first_fault(error)}") from error
    return report if report.dataset == dataset.digest else None


def _rate_of(sorts: dict[str, VariantCount]) -> GateRate:
    tried = sum(sort.made for sort in sorts.values())
    return rate_of(tried - sum(sort.right for sort in sorts.values()), tried)


def _made(figures: dict[str, Json]) -> int:
    count = figures.get("made")
    return count if isinstance(count, int) else 0
