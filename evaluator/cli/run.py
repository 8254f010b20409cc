"""`run`: what is owed is evaluated, appended as it comes, and then summed up and told."""

from collections.abc import Iterator

from evaluator.cli.begin import Run, begun
from evaluator.cli.options import Options
from evaluator.cli.tell import tell
from evaluator.desk import Job
from evaluator.workers import Done, evaluate_all
from skillweave.progress import progress

BATCH = 32
"""Trajectories that a worker takes at a time."""


def run_evaluation(options: Options) -> int:
    """The exit status. Raises ConfigError, ArtifactError, ProviderError."""
    with begun(options) as run:
        evaluate(run)
        return tell(run)


def evaluate(run: Run) -> None:
    """Make every result that is owed; each is in the file when it is made."""
    owed = [job for job in run.jobs if job.key not in run.kept.keys]
    errors = 0
    with progress("trajectories", len(owed), quiet=run.options.quiet) as shown:
        for number, done in enumerate(_done(run, owed), start=1):
            run.results.append(done.line)
            errors += done.is_error
            shown.advance(number, f"{errors} not scored")


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
