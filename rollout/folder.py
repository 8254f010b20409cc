"""A rollouts folder: append-only files with one trajectory a line, and the figures of a run."""

import json
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, NamedTuple

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError, from_json

from skillweave.base.errors import ArtifactError, ConfigError
from skillweave.base.store import CACHE, TEMPORARY, Store, process_name
from skillweave.base.text import UnreadableTextError, hide_secrets, skip_mark
from skillweave.schema.record import Json
from skillweave.schema.trajectory import RETRIED_ERRORS, SpeakerUsage, TrajectoryRecord
from skillweave.text_calls import CALLS_AS_TEXT
from skillweave.world.tools import valid_text

USER_SHARE = 0.02
"""The run warns if a larger share of its trajectories is lost to the user."""


@dataclass
class RunFigures:
    """The figures of the trajectories that a run has finished."""

    done: int = 0
    passed: int = 0
    scored: int = 0
    stops: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    """Number of errors by kind."""
    first_errors: dict[str, str] = field(default_factory=dict)
    """Kind -> the first error, with its trajectory's id."""
    unreadable: list[str] = field(default_factory=list)
    """Id of each trajectory whose task could not be read, with the reason."""
    agents: set[str] = field(default_factory=set)
    users: set[str] = field(default_factory=set)
    sent_back: int = 0
    """Answers of users that were sent back."""
    tokens_kept: int = 0
    """Trajectories with token ids or log probabilities."""
    calls: int = 0
    replies: int = 0
    """Replies of agents in the trajectories' messages."""
    calls_as_text: int = 0
    """Those of them that hold a call as text."""
    turns: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = 0.0
    """None once something without a known price was used."""

    def add(self, record: TrajectoryRecord) -> None:
        """Count a trajectory."""
        self.done += 1
        self.stops[record.stop_reason] += 1
        self.agents.add(record.agent.backend)
        self.users |= {record.user.backend} if record.user is not None else set()
        extras = [message.model_extra or {} for message in record.messages]
        self.tokens_kept += any("token_ids" in extra or "logprobs" in extra for extra in extras)
        if record.error is not None:
            self.errors[record.error.kind] += 1
            self.first_errors.setdefault(record.error.kind, f"{record.id}: {record.error.message}")
        if record.score is not None and record.score.passed is not None:
            self.scored += 1
            self.passed += record.score.passed
        self.calls += _whole(record.metadata.get("tool_call_count"))
        self.replies += sum(message.role == "assistant" for message in record.messages)
        self.calls_as_text += _whole(record.metadata.get(CALLS_AS_TEXT))
        self.sent_back += _whole(record.metadata.get("user_sent_back"))
        self.turns += _whole(record.metadata.get("total_turns"))
        for usage in (record.usage.agent, record.usage.user):
            self._add_usage(usage)

    @property
    def owed(self) -> int:
        """Number of trajectories that the next run tries again."""
        return sum(self.errors[kind] for kind in RETRIED_ERRORS)

    @property
    def user_share(self) -> float:
        """The share of trajectories that is lost to the simulated user."""
        return self.errors["user"] / self.done if self.done else 0.0

    def _add_usage(self, usage: SpeakerUsage) -> None:
        self.input_tokens += usage.input_tokens
        self.output_tokens += usage.output_tokens
        known = self.cost_usd is not None and usage.cost_usd is not None
        self.cost_usd = self.cost_usd + usage.cost_usd if known else None  # type: ignore[operator]


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 0


RUN = "run.json"
SHARDS = f"{CACHE}/shards"
"""Folder of the files that workers of a cluster write to."""
SHOWN = 120
"""Characters of a value that an error message shows."""
NEEDED = ("id", "task_id", "trial", "messages", "stop_reason")
"""Keys that every trajectory's line has."""


FREE_FORM = frozenset({"sampling", "extra", "options"})
"""Keys of `run.json` whose objects hold what is set and nothing else: what they lack is not set."""
DEFAULTS: tuple[Json, ...] = (None, {}, True)
"""What settings that older versions did not record are by default."""


class FolderState(NamedTuple):
    """What a folder holds already."""

    done: frozenset[str]
    """Ids of the trajectories that are finished and not owed."""
    passed: int
    """Number of those that passed, by their recorded score."""
    scored: int
    torn: tuple[str, ...]
    """File and number of each line that cannot be read."""


@dataclass
class ShardProgress:
    """What was taken over from a shard's file."""

    offset: int = 0
    ids: set[str] = field(default_factory=set)


