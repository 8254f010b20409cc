"""Files of results: `results.jsonl`, the choice of results that a report shows, and `ladder.json`.

A run appends results as they come, and does not repeat a result that is still valid.
"""

import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from heapq import nsmallest
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from evaluator.replay.rollouts import TrajectoryKey
from skillweave.base.command import one_line
from skillweave.base.errors import ArtifactError, ConfigError
from skillweave.base.store import Store, digest_text
from skillweave.base.text import UnreadableTextError, skip_mark
from skillweave.schema.evaluation import Ladder
from skillweave.schema.result import FAILURE_CLASSES, Result, SpeakerNames

LADDER = "ladder.json"
SampleKey = tuple[str, str, str]
"""Digest of the id, the id, and the digest of the trajectory."""


class KeptResults(NamedTuple):
    """Earlier results that a new run keeps."""

    keys: frozenset[TrajectoryKey]
    """Keys of results that are still valid."""
    aside: str | None
    """Name of the file with all earlier results; None if all are still valid."""
    dropped: int = 0
    """Number of invalid lines: results of other trajectories, checks or datasets, and torn lines."""


class ResultsFile:
    """One file of results."""

    def __init__(self, path: Path) -> None:
        """Raises ConfigError if the path cannot be a file of results."""
        if path.suffix != ".jsonl":
            raise ConfigError(f"--output {str(path)!r} must end in .jsonl; summary and report are written beside it")
        if path.exists() and not path.is_file():
            raise ConfigError(f"--output {str(path)!r} is no file; give the path of a file such as results.jsonl")
        self.store = Store(path.parent, "evaluation", option="--output")
        self.name = path.name
        self.path = path

    @property
    def before(self) -> str:
        """Name of the file with the earlier results."""
        return f"{self.path.stem}.before.jsonl"

    def keep(self, wanted: Mapping[TrajectoryKey, str], *, anew: bool = False) -> KeptResults:
        """Keep only the valid results: for each key in `wanted` the one with that digest; none if `anew`.

        If this removes results, a copy of the whole file stays beside it.
        """
        if not self.store.exists(self.name):
            return KeptResults(frozenset(), None)
        if self.path.stat().st_size and next(iter(self), None) is None:
            raise ConfigError(
                f"{str(self.path)!r} is there and holds no results; give another file with --output, or remove it"
            )
        valid_keys: set[TrajectoryKey] = set()
        dropped = 0
        with self.store.replacing(self.name) as temporary:
            with temporary.open("wb") as stream:
                for line, result in self._lines():
                    key = key_of(result) if result is not None else None
                    if result is None or key is None or anew or key in valid_keys or _other(wanted, key, result):
                        dropped += 1
                        continue
                    valid_keys.add(key)
                    stream.write(line)
            if dropped:
                with self.store.replacing(self.before) as copy:
                    shutil.copyfile(self.path, copy)
        return KeptResults(frozenset(valid_keys), self.before if dropped else None, dropped)

    def append(self, result: bytes) -> None:
        """Append a result, a line of JSON without the line break."""
        self.store.append(self.name, result + b"\n")

    def __iter__(self) -> Iterator[Result]:
        """The results in the order of the file, without unreadable lines."""
        if self.store.exists(self.name):
            for _, result in self._lines():
                if result is not None:
                    yield result

    def _lines(self) -> Iterator[tuple[bytes, Result | None]]:
        with self.store.file(self.name).open("rb") as stream:
            try:
                skip_mark(stream)
            except UnreadableTextError as error:
                raise ConfigError(f"{str(self.path)!r} cannot be read: {error}") from error
            for line in stream:
                yield line, _read(line)


def results_in(path: Path) -> ResultsFile:
    """The results at a path: a file, or a folder with a `results.jsonl`. Raises ConfigError if there are none."""
    file = path / "results.jsonl" if path.is_dir() else path
    if not file.is_file():
        raise ConfigError(f"there are no results at {str(path)!r}; give a results.jsonl, or the folder that holds it")
    return ResultsFile(file)


def results_of_agent(results: ResultsFile, agent: str | None, user: str | None) -> Iterator[Result]:
    """The results of one agent with one user.

    Args:
        agent: Name of the agent; None: the only one.
        user: Name of the simulated user; None: the only one.

    Raises:
        ConfigError: Several agents or users fit, or none.
    """
    every = {result.speakers for result in results}
    fitting = [
        speakers for speakers in sorted(every) if agent in (None, speakers.agent) and user in (None, speakers.user)
    ]
    if len(fitting) > 1 or (every and not fitting):
        names = one_line("; ".join(map(str, sorted(every))))
        raise ConfigError(f"{str(results.path)!r} holds results of: {names}. Choose one with --agent and --user")
    return (result for result in results if result.speakers in fitting)


