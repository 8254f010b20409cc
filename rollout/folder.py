"""A rollouts folder: append-only lines, one trajectory each, and the figures of what it holds."""

import json
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from pydantic_core import PydanticSerializationError, from_json

from skillweave.base.errors import ArtifactError, ConfigError
from skillweave.base.store import TEMPORARY, Store
from skillweave.schema.record import Json
from skillweave.schema.trajectory import RETRIED_ERRORS, SpeakerUsage, TrajectoryRecord
from skillweave.world.tools import valid_text

USER_SHARE = 0.02
"""A larger share of trajectories lost to the user is worth a warning."""


@dataclass
class RunFigures:
    done: int = 0
    passed: int = 0
    scored: int = 0
    stops: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    """By kind."""
    first_errors: dict[str, str] = field(default_factory=dict)
    """Kind -> the first one, with its trajectory."""
    unreadable: list[str] = field(default_factory=list)
    """Trajectories whose task could not be read, each with the reason."""
    agents: set[str] = field(default_factory=set)
    users: set[str] = field(default_factory=set)
    sent_back: int = 0
    """Answers of users that were sent back."""
    tokens_kept: int = 0
    """Trajectories with token ids or log probabilities."""
    calls: int = 0
    turns: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = 0.0
    """None once something without a known price was used."""

    def add(self, record: TrajectoryRecord) -> None:
        """Count one."""
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
        self.sent_back += _whole(record.metadata.get("user_sent_back"))
        self.turns += _whole(record.metadata.get("total_turns"))
        for usage in (record.usage.agent, record.usage.user):
            self._add_usage(usage)

    @property
    def owed(self) -> int:
        """Trajectories that the next run tries anew."""
        return sum(self.errors[kind] for kind in RETRIED_ERRORS)

    @property
    def user_share(self) -> float:
        """The share lost to the simulated user."""
        return self.errors["user"] / self.done if self.done else 0.0

    def _add_usage(self, usage: SpeakerUsage) -> None:
        self.input_tokens += usage.input_tokens
        self.output_tokens += usage.output_tokens
        known = self.cost_usd is not None and usage.cost_usd is not None
        self.cost_usd = self.cost_usd + usage.cost_usd if known else None  # type: ignore[operator]


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 0


RUN = "run.json"
SHOWN = 120
"""Characters of a value that an error shows."""
NEEDED = ("id", "task_id", "trial", "messages", "stop_reason")
"""Keys without which a line is no trajectory."""


class FolderState(NamedTuple):
    """What a folder holds already."""

    done: frozenset[str]
    """Ids of trajectories that are there and count."""
    passed: int
    """How many of them passed, by their own score."""
    scored: int
    torn: tuple[str, ...]
    """Places of lines that cannot be read."""


class RolloutFolder:
    """One folder, one run."""

    def __init__(self, root: Path) -> None:
        self.store = Store(root, "rollouts")

    def fix(self, run: dict[str, Json]) -> None:
        """Write `run.json`, or compare it with the one that is there. ConfigError names both values of a difference.

        Keys under `asked` say what was asked for last, and may change.
        """
        if self.store.exists(RUN):
            _refuse_change(self._run(), run, self.store.root)
        elif any(self._files()):
            raise ConfigError(
                f"rollouts folder {str(self.store.root)!r} holds trajectories and no {RUN}, so nobody knows whose; "
                "give another one with --rollouts-dir"
            )
        self.store.write(RUN, _pretty(run))

    def held(self) -> FolderState:
        """What is there."""
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

    def append(self, record: TrajectoryRecord) -> None:
        """Add a trajectory: the line is in the system's hands when this returns. ConfigError where its file would not
        be found again."""
        if not record.world or record.world.startswith(".") or "/" in record.world:
            raise ConfigError(
                f"task {record.task_id!r} is of the world {record.world!r}, which names a file of trajectories; "
                "give one that is not empty, does not begin with a dot and holds no slash"
            )
        self.store.append(f"{record.world}.jsonl", _line(record) + b"\n")

    @contextmanager
    def temporary_files(self) -> Iterator[None]:
        """Have temporary files made in this folder, where the next run finds and removes those of a killed one."""
        folder = (self.store.root / TEMPORARY / str(os.getpid())).resolve()
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
            found = from_json(self.store.read(RUN))
        except ValueError as error:
            raise ArtifactError(f"{RUN} of {str(self.store.root)!r} is not JSON: {error}") from error
        if not isinstance(found, dict):
            raise ArtifactError(f"{RUN} of {str(self.store.root)!r} is no object; give another --rollouts-dir")
        return found


def _refuse_change(old: dict[str, Json], new: dict[str, Json], root: Path) -> None:
    for key in sorted({*old, *new} - {"asked"}):
        if old.get(key) != new.get(key):
            raise ConfigError(
                f"rollouts folder {str(root)!r} holds trajectories of another run: {key} is {_short(old.get(key))} "
                f"there and {_short(new.get(key))} now; give another folder with --rollouts-dir"
            )


def _lines(path: Path) -> Iterator[tuple[int, dict[str, Json] | None]]:
    """Number and record of each line; None for what is no record."""
    with path.open("rb") as stream:
        for number, line in enumerate(stream, start=1):
            try:
                found = from_json(line)
            except ValueError:
                found = None
            yield number, found if isinstance(found, dict) and _is_trajectory(found) else None


def _is_trajectory(record: dict[str, Json]) -> bool:
    return isinstance(record.get("id"), str) and all(key in record for key in NEEDED)


def _line(record: TrajectoryRecord) -> bytes:
    try:
        return record.model_dump_json().encode()
    except PydanticSerializationError:
        # Halves of characters that an endpoint sent, or what a user's own task put into its notes.
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
    text = json.dumps(value, sort_keys=True)
    return text if len(text) <= SHOWN else text[:SHOWN] + "..."
