"""The trajectories that an export may take: read once, scored, and checked against the conditions."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from evaluator.replay.rollouts import RolloutIndex, TrajectoryKey, find_rollouts
from interop.export.conditions import ExportCondition
from interop.export.conversation import message_digests, trained_messages
from interop.export.examples import LineReader, LineSpot, TrajectorySpot, read_line
from interop.export.format import LeftOut
from interop.export.scores import Scorer, results_files, score
from interop.export.selection import Candidate, IndexedTask, LeftOutCounts, calls_of, trajectory_values
from skillweave.base.errors import ConfigError
from skillweave.base.progress import progress
from skillweave.base.store import Store
from skillweave.schema.result import Result


class RolloutFolder(NamedTuple):
    """A folder of trajectories, or one file. Ids are the folder's own: two folders may have the same."""

    path: Path
    rollouts: RolloutIndex


def find_folders(paths: Sequence[Path]) -> list[RolloutFolder]:
    """Index the folders.

    Raises:
        ConfigError: A folder is missing or empty, or two hold the same file.
        ArtifactError: A file cannot be read.
    """
    folders: list[RolloutFolder] = []
    holders: dict[Path, Path] = {}
    for path in paths:
        folder = RolloutFolder(path, find_rollouts(path))
        for file in folder.rollouts.files:
            other = holders.setdefault(file.resolve(), path)
            if other is not path:
                raise ConfigError(
                    f"--rollouts {str(other)!r} and --rollouts {str(path)!r} both hold {file.name!r}; "
                    "give each folder once"
                )
        folders.append(folder)
    return folders


def candidates_of(
    scorer: Scorer,
    folders: Sequence[RolloutFolder],
    tasks: Mapping[str, IndexedTask],
    conditions: Sequence[ExportCondition],
    *,
    known: frozenset[str],
    results: Path | None,
    store: Store,
    left_out: LeftOutCounts,
) -> list[Candidate]:
    """The trajectories that fulfil the conditions, in their order, whatever the order of the folders.

    Args:
        scorer: Evaluates what has no result yet.
        folders: The trajectories.
        tasks: The tasks that are wanted, by id.
        conditions: All of them must hold.
        known: Ids of all tasks of the dataset.
        results: A file of earlier results, or its folder; None: those in the dataset.
        store: The export's folder.
        left_out: Counts what is left out.

    Raises:
        ConfigError: No trajectory of a folder is of a task of this dataset.
    """
    outputs = scorer.setup.tasks
    fulfilling: list[Candidate] = []
    for path, index in folders:
        left_out.add("a line that is no trajectory", len(index.bad))
        left_out.add("replaced by a later line", index.replaced)
        wanted = [key for key, place in index.places.items() if place.task_id in tasks]
        foreign = sum(place.task_id not in known for place in index.places.values())
        left_out.add("of a task that the dataset does not have", foreign)
        left_out.add("--split or --where", len(index.places) - len(wanted) - foreign)
        unscored = len(wanted)
        for key, result, spot in score(scorer, index, wanted, results_files(outputs, path, results), store):
            unscored -= 1
            # The evaluator's error of this kind says that the task of that id was another one.
            foreign += result.error is not None and result.error.kind == "dataset"
            found = _candidate(index, tasks, key, result, spot, conditions, left_out)
            if found is not None:
                fulfilling.append(found)
        left_out.add("not scored: the evaluator failed", unscored)
        if foreign and foreign == len(index.places):
            raise ConfigError(
                f"--rollouts {str(path)!r} is of another dataset: none of its {foreign:,} trajectories is of a task "
                f"as {str(outputs)!r} has it; give the dataset that it was rolled out on with --outputs"
            )
    return _read(sorted(fulfilling, key=lambda candidate: candidate.order), left_out)


def _candidate(
    rollouts: RolloutIndex,
    tasks: Mapping[str, IndexedTask],
    key: TrajectoryKey,
    result: Result,
    spot: LineSpot,
    conditions: Sequence[ExportCondition],
    left_out: LeftOutCounts,
) -> Candidate | None:
    """A trajectory in short; None if it is left out."""
    if result.error is not None:
        left_out.add(f"not scored: {result.error.kind} error")
        return None
    if result.reward is None:
        left_out.add("not scored: a check that counts needs a judge; score with `python -m evaluator run` first")
        return None
    calls = calls_of(result)
    values = trajectory_values(result, calls)
    of_trajectories = [condition for condition in conditions if condition.of == "trajectory"]
    unmet = next((condition for condition in of_trajectories if not condition.holds(values)), None)
    if unmet is not None:
        left_out.add(f"not {unmet}")
        return None
    place = rollouts.places[key]
    line = LineSpot(rollouts.files[place.file], place.offset, place.length)
    where = TrajectorySpot(line, spot)
    task = tasks[place.task_id]
    return Candidate(task, where, key.id, result.trial, result.speakers, result.reward, calls, place.digest)


def _read(candidates: Sequence[Candidate], left_out: LeftOutCounts) -> list[Candidate]:
    """Note the digests of messages. What nobody can read is left out."""
    lines = LineReader()
    readable: list[Candidate] = []
    with progress("trajectories", len(candidates)) as bar:
        for number, candidate in enumerate(candidates, start=1):
            try:
                recorded = read_line(lines.read(candidate.spot.line))
                messages = trained_messages(recorded.messages, recorded.user_turns or ())
            except LeftOut as error:
                left_out.add(str(error))
                continue
            candidate.digests = b"".join(message_digests(messages))
            readable.append(candidate)
            bar.advance(number, "")
    return readable
