"""A folder of rollouts: which trajectories it holds, where each stands, and which lines are none.

Every `*.jsonl` below the folder is read, whatever its name. Of several lines of one agent, user and id the last that
is not owed (an infrastructure or provider error) counts. Only places are kept in memory, never trajectories.
"""

import hashlib
import os
import sys
from codecs import BOM_UTF8
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, NamedTuple

from evaluator.replay.trial import LONGEST_ID, agent_of, ids_of, read_json
from skillweave.base.command import command_line, shell_word
from skillweave.base.errors import ArtifactError, ConfigError
from skillweave.base.text import UnreadableTextError, skip_mark
from skillweave.schema.result import UNNAMED, SpeakerNames
from skillweave.schema.trajectory import RETRIED_ERRORS

LONGEST_LINE = 64 * 2**20
"""Most bytes of a line."""


class TrajectoryKey(NamedTuple):
    """What identifies a trajectory: a folder may hold runs of several agents and users."""

    agent: str
    """`provider/model`; empty where the line does not say."""
    user: str
    """`provider/model` of the simulated user; empty where the line does not say."""
    id: str
    """`<task id>#<trial>`."""

    @property
    def speakers(self) -> SpeakerNames:
        """Who held the conversation."""
        return SpeakerNames(self.agent or UNNAMED, self.user or UNNAMED)


class LinePosition(NamedTuple):
    """Where the line of a trajectory is."""

    task_id: str
    file: int
    """Number of the file."""
    offset: int
    length: int
    digest: bytes
    """sha256 of the line."""
    owed: bool
    """Whether it ended by an error that is not the agent's; the next rollout run tries it again."""


class BadLine(NamedTuple):
    """A line that is no trajectory and gets no result."""

    place: str
    """`clinic.jsonl, line 7`."""
    why: str

    def __str__(self) -> str:
        return f"{self.place}: {self.why}"


@dataclass
class RolloutIndex:
    """The trajectories of a folder."""

    files: list[Path] = field(default_factory=list)
    places: dict[TrajectoryKey, LinePosition] = field(default_factory=dict)
    """The line that counts for each trajectory."""
    bad: list[BadLine] = field(default_factory=list)
    replaced: int = 0
    """Number of lines replaced by a later line with the same agent, user and id, without owed ones."""


def find_rollouts(root: Path) -> RolloutIndex:
    """Index a folder, or a single file.

    Raises:
        ConfigError: There is no such folder, or no trajectory in it.
        ArtifactError: A file cannot be read.
    """
    if not root.exists():
        raise ConfigError(
            f"there is no rollouts folder {str(root)!r}; give one with --rollouts-dir, or write it with: "
            f"{command_line('rollout', 'run', '--rollouts-dir', root)}"
        )
    found = RolloutIndex(files=[root] if root.is_file() else list(_files(root)))
    if not found.files:
        raise ConfigError(f"rollouts folder {str(root)!r} holds no *.jsonl; give the one that a rollout run wrote")
    for number, path in enumerate(found.files):
        _scan(found, number, path, path.name if root.is_file() else str(path.relative_to(root)))
    return found


def _files(root: Path) -> Iterator[Path]:
    """Regular files that end in `.jsonl`, sorted, without hidden ones."""
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(folder, name)
            if name.endswith(".jsonl") and not name.startswith(".") and path.is_file():
                yield path


def _scan(found: RolloutIndex, number: int, path: Path, label: str) -> None:
    bad, first = len(found.bad), b""
    try:
        with path.open("rb") as stream:
            for line, offset, content in _lines(stream):
                first = first or (content or b"").strip()
                if content is None:
                    found.bad.append(BadLine(f"{label}, line {line}", f"longer than {LONGEST_LINE:,} bytes"))
                elif content.strip():
                    _add(found, number, f"{label}, line {line}", offset, content)
    except OSError as error:
        raise ArtifactError(f"cannot read {str(path)!r}: {error.strerror or error}") from error
    except UnreadableTextError as error:
        raise ArtifactError(f"cannot read {str(path)!r}: {error}") from error
    if first in (b"{", b"[") and all(place.file != number for place in found.places.values()):
        # Each of its lines would be called no trajectory.
        one = "." if first == b"{" else "'.[]'"
        why = f"it is indented JSON, and has to be one object a line; write it so with: jq -c {one} {shell_word(path)}"
        found.bad[bad:] = [BadLine(f"{label}, all lines", why)]


def _lines(stream: IO[bytes]) -> Iterator[tuple[int, int, bytes | None]]:
    """Number, offset and content of each line; the content is None where the line is too long."""
    number, offset = 0, skip_mark(stream)
    while content := stream.readline(LONGEST_LINE + 1):
        number += 1
        if len(content) <= LONGEST_LINE:
            mark = len(BOM_UTF8) if content.startswith(BOM_UTF8) else 0  # files with a mark each, joined
            yield number, offset + mark, content[mark:]
            offset += len(content)
            continue
        offset += len(content)
        while not content.endswith(b"\n") and (content := stream.readline(LONGEST_LINE)):
            offset += len(content)
        yield number, offset, None


def _add(found: RolloutIndex, file: int, label: str, offset: int, content: bytes) -> None:
    """Note where a trajectory is, or why a line is none."""
    try:
        record = read_json(content)
    except ValueError:
        is_torn = not content.endswith(b"\n")
        found.bad.append(BadLine(label, "torn, the run that wrote it was stopped" if is_torn else "not JSON"))
        return
    if not isinstance(record, dict) or not isinstance(record.get("messages"), list):
        found.bad.append(BadLine(label, "no trajectory: it has no list of messages"))
        return
    id, task_id = ids_of(record)
    if not 0 < len(id) <= LONGEST_ID:
        found.bad.append(BadLine(label, f"no trajectory: its id is no text of 1 to {LONGEST_ID} characters"))
        return
    digest = hashlib.sha256(content.rstrip()).digest()
    place = LinePosition(task_id, file, offset, len(content), digest, _is_owed(record))
    key = TrajectoryKey(sys.intern(agent_of(record) or ""), sys.intern(_user_of(record)), id)
    known = found.places.get(key)
    if known is not None and place.owed and not known.owed:
        return
    found.replaced += known is not None and not known.owed
    found.places[key] = place


def _user_of(record: dict[str, object]) -> str:
    user = record.get("user")
    name = user.get("backend") if isinstance(user, dict) else None
    return name if isinstance(name, str) else ""


def _is_owed(record: dict[str, object]) -> bool:
    error = record.get("error")
    return isinstance(error, dict) and error.get("kind") in RETRIED_ERRORS
