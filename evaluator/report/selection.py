"""Which trajectories a page shows: failures first, each class and agent represented, then those that passed.

Within a class of one agent the choice goes by the digest of the id: no world is preferred, and the order of lines does
not matter.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from heapq import nsmallest
from itertools import zip_longest

from skillweave.digest import digest_text
from skillweave.schema.result import FAILURE_CLASSES, Result, Speakers

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
    hidden: int
    """How many scored trajectories are not shown."""
    unscored: dict[tuple[Speakers, str], Unscored] = field(default_factory=dict)
    """By agent and kind of error, or `no_reward`."""


class _Sample:
    """The `most` smallest of the keys that it is given."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._keys: set[Key] = set()

    def add(self, key: Key) -> None:
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
    failures: dict[tuple[int, Speakers], _Sample] = {}
    passes: dict[Speakers, _Sample] = {}
    unscored: dict[tuple[Speakers, str], Unscored] = {}
    scored = 0
    for result in results:
        speakers = result.speakers
        scored += result.scored
        if result.error is not None:
            unscored.setdefault((speakers, result.error.kind), Unscored()).add(result.id, result.error.message)
        elif result.passed is None:
            message = "a check that counts was not made"
            unscored.setdefault((speakers, "no_reward"), Unscored()).add(result.id, message)
        elif result.passed:
            passes.setdefault(speakers, _Sample(most)).add(key_of(result))
        else:
            failures.setdefault((_place(result), speakers), _Sample(most)).add(key_of(result))
    failed = [sample.keys for _, sample in sorted(failures.items())]
    passed = [sample.keys for _, sample in sorted(passes.items())]
    chosen = frozenset([*_in_turn(failed), *_in_turn(passed)][:most])
    return Selection(chosen, scored - len(chosen), dict(sorted(unscored.items())))


def _in_turn(samples: Iterable[list[Key]]) -> Iterator[Key]:
    """The first of each sample, then the second of each, and so on."""
    for row in zip_longest(*samples):
        yield from (key for key in row if key is not None)


def order_of(result: Result) -> tuple[bool, int, str, str]:
    """Failures by class, then passes; each by id."""
    place = len(FAILURE_CLASSES) if result.passed else _place(result)
    return bool(result.passed), place, result.id, result.trajectory_digest


def _place(result: Result) -> int:
    """Position of the class of a failure among all classes."""
    return list(FAILURE_CLASSES).index(result.failure.class_ if result.failure else "other")