class RolloutFolder:
    """A folder with the trajectories of one run."""

    def __init__(self, root: Path) -> None:
        self.store = Store(root, "rollouts")
        self._taken: dict[str, ShardProgress] = {}

    def fix(self, run: dict[str, Json]) -> list[str]:
        """Write `run.json`. If the folder holds trajectories, it must describe the same run as the existing one.

        Args:
            run: The description of the run. The values under `asked` are the last request and may change.

        Returns:
            What the existing one, of an earlier version, does not say: each setting with the value that it is taken to
            have had, in words; without those that are as by default.

        Raises:
            ConfigError: The folder holds trajectories of another run, or without a description.
            ArtifactError: The existing `run.json` cannot be read.
        """
        unknown = self.compare(run)
        self.store.write(RUN, _pretty(run))
        return unknown

    def compare(self, run: dict[str, Json]) -> list[str]:
        """As `fix`, without writing anything."""
        files = [self.store.file(path) for path in self._files()]
        if any(path.stat().st_size for path in [*files, *self._shard_files()]):
            if not self.store.exists(RUN):
                raise ConfigError(
                    f"rollouts folder {str(self.store.root)!r} holds trajectories but no {RUN}, so their run is "
                    "unknown; give another folder with --rollouts-dir"
                )
            change, unknown = compare_settings(self._run(), run)
            if change is not None:
                raise ConfigError(
                    f"rollouts folder {str(self.store.root)!r} holds trajectories of another run: {change}; "
                    "give another folder with --rollouts-dir"
                )
            return unknown
        return []

    def held(self) -> FolderState:
        """Read what the folder holds."""
        counted: dict[str, bool | None] = {}
        torn: list[str] = []
        for path in self._files():
            for number, record in _lines(self.store.file(path)):
                if record is None:
                    torn.append(f"{path}, line {number}")
                elif not _is_owed(record):
                    counted[str(record.get("id"))] = _passed(record)
        scored = [passed for passed in counted.values() if passed is not None]
        return FolderState(frozenset(counted), sum(scored), len(scored), tuple(torn))

    def records(self) -> Iterator[TrajectoryRecord]:
        """The trajectories that the folder holds and that are not owed, file by file. Torn lines are left out."""
        for path in self._files():
            with _open_lines(self.store.file(path)) as stream:
                whole = (_whole_record(line) for line in stream)
                yield from (record for record in whole if record is not None and not record.owed)

    def append(self, record: TrajectoryRecord) -> None:
        """Append a trajectory to its world's file. The operating system has the line when this returns.

        Raises:
            ConfigError: The world's name is not usable as the name of a file.
        """
        self._append_line(record, _line(record) + b"\n")

    def append_to_shard(self, shard: str, record: TrajectoryRecord) -> None:
        """Append a trajectory to the file of a shard."""
        self.store.append(f"{SHARDS}/{shard}.jsonl", _line(record) + b"\n")

    def begin_shard(self, shard: str) -> frozenset[str] | None:
        """The ids that a shard's file has already; None if nobody has begun the shard."""
        path = f"{SHARDS}/{shard}.jsonl"
        if not self.store.exists(path):
            self.store.write(path, b"")
            return None
        return frozenset(str(record["id"]) for _, record in _lines(self.store.file(path)) if record is not None)

    def take_over(self, count: Callable[[TrajectoryRecord], None] = lambda record: None) -> None:
        """Append what is new in the files of shards to the worlds' files, each id of a shard once, and count it."""
        for path in self._shard_files():
            taken = self._taken.setdefault(path.name, ShardProgress())
            with path.open("rb") as stream:
                stream.seek(taken.offset)
                for line in stream:
                    if not line.endswith(b"\n"):
                        break
                    taken.offset += len(line)
                    record = _whole_record(line)
                    if record is not None and record.id not in taken.ids:
                        taken.ids.add(record.id)
                        self._append_line(record, line)
                        count(record)

    def clear_shards(self) -> None:
        """Remove the files of shards. What they hold is in the worlds' files."""
        for path in self._shard_files():
            path.unlink()

    def take_over_left(self) -> None:
        """Take over what the shards of a killed command left, and remove their files."""
        left = self._shard_files()
        known = {line for path in self._files() for line in _open_lines(self.store.file(path))} if left else set()
        for path in left:
            for line in path.open("rb"):
                record = _whole_record(line)
                if record is not None and line not in known:
                    self._append_line(record, line)
        self.clear_shards()

    def _shard_files(self) -> list[Path]:
        return sorted((self.store.root / SHARDS).glob("*.jsonl"))

    def _append_line(self, record: TrajectoryRecord, line: bytes) -> None:
        if not record.world or record.world.startswith(".") or "/" in record.world:
            raise ConfigError(
                f"task {record.task_id!r} is of the world {record.world!r}, which names a file of trajectories; "
                "give one that is not empty, does not begin with a dot and holds no slash"
            )
        self.store.append(f"{record.world}.jsonl", line)

    @contextmanager
    def temporary_files(self) -> Iterator[None]:
        """Make temporary files inside this folder, so that the next run can remove those of a killed run."""
        folder = (self.store.root / TEMPORARY / process_name()).resolve()
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(exist_ok=True)
        before, tempfile.tempdir = tempfile.tempdir, str(folder)
        try:
            yield
        finally:
            tempfile.tempdir = before
            shutil.rmtree(folder, ignore_errors=True)

    def _files(self) -> list[str]:
        root = self.store.root
        return sorted(path.name for path in root.glob("[!.]*.jsonl")) if root.is_dir() else []

    def _run(self) -> dict[str, Json]:
        try:
            run = from_json(self.store.read(RUN))
        except ValueError as error:
            raise ArtifactError(f"{RUN} of {str(self.store.root)!r} is not JSON: {error}") from error
        if not isinstance(run, dict):
            raise ArtifactError(f"{RUN} of {str(self.store.root)!r} is not a JSON object; give another --rollouts-dir")
        return run


