"""Which examples are exported, and in what order. This pass keeps a few figures of each trajectory and no text.

The order is that of the dataset: world, task, trial, agent, user, id, line. It decides which of several equal
trajectories stands, and it is the order of rows.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, product
from typing import Any

from interop.export.conditions import ExportCondition, refuse_unknown_values, task_values
from interop.export.conversation import DIGEST_BYTES
from interop.export.examples import ExampleSpot, TrajectorySpot
from skillweave.schema.result import Result, SpeakerNames
from skillweave.schema.task import Split
from skillweave.world.dataset import Dataset

PAIRS = 4
"""Most pairs of a task if `--per-task` does not say."""


@dataclass(frozen=True, slots=True)
class IndexedTask:
    """A task of the dataset, in short."""

    id: str
    index: int
    """Position among all tasks of the dataset."""
    split: Split
    values: Mapping[str, Any]
    """Its fields, for conditions."""


@dataclass(slots=True)
class Candidate:
    """A trajectory with a score, in short."""

    task: IndexedTask
    spot: TrajectorySpot
    id: str
    trial: int
    speakers: SpeakerNames
    reward: float
    calls: int
    line: bytes
    """Digest of its line. It tells apart what has the same id in two folders."""
    digests: bytes = b""
    """Of its messages, one after the other."""

    @property
    def order(self) -> tuple[Any, ...]:
        """The sort key of rows."""
        return self.task.index, self.trial, self.speakers, self.id, self.line

    @property
    def rank(self) -> tuple[Any, ...]:
        """The sort key within a task: the best first."""
        return -self.reward, self.calls, self.trial, self.id, self.speakers, self.line

    @property
    def agent_digest(self) -> bytes:
        """Digests of the agent's messages alone."""
        return b"".join(part for part in self.parts if part[0] == 1)

    @property
    def parts(self) -> list[bytes]:
        """Digests of its messages."""
        return [self.digests[at : at + DIGEST_BYTES] for at in range(0, len(self.digests), DIGEST_BYTES)]


@dataclass
class LeftOutCounts:
    """How many were left out, by reason."""

    by: Counter[str] = field(default_factory=Counter)

    def add(self, reason: str, count: int = 1) -> None:
        """Count some."""
        if count:
            self.by[reason] += count


def indexed_tasks(dataset: Dataset) -> list[IndexedTask]:
    """All tasks of a dataset, in its order. Raises ArtifactError if one is damaged."""
    return [
        IndexedTask(id, index, task.split, task_values(task)) for index, (id, task) in enumerate(dataset.tasks.items())
    ]


def wanted_tasks(
    tasks: Sequence[IndexedTask], conditions: Sequence[ExportCondition], split: Split | None
) -> list[IndexedTask]:
    """The tasks that fulfil the conditions on tasks. Raises ConfigError if a condition names what no task has."""
    values = {name: {task.values[name] for task in tasks} for name in ("task", "world", "kind")}
    refuse_unknown_values(conditions, {**values, "split": ("train", "validation", "test")})
    of_tasks = [condition for condition in conditions if condition.of == "task"]
    return [
        task
        for task in tasks
        if split in (None, task.split) and all(condition.holds(task.values) for condition in of_tasks)
    ]


def trajectory_values(result: Result, calls: int) -> dict[str, Any]:
    """The fields of a trajectory."""
    replay = result.checks.replay
    return {
        "reward": result.reward,
        "passed": result.passed,
        "trial": result.trial,
        "calls": calls,
        "turns": result.turns,
        "agent": result.agent,
        "user": result.user,
        "stop_reason": result.stop_reason,
        "failure": result.failure.class_ if result.failure else None,
        "differs": len(replay.differs) if replay is not None else None,
    }


def calls_of(result: Result) -> int:
    """Number of the agent's calls, as the replay saw them."""
    replay = result.checks.replay
    return replay.calls + len(replay.malformed) if replay is not None else 0


def without_duplicates(candidates: Sequence[Candidate], left_out: LeftOutCounts) -> list[Candidate]:
    """Of the trajectories of a task with the same words and calls of the agent, the first. They come in order."""
    kept: list[Candidate] = []
    for _, group in groupby(candidates, key=lambda candidate: candidate.task.index):
        known: set[bytes] = set()
        for candidate in group:
            digest = candidate.agent_digest
            if digest in known:
                left_out.add("the agent says and calls the same as in another trajectory of the task")
                continue
            known.add(digest)
            kept.append(candidate)
    return kept


def best_of_each(candidates: Sequence[Candidate], most: int, left_out: LeftOutCounts) -> list[Candidate]:
    """The best few of each task, in their order."""
    kept: list[Candidate] = []
    for _, group in groupby(candidates, key=lambda candidate: candidate.task.index):
        ranked = sorted(group, key=lambda candidate: candidate.rank)
        left_out.add(f"more than {most} of the task", len(ranked) - len(ranked[:most]))
        kept += sorted(ranked[:most], key=lambda candidate: candidate.order)
    return kept


def spots_of(candidates: Iterable[Candidate]) -> Iterator[tuple[Split, ExampleSpot]]:
    """The example of each trajectory."""
    for candidate in candidates:
        task = candidate.task
        yield task.split, ExampleSpot(task.id, task.index, (candidate.spot,))


def pairs_of(
    candidates: Sequence[Candidate], most: int | None, left_out: LeftOutCounts
) -> Iterator[tuple[Split, ExampleSpot]]:
    """The pairs of each task: its passing trajectories with its failing ones, the best first."""
    for _, group in groupby(candidates, key=lambda candidate: candidate.task.index):
        of_task = sorted(group, key=lambda candidate: candidate.rank)
        passing = [candidate for candidate in of_task if candidate.reward == 1]
        failing = [candidate for candidate in of_task if candidate.reward != 1]
        if not passing or not failing:
            left_out.add("nothing of the task to pair it with", len(of_task))
            continue
        yield from _pairs(passing, failing, most or PAIRS, left_out)


def _pairs(
    passing: Sequence[Candidate], failing: Sequence[Candidate], most: int, left_out: LeftOutCounts
) -> Iterator[tuple[Split, ExampleSpot]]:
    taken = 0
    places = sorted(product(range(len(passing)), range(len(failing))), key=lambda place: (sum(place), place))
    for number, (good, bad) in enumerate(places):
        if taken == most:
            left_out.add(f"more than {most} pairs of the task", len(places) - number)
            return
        if first_difference(passing[good].parts, failing[bad].parts) is None:
            left_out.add("pairs that differ first in a message that is not the agent's")
            continue
        taken += 1
        task = passing[good].task
        yield task.split, ExampleSpot(task.id, task.index, (passing[good].spot, failing[bad].spot))


def first_difference(passing: Sequence[bytes], failing: Sequence[bytes]) -> int | None:
    """Number of first messages that two conversations share; None if none of the agent's messages comes next."""
    shared = next(
        (at for at, (one, other) in enumerate(zip(passing, failing, strict=False)) if one != other),
        min(len(passing), len(failing)),
    )
    both = shared < len(passing) and shared < len(failing)
    return shared if both and passing[shared][0] == failing[shared][0] == 1 else None
