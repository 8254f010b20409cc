"""The rollouts folder: `run.json`, which fixes what it holds, and a file of trajectories a world.

A file is only ever appended to, a whole line at a time. Of several lines with one id the last that is owed to nobody
counts; a torn last line, of a run that was killed, counts for nothing.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from pydantic_core import PydanticSerializationError, from_json

from skillweave.errors import ArtifactError, ConfigError
from skillweave.schema.record import Json
from skillweave.schema.trajectory import OWED, TrajectoryRecord
from skillweave.store import TEMPORARY, Store
from skillweave.tool_call import whole

RUN = "run.json"
SHOWN = 120
"""Characters of a value that an error shows."""
NEEDED = ("id", "task_id", "trial", "messages", "stop_reason")
"""Keys without which a line is no trajectory."""


class Held(NamedTuple):
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

    def held(self) -> Held:
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
        return Held(frozenset(counted), sum(scored), len(scored), tuple(torn))

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
        return whole(json.dumps(record.model_dump(), ensure_ascii=False, default=repr)).encode()


def _is_owed(record: dict[str, Json]) -> bool:
    error = record.get("error")
    return isinstance(error, dict) and error.get("kind") in OWED


def _passed(record: dict[str, Json]) -> bool | None:
    score = record.get("score")
    passed = score.get("passed") if isinstance(score, dict) else None
    return passed if isinstance(passed, bool) else None


def _pretty(value: Json) -> bytes:
    return (json.dumps(value, indent=2, ensure_ascii=True) + "\n").encode("ascii")


def _short(value: Json) -> str:
    text = json.dumps(value, sort_keys=True)
    return text if len(text) <= SHOWN else text[:SHOWN] + "..."
