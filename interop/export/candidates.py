"""The trajectories that an export may take: read once, scored, and checked against the conditions."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from evaluator.replay.rollouts import RolloutIndex, TrajectoryKey
from interop.export.conditions import ExportCondition
from interop.export.conversation import message_digests, trained_messages
from interop.export.examples import LineReader, LineSpot, TrajectorySpot, read_line
from interop.export.format import LeftOut
from interop.export.scores import Scorer, score
from interop.export.selection import Candidate, IndexedTask, LeftOutCounts, calls_of, trajectory_values
from skillweave.base.progress import progress
from skillweave.base.store import Store
from skillweave.schema.result import Result


def candidates_of(
    scorer: Scorer,
    rollouts: RolloutIndex,
    tasks: Mapping[str, IndexedTask],
    conditions: Sequence[ExportCondition],
    *,
    known: frozenset[str],
    earlier: Sequence[Path],
    store: Store,
    left_out: LeftOutCounts,
) -> list[Candidate]:
    """The trajectories that fulfil the conditions, in their order.

    Args:
        scorer: Evaluates what has no result yet.
        rollouts: The trajectories.
        tasks: The tasks that are wanted, by id.
        conditions: All of them must hold.
        known: Ids of all tasks of the dataset.
        earlier: Files with earlier results.
        store: The export's folder.
        left_out: Counts what is left out.
    """
    left_out.add("a line that is no trajectory", len(rollouts.bad))
    left_out.add("replaced by a later line", rollouts.replaced)
    wanted = []
    for key, place in rollouts.places.items():
        if place.task_id in tasks:
            wanted.append(key)
        else:
            left_out.add("--split or --where" if place.task_id in known else "of a task that the dataset does not have")
    fulfilling: list[Candidate] = []
    unscored = len(wanted)
    for key, result, spot in score(scorer, rollouts, wanted, earlier, store):
        unscored -= 1
        found = _candidate(rollouts, tasks, key, result, spot, conditions, left_out)
        if found is not None:
            fulfilling.append(found)
    left_out.add("not scored: the evaluator failed", unscored)
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
    return Candidate(tasks[place.task_id], where, key.id, result.trial, result.speakers, result.reward, calls)


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
