"""Which trajectories a page shows: failures first, each class of them represented, then those that passed.

Within a class the choice goes by the digest of the id: no world is preferred, and the order of lines does not matter.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from heapq import nsmallest
from itertools import zip_longest

from skillweave.digest import digest_text
from skillweave.schema.result import FAILURE_CLASSES, FailureClass, Result

Key = tuple[str, str, str]
"""Digest of the id, the id, and the digest of the trajectory."""


@dataclass
class Unscored:
    """Errors of one kind."""

    count: int = 0
    example: tuple[str, str] | None = None
    """The smallest id, and what is said of it."""

    def add(self, id: str, message: str) -> None:
        self.count += 1
        self.example = min(self.example, (id, message)) if self.example else (id, message)


@dataclass
class Selection:
    """What was chosen, and what there was."""

    chosen: frozenset[Key]
    failed: int
    """Trajectories that were scored and did not pass."""
    passed: int
    shown_failed: int
    unscored: dict[str, Unscored] = field(default_factory=dict)
    """By kind of error, or `no_reward`."""

    @property
    def hidden(self) -> int:
        """How many scored trajectories are not shown."""
        return self.failed + self.passed - len(self.chosen)


class _Sample:
    """The `most` smallest of the keys that it is given, and how many there were."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._keys: set[Key] = set()
        self.count = 0

    def add(self, key: Key) -> None:
        self.count += 1
        self._keys.add(key)
        if len(self._keys) > 2 * self._most + 1:
            self._keys = set(self.keys)

    @property
    def keys(self) -> list[Key]:
        return nsmallest(self._most, self._keys)


def key_of(result: Result) -> Key:
    """What a result goes by: its id, or where several agents share one, its trajectory."""
    return digest_text(result.id), result.id, result.trajectory_digest


def select(results: Iterable[Result], most: int) -> Selection:
    """Choose up to `most` results. What is held meanwhile does not grow with them."""
    failures: dict[FailureClass, _Sample] = {name: _Sample(most) for name in FAILURE_CLASSES}
    passes = _Sample(most)
    unscored: dict[str, Unscored] = {}
    for result in results:
        if result.error is not None:
            unscored.setdefault(result.error.kind, Unscored()).add(result.id, result.error.message)
        elif result.passed is None:
            message = "a check that counts was not made"
            unscored.setdefault("no_reward", Unscored()).add(result.id, message)
        elif result.passed:
            passes.add(key_of(result))
        else:
            failures[result.failure.class_ if result.failure else "other"].add(key_of(result))
    rounds = zip_longest(*(sample.keys for sample in failures.values()))
    failed = [key for row in rounds for key in row if key is not None][:most]
    chosen = [*failed, *passes.keys][:most]
    return Selection(
        chosen=frozenset(chosen),
        failed=sum(sample.count for sample in failures.values()),
        passed=passes.count,
        shown_failed=len(failed),
        unscored=dict(sorted(unscored.items())),
    )


def order_of(result: Result) -> tuple[bool, int, str, str]:
    """Failures by class, then passes; each by id."""
    name = result.failure.class_ if result.failure else None
    place = list(FAILURE_CLASSES).index(name) if name else len(FAILURE_CLASSES)
    return bool(result.passed), place, result.id, result.trajectory_digest
