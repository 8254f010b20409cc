"""Examples: tasks and trajectories as formats take them, read one at a time from where an index says they are.

Every process has a reader of its own. What a line says of its score is never read: results come from the evaluator.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import IO, Any, NamedTuple

from pydantic import ValidationError

from evaluator.replay.golden import digest_of_task
from evaluator.replay.trial import RecordedTrajectory, UnreadableTrajectoryError, read_trajectory
from interop.export.conversation import trained_messages
from interop.export.format import LeftOut, PairExample, TaskExample, TrajectoryExample
from skillweave.base.errors import ArtifactError, WorldError
from skillweave.schema.result import Result
from skillweave.schema.trajectory import Message, TrajectoryRecord
from skillweave.world.dataset import Dataset
from skillweave.world.instruction import instruction


class LineSpot(NamedTuple):
    """Where a line stands."""

    path: Path
    offset: int
    length: int


class TrajectorySpot(NamedTuple):
    """Where a trajectory and its result stand."""

    line: LineSpot
    result: LineSpot


@dataclass(frozen=True, slots=True)
class ExampleSpot:
    """What an example is made of: a task, and none, one or two of its trajectories."""

    task_id: str
    index: int
    trajectories: tuple[TrajectorySpot, ...] = ()


@dataclass(frozen=True)
class ReaderSettings:
    """What every process needs to read examples."""

    outputs: Path
    compact: bool = False
    keep_reasoning: bool = False


class ExampleReader:
    """Reads examples of one dataset. Not thread-safe."""

    def __init__(self, settings: ReaderSettings) -> None:
        """Open the dataset. Raises ArtifactError if the folder is no dataset."""
        self._settings = settings
        self._dataset = Dataset(settings.outputs)
        self._policy = cache(self._dataset.policy)
        self._blueprint = cache(self._dataset.blueprint)
        self._lines = LineReader()
        self._of_task = lru_cache(maxsize=8)(self._task_example)

    def task(self, id: str, index: int) -> TaskExample:
        """A task as an agent meets it. Raises LeftOut if its world does not open."""
        return self._of_task(id, index)

    def trajectory(self, spot: ExampleSpot, number: int = 0) -> TrajectoryExample:
        """A trajectory. Raises LeftOut if nobody can read it."""
        where = spot.trajectories[number]
        line = self._lines.read(where.line)
        recorded = read_line(line)
        messages = trained_messages(
            recorded.messages, recorded.user_turns or (), reasoning=self._settings.keep_reasoning
        )
        result = Result.model_validate_json(self._lines.read(where.result))
        of = self.task(spot.task_id, spot.index)
        record = self._record(line, recorded, of)
        return TrajectoryExample(of, record, result, [*_system(of), *messages])

    def example(self, spot: ExampleSpot) -> TaskExample | TrajectoryExample | PairExample:
        """The example of a spot. Raises LeftOut."""
        if not spot.trajectories:
            return self.task(spot.task_id, spot.index)
        first = self.trajectory(spot)
        if len(spot.trajectories) == 1:
            return first
        return PairExample(first.of, first, self.trajectory(spot, 1))

    def _task_example(self, id: str, index: int) -> TaskExample:
        task = self._dataset.tasks[id]
        blueprint = self._blueprint(task.world)
        try:
            world = self._dataset.world(task)
            with world.session(task) as session:
                tools = session.tools
        except (ArtifactError, WorldError) as error:
            raise LeftOut(f"its world does not open: {error}") from error
        policy = self._policy(task.world)
        text = instruction(task, policy, blueprint, tools, compact=self._settings.compact)
        return TaskExample(task, index, [Message(role="system", content=text), *task.messages], tools, world)

    def _record(self, line: bytes, recorded: RecordedTrajectory, of: TaskExample) -> TrajectoryRecord:
        """The trajectory's record; for a line of another program, what it says, and defaults."""
        try:
            return TrajectoryRecord.model_validate_json(line)
        except ValidationError:
            known = recorded.model_dump(mode="json", exclude={"model", "agent", "user", "error"}, exclude_none=True)
            names = {"backend": recorded.agent_name or "", "model": recorded.agent_name or ""}
            defaults: dict[str, Any] = {
                "domains": [*of.task.domains],
                "seed": 0,
                "dataset": self._dataset.digest,
                "task_digest": digest_of_task(of.task),
                "tools": [],
                "stop_reason": "user_stop",
                "usage": {"agent": {}, "user": {}},
                "started_at": "",
                "seconds": 0.0,
            }
            return _filled(defaults, {**known, "agent": names, "world": of.task.world})


def _filled(defaults: dict[str, Any], known: dict[str, Any]) -> TrajectoryRecord:
    """A record of what is known, with defaults for what is not known or not valid. Raises LeftOut."""
    try:
        return TrajectoryRecord.model_validate({**defaults, **known})
    except ValidationError as error:
        faulty = {fault["loc"][0] for fault in error.errors()}
        try:
            return TrajectoryRecord.model_validate(
                {**defaults, **{name: value for name, value in known.items() if name not in faulty}}
            )
        except ValidationError as second:
            raise LeftOut(f"no trajectory: {second.errors()[0]['msg']}") from second


def read_line(line: bytes) -> RecordedTrajectory:
    """Read a trajectory from its line. Raises LeftOut."""
    try:
        return read_trajectory(line)
    except UnreadableTrajectoryError as error:
        raise LeftOut(f"no trajectory: {error}") from error


def _system(of: TaskExample) -> list[Message]:
    """The task's own system prompt: what a line has in its place proves nothing."""
    return [message for message in of.prompt if message.role == "system"]


class LineReader:
    """Reads lines by where they stand; the file read last stays open."""

    def __init__(self) -> None:
        self._open: dict[Path, IO[bytes]] = {}

    def read(self, spot: LineSpot) -> bytes:
        """The bytes of a line. Raises OSError if the file is gone."""
        if spot.path not in self._open:
            if len(self._open) > 2:
                self._open.pop(next(iter(self._open))).close()
            self._open[spot.path] = spot.path.open("rb")
        stream = self._open[spot.path]
        stream.seek(spot.offset)
        return stream.read(spot.length)


def characters_of(messages: Iterable[Message]) -> int:
    """Characters of messages: their words, and the names and arguments of their calls."""
    return sum(
        len(message.content or "")
        + sum(len(call.function.name) + len(str(call.function.arguments)) for call in message.tool_calls or ())
        for message in messages
    )