def key_of(result: Result) -> TrajectoryKey:
    """The key that identifies a result."""
    return TrajectoryKey(result.agent or "", result.user or "", result.id)


def _other(wanted: Mapping[TrajectoryKey, str], key: TrajectoryKey, result: Result) -> bool:
    return wanted.get(key) != result.trajectory_digest


def _read(line: bytes) -> Result | None:
    try:
        return Result.model_validate_json(line)
    except ValidationError:
        return None


def read_ladder(store: Store, path: str = LADDER) -> Ladder | None:
    """The ladder in a folder; None if it is missing or unreadable."""
    try:
        return Ladder.model_validate_json(store.read(path)) if store.exists(path) else None
    except (ArtifactError, ValidationError):
        return None


def write_ladder(store: Store, ladder: Ladder, path: str = LADDER) -> None:
    """Write the ladder into a folder."""
    store.write(path, ladder.model_dump_json(indent=2).encode() + b"\n")


@dataclass
class UnscoredKind:
    """Errors of one kind."""

    count: int = 0
    example: tuple[str, str] | None = None
    """The smallest id and its message."""

    def add(self, id: str, message: str) -> None:
        self.count += 1
        self.example = min(self.example, (id, message)) if self.example else (id, message)


@dataclass
class ReportSelection:
    """The trajectories to show, and how many others there are."""

    chosen: frozenset[SampleKey]
    hidden: int
    """Number of scored trajectories that are not shown."""
    unscored: dict[tuple[SpeakerNames, str], UnscoredKind] = field(default_factory=dict)
    """Unscored trajectories by agent and kind of error, or `no_reward`."""


class _Sample:
    """Keeps the `most` smallest keys."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._keys: set[SampleKey] = set()

    def add(self, key: SampleKey) -> None:
        self._keys.add(key)
        if len(self._keys) > 2 * self._most + 1:
            self._keys = set(self.keys)

    @property
    def keys(self) -> list[SampleKey]:
        return nsmallest(self._most, self._keys)


def sample_key_of(result: Result) -> SampleKey:
    """The sort key of a result: digest of its id, id, digest of its trajectory."""
    return digest_text(result.id), result.id, result.trajectory_digest


def select(results: Iterable[Result], most: int) -> ReportSelection:
    """Choose up to `most` results; memory does not grow with their number."""
    failures: dict[tuple[int, SpeakerNames], _Sample] = {}
    passes: dict[SpeakerNames, _Sample] = {}
    unscored: dict[tuple[SpeakerNames, str], UnscoredKind] = {}
    scored = 0
    for result in results:
        speakers = result.speakers
        scored += result.scored
        if result.error is not None:
            unscored.setdefault((speakers, result.error.kind), UnscoredKind()).add(result.id, result.error.message)
        elif result.passed is None:
            message = "a check that counts was not made"
            unscored.setdefault((speakers, "no_reward"), UnscoredKind()).add(result.id, message)
        elif result.passed:
            passes.setdefault(speakers, _Sample(most)).add(sample_key_of(result))
        else:
            failures.setdefault((_place(result), speakers), _Sample(most)).add(sample_key_of(result))
    failed = [sample.keys for _, sample in sorted(failures.items())]
    passed = [sample.keys for _, sample in sorted(passes.items())]
    chosen = frozenset([*_in_turn(failed), *_in_turn(passed)][:most])
    return ReportSelection(chosen, scored - len(chosen), dict(sorted(unscored.items())))


def _in_turn(samples: Iterable[list[SampleKey]]) -> Iterator[SampleKey]:
    """The first of each sample, then the second of each, and so on."""
    for row in zip_longest(*samples):
        yield from (key for key in row if key is not None)


def order_of(result: Result) -> tuple[bool, int, str, str]:
    """Failures by class, then passes; each by id."""
    place = len(FAILURE_CLASSES) if result.passed else _place(result)
    return bool(result.passed), place, result.id, result.trajectory_digest


def _place(result: Result) -> int:
    """Position of a failure's class among all classes."""
    return list(FAILURE_CLASSES).index(result.failure.class_ if result.failure else "other")
