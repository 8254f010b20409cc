"""What every evaluation begins with: rollouts found, results that hold kept, the dataset open, the folder locked."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evaluator.cli.options import Options
from evaluator.desk import Desk, Job, Office
from evaluator.results import Kept, ResultsFile
from evaluator.rollouts import Rollouts, find_rollouts
from evaluator.version import checks_version
from skillweave.digest import digest_json
from skillweave.errors import ConfigError
from skillweave.lock import locked
from skillweave.store import CACHE

if TYPE_CHECKING:
    from evaluator.judge.judge import Judge


@dataclass
class Run:
    """What is evaluated, and what of it was there already."""

    options: Options
    office: Office
    desk: Desk
    rollouts: Rollouts
    results: ResultsFile
    jobs: list[Job]
    """All of them, by task."""
    kept: Kept
    judge: "Judge | None"
    judge_faults: int = 0
    """Conversations that the judge gave no usable answer for."""


@contextmanager
def begun(options: Options) -> Iterator[Run]:
    """All that is needed, under the lock on the folder of results. Raises ConfigError, ArtifactError."""
    rollouts = find_rollouts(options.rollouts)
    results = ResultsFile(options.output)
    if any(path.resolve() == results.path.resolve() for path in rollouts.files):
        raise ConfigError(f"--output {str(results.path)!r} is one of the rollouts; give another file")
    results.store.refuse_other_than_folder()
    results.store.prepare()
    with locked(results.store):
        results.store.clean()
        office = options.office(checks_version(options.settings, results.store.root / CACHE / "code.json"))
        desk = Desk(office)
        judge = _judge(options, desk, results)
        jobs = _jobs(rollouts, [desk.fingerprint, *([judge.name, judge.version] if judge else [])])
        kept = results.keep({job.key: job.digest for job in jobs}, anew=not options.cache)
        yield Run(options, office, desk, rollouts, results, jobs, kept, judge)


def _jobs(rollouts: Rollouts, follows_from: list[str]) -> list[Job]:
    """All trajectories, the trials of a task beside each other."""
    return [
        Job(key, rollouts.files[place.file], place, digest_json([*follows_from, place.digest.hex()]))
        for key, place in sorted(rollouts.places.items(), key=lambda item: (item[1].task_id, item[0]))
    ]


def _judge(options: Options, desk: Desk, results: ResultsFile) -> "Judge | None":
    """Who judges, where a judge is asked for. Raises ConfigError."""
    if not options.judged and (options.check is not None or not desk.asks_for_rubric()):
        return None
    from evaluator.judge.judge import Judge

    return Judge(options.config, checks=options.judged, folder=results.store.root)