def compare_settings(old: dict[str, Json], new: dict[str, Json], path: str = "") -> tuple[str | None, list[str]]:
    """Compare what two runs fixed, apart from `asked`.

    A key that the old one lacks was not recorded by the version that wrote it. It says nothing, and so no difference.

    Returns:
        The first setting that differs, in words, or None; and what the old one does not say, unless it is as by
        default.
    """
    unknown: list[str] = []
    for key in dict.fromkeys([*new, *old]):
        if key == "asked":
            continue
        before, now, name = old.get(key), new.get(key), f"{path}{key}"
        if key not in old:
            unknown += [f"{name}; it is taken to be {_short(now)}"] * (now not in DEFAULTS)
        elif isinstance(before, dict) and isinstance(now, dict) and key not in FREE_FORM:
            change, more = compare_settings(before, now, f"{name}.")
            unknown += more
            if change is not None:
                return change, unknown
        elif before != now:
            return f"{name} is {_short(before)} there and {_short(now)} now", unknown
    return None, unknown


def _lines(path: Path) -> Iterator[tuple[int, dict[str, Json] | None]]:
    """Number and record of each line; None for a line that is not a trajectory."""
    with _open_lines(path) as stream:
        for number, line in enumerate(stream, start=1):
            try:
                record = from_json(line)
            except ValueError:
                record = None
            yield number, record if isinstance(record, dict) and _is_trajectory(record) else None


def _open_lines(path: Path) -> IO[bytes]:
    """Open a file of trajectories at its first line; a byte order mark before it is none of it."""
    stream = path.open("rb")
    try:
        skip_mark(stream)
    except UnreadableTextError as error:
        stream.close()
        raise ArtifactError(f"{str(path)!r} cannot be read: {error}") from error
    return stream


def _whole_record(line: bytes) -> TrajectoryRecord | None:
    """The trajectory of a line; None for a torn one."""
    try:
        return TrajectoryRecord.model_validate_json(line)
    except ValidationError:
        return None


def _is_trajectory(record: dict[str, Json]) -> bool:
    return isinstance(record.get("id"), str) and all(key in record for key in NEEDED)


def _line(record: TrajectoryRecord) -> bytes:
    try:
        return record.model_dump_json().encode()
    except PydanticSerializationError:
        # An endpoint sent lone surrogates, or a user's own task put objects into its notes that are not JSON.
        return valid_text(json.dumps(record.model_dump(), ensure_ascii=False, default=repr)).encode()


def _is_owed(record: dict[str, Json]) -> bool:
    error = record.get("error")
    return isinstance(error, dict) and error.get("kind") in RETRIED_ERRORS


def _passed(record: dict[str, Json]) -> bool | None:
    score = record.get("score")
    passed = score.get("passed") if isinstance(score, dict) else None
    return passed if isinstance(passed, bool) else None


def _pretty(value: Json) -> bytes:
    return (json.dumps(value, indent=2, ensure_ascii=True) + "\n").encode("ascii")


def _short(value: Json) -> str:
    text = hide_secrets(json.dumps(value, sort_keys=True))
    return text if len(text) <= SHOWN else text[:SHOWN] + "..."
