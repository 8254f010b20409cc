"""A desk: one dataset opened for evaluation, where trajectories are read from their files and evaluated."""

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from evaluator.evaluate import Evaluator, Settings
from evaluator.recorded import Recorded, UnreadableError, read
from evaluator.rollouts import Place
from skillweave.dataset import QUERIES, Dataset
from skillweave.digest import digest_json
from skillweave.errors import ArtifactError
from skillweave.schema.result import Result, ResultError
from skillweave.schema.score import Checks


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

    id: str
    path: Path
    """The file that holds its line."""
    place: Place
    digest: str
    """What the result holds for: the line, and what it is scored with."""

    def line(self) -> bytes:
        """The line."""
        with self.path.open("rb") as stream:
            stream.seek(self.place.offset)
            return stream.read(self.place.length)


class Desk:
    """Not to be shared by threads."""

    def __init__(self, office: Office) -> None:
        """ArtifactError where a folder is none of a run."""
        self._settings = office.settings
        self.tasks = Dataset(office.tasks)
        self.worlds = self.tasks if office.worlds == office.tasks else Dataset(office.worlds)
        self.evaluator = Evaluator(self.tasks, self.worlds, office.settings)

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
        return any("rubric" in task.criteria.reward_basis for task in self.tasks.tasks.values())

    def recorded(self, job: Job) -> Recorded:
        """The trajectory. Raises UnreadableError."""
        return read(job.line())

    def result(self, job: Job) -> Result:
        """What the evaluator says of it."""
        try:
            return self.evaluator.evaluate(self.recorded(job), job.digest)
        except UnreadableError as error:
            return unscored(job, ResultError(kind="trajectory", message=str(error)), self._settings.version, job.digest)
        except (ArtifactError, OSError):
            raise
        except Exception as error:
            # A fault of ours costs one result, is told, and is tried again by the next run.
            words = f"the evaluator failed: {type(error).__name__}: {error}"
            return unscored(job, ResultError(kind="infrastructure", message=words), self._settings.version)


def unscored(job: Job, error: ResultError, version: str, digest: str = "") -> Result:
    """The result of a trajectory of which nothing is known but its id; without a digest it is made again next time."""
    return Result(
        id=job.id,
        task_id=job.place.task_id,
        trial=0,
        world="",
        domains=[],
        kind=None,
        split=None,
        checks_version=version,
        passed=None,
        reward=None,
        checks=Checks(),
        error=error,
        trajectory_digest=digest,
    )
