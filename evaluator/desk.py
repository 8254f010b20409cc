"""A desk: one dataset opened for evaluation, where trajectories are read from their files and evaluated."""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NamedTuple

from evaluator.evaluate import Evaluator, Settings
from evaluator.recorded import Recorded, Speaker, UnreadableError, read
from evaluator.rollouts import Key, Place
from skillweave.dataset import QUERIES, Dataset
from skillweave.digest import digest_json
from skillweave.errors import ArtifactError
from skillweave.schema.result import Result, ResultError


@dataclass(frozen=True)
class Office:
    """What evaluation works with."""

    tasks: Path
    """The outputs folder that holds the tasks."""
    worlds: Path
    """The one that holds their worlds; the two may be one."""
    settings: Settings


class Job(NamedTuple):
    """One trajectory to be evaluated."""

    key: Key
    path: Path
    """The file that holds its line."""
    place: Place
    digest: str
    """What the result holds for: the line, and what it is scored with."""


class Desk:
    """Not to be shared by threads."""

    def __init__(self, office: Office) -> None:
        """ArtifactError where a folder is none of a run."""
        self._settings = office.settings
        self.tasks = Dataset(office.tasks)
        self.worlds = self.tasks if office.worlds == office.tasks else Dataset(office.worlds)
        self.evaluator = Evaluator(self.tasks, self.worlds, office.settings)
        self._open: tuple[Path, IO[bytes]] | None = None
        """The file that was read last: trials of one world stand in one."""

    @property
    def fingerprint(self) -> str:
        """Digest of what results follow from, beside the trajectories' lines."""
        settings = {name: value for name, value in sorted(vars(self._settings).items()) if name != "cache"}
        return digest_json([self.tasks.digest, self.worlds.digest, repr(settings)])

    def asks_for_rubric(self) -> bool:
        """Whether the reward of some task depends on what a judge says."""
        files = (self.tasks.store.file(f"{QUERIES}/{world}.jsonl") for world in self.tasks.tasks.worlds)
        if not any(b'"rubric"' in line for file in files for line in file.open("rb")):
            return False
        return any(self._asks(id) for id in self.tasks.tasks)

    def _asks(self, id: str) -> bool:
        """Whether a task asks for it; one that cannot be read asks for nothing."""
        with suppress(ArtifactError):
            return "rubric" in self.tasks.tasks[id].criteria.reward_basis
        return False

    def recorded(self, job: Job) -> Recorded:
        """The trajectory. Raises UnreadableError."""
        if self._open is None or self._open[0] != job.path:
            if self._open is not None:
                self._open[1].close()
            self._open = job.path, job.path.open("rb")
        stream = self._open[1]
        stream.seek(job.place.offset)
        return read(stream.read(job.place.length))

    def result(self, job: Job) -> Result:
        """What the evaluator says of it."""
        try:
            return self.evaluator.evaluate(self.recorded(job), job.digest)
        except UnreadableError as error:
            return self.unscored(job, ResultError(kind="trajectory", message=str(error)), job.digest)
        except (ArtifactError, OSError):
            raise
        except Exception as error:
            return self.unscored(job, failed(f"the evaluator failed: {type(error).__name__}: {error}"))

    def unscored(self, job: Job, error: ResultError, digest: str = "") -> Result:
        """The result of a line of which only the ids are known; without a digest it is made again by the next run."""
        id, trial = job.key.id, job.key.id.rpartition("#")[2]
        line = Recorded(
            id=id,
            task_id=job.place.task_id,
            trial=int(trial) if trial.isdecimal() else 0,
            model=job.key.agent or None,
            user=Speaker(backend=job.key.user or None),
        )
        return self.evaluator.unscored(line, digest, error)


def failed(words: str) -> ResultError:
    """A failure of the evaluator itself: it costs one result, is told, and is tried again by the next run."""
    return ResultError(kind="infrastructure", message=words)
