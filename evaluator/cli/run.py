"""`run`: what is owed is evaluated, appended as it comes, and then summed up and told."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evaluator.cli.options import Options
from evaluator.cli.tell import tell
from evaluator.desk import Desk, Job, Office
from evaluator.results import Kept, ResultsFile
from evaluator.rollouts import Rollouts, find_rollouts
from evaluator.version import checks_version
from evaluator.workers import Done, evaluate_all
from skillweave.digest import digest_json
from skillweave.errors import ConfigError
from skillweave.lock import locked
from skillweave.progress import progress
from skillweave.store import CACHE

if TYPE_CHECKING:
    from evaluator.judge.judge import Judge

BATCH = 32
"""Trajectories that a worker takes at a time."""


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


def run_evaluation(options: Options) -> int:
    """The exit status. Raises ConfigError, ArtifactError, ProviderError."""
    with begun(options) as run:
        evaluate(run)
        return tell(run)


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


def evaluate(run: Run) -> None:
    """Make every result that is owed; each is in the file when it is made."""
    owed = [job for job in run.jobs if job.key not in run.kept.keys]
    passed = scored = errors = 0
    with progress("trajectories", len(owed), quiet=run.options.quiet) as shown:
        for number, done in enumerate(_done(run, owed), start=1):
            run.results.append(done.line)
            passed, scored = passed + (done.passed is True), scored + (done.passed is not None)
            errors += done.is_error
            share = f"{passed / scored:.1%} passed" if scored else "none scored"
            shown.advance(number, f"{share}, {errors} not scored" if errors else share)


def _jobs(rollouts: Rollouts, follows_from: list[str]) -> list[Job]:
    """All trajectories, the trials of a task beside each other."""
    return [
        Job(key, rollouts.files[place.file], place, digest_json([*follows_from, place.digest.hex()]))
        for key, place in sorted(rollouts.places.items(), key=lambda item: (item[1].task_id, item[0]))
    ]


def _done(run: Run, owed: list[Job]) -> Iterator[Done]:
    """The results, in the order in which they are made."""
    batches = [owed[start : start + BATCH] for start in range(0, len(owed), BATCH)]
    workers = min(run.options.config.evaluation.max_workers, max(len(batches), 1))
    scored = evaluate_all(run.office, batches, workers)
    if run.judge is None:
        yield from scored
        return
    from evaluator.judging import judging

    with judging(run.judge, run.desk) as stage:
        yield from stage.added(scored)
        run.judge_faults = stage.faults


def _judge(options: Options, desk: Desk, results: ResultsFile) -> "Judge | None":
    """Who judges, where a judge is asked for. Raises ConfigError."""
    if not options.judged and (options.check is not None or not desk.asks_for_rubric()):
        return None
    from evaluator.judge.judge import Judge

    return Judge(options.config, checks=options.judged, cache=results.store.root / CACHE / "replies.sqlite")
