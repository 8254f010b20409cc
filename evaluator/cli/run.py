"""`run` and `rescore`: evaluate what is owed, append each result, then write and print the summary and the report."""

import shlex
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from evaluator.cli.options import EvaluationOptions
from evaluator.judge.judge import Judge, judge_queue
from evaluator.replay.rollouts import RolloutIndex, find_rollouts
from evaluator.replay.trial import UnreadableTrajectoryError
from evaluator.report.compare import flips, show_flips
from evaluator.report.conversation import ShownConversation, conversation_of
from evaluator.report.page import write_report
from evaluator.report.results import LADDER, KeptResults, ResultsFile, key_of, read_ladder
from evaluator.report.summary import SummaryBuilder
from evaluator.report.terminal import print_line, show_ladder, show_summary
from evaluator.scoring.evaluate import NotScoredError, checks_version
from evaluator.scoring.worker_pool import DatasetEvaluator, EvaluationJob, EvaluationSetup, FinishedJob, evaluate_all
from skillweave.base.command import one_line
from skillweave.base.digest import digest_json
from skillweave.base.errors import ConfigError
from skillweave.base.progress import progress
from skillweave.base.store import CACHE, Store, locked
from skillweave.schema.evaluation import EvaluationSummary, Ladder
from skillweave.schema.result import RescoredResult, Result


@dataclass
class EvaluationRun:
    """What is evaluated, and what of it was there already."""

    options: EvaluationOptions
    setup: EvaluationSetup
    desk: DatasetEvaluator
    rollouts: RolloutIndex
    results: ResultsFile
    jobs: list[EvaluationJob]
    """All of them, by task."""
    kept: KeptResults
    judge: Judge | None
    judge_faults: int = 0
    """Conversations that the judge gave no usable answer for."""


@contextmanager
def open_run(options: EvaluationOptions) -> Iterator[EvaluationRun]:
    """All that is needed, under the lock on the folder of results. Raises ConfigError, ArtifactError."""
    options.load_plugins()
    rollouts = find_rollouts(options.rollouts)
    results = ResultsFile(options.output)
    if any(path.resolve() == results.path.resolve() for path in rollouts.files):
        raise ConfigError(f"--output {str(results.path)!r} is one of the rollouts; give another file")
    results.store.refuse_other_than_folder()
    results.store.prepare()
    with locked(results.store):
        results.store.clean()
        setup = options.setup(checks_version(options.settings, results.store.root / CACHE / "code.json"))
        desk = DatasetEvaluator(setup)
        judge = _judge(options, desk, results)
        jobs = _jobs(rollouts, [desk.fingerprint, *([judge.name, judge.version] if judge else [])])
        kept = results.keep({job.key: job.digest for job in jobs}, anew=not options.cache)
        yield EvaluationRun(options, setup, desk, rollouts, results, jobs, kept, judge)


def _jobs(rollouts: RolloutIndex, follows_from: list[str]) -> list[EvaluationJob]:
    """All trajectories, the trials of a task beside each other."""
    return [
        EvaluationJob(key, rollouts.files[place.file], place, digest_json([*follows_from, place.digest.hex()]))
        for key, place in sorted(rollouts.places.items(), key=lambda item: (item[1].task_id, item[0]))
    ]


def _judge(options: EvaluationOptions, desk: DatasetEvaluator, results: ResultsFile) -> Judge | None:
    """Who judges, where a judge is asked for. Raises ConfigError."""
    if not options.judged and (options.check is not None or not desk.asks_for_rubric()):
        return None
    return Judge(options.config, checks=options.judged, folder=results.store.root)


SUMMARY = "summary.json"
REPORT = "report.html"
MOST_LINES = 5
"""Lines that are told where -v does not ask for all."""


def publish(run: EvaluationRun) -> int:
    """The exit status: 1 where a line could not be scored."""
    summary, errors = _summed_up(run)
    ladder = _ladder(run)
    run.results.store.write(SUMMARY, summary.model_dump_json(indent=2).encode() + b"\n")
    write_report(
        run.results.store,
        REPORT,
        summary,
        lambda: iter(run.results),
        _conversations(run),
        most=run.options.config.evaluation.report_trajectories,
        ladder=ladder,
    )
    if run.options.check is not None:
        _tell_of_check(run.options.check, summary)
    elif not run.options.quiet:
        show_summary(summary)
        if ladder is not None:
            show_ladder(ladder)
    _tell_of_lines(run)
    _tell(run, errors)
    _tell_of_judge(run)
    lost = len(run.jobs) - sum(one.trajectories for one in summary.by_agent)
    if lost:
        print(f"{lost} results are gone: something else changed the file meanwhile; run the same command again")
    output = shlex.quote(str(run.results.path))
    report = shlex.quote(str(run.results.store.root / REPORT))
    print(one_line(f"wrote {output}; next: open {report}, or: python -m evaluator show ID{_places(run)}"))
    return 1 if errors or lost or run.rollouts.bad or run.judge_faults else 0


def _summed_up(run: EvaluationRun) -> tuple[EvaluationSummary, list[str]]:
    """The summary, and what could not be scored, each in a line."""
    summary = SummaryBuilder(run.desk.worlds.digest, seed=run.options.config.seed, unreadable=len(run.rollouts.bad))
    errors: list[str] = []
    for result in run.results:
        summary.add(result)
        if result.error is not None:
            errors.append(f"{result.id} of {result.speakers}: {result.error.kind}: {result.error.message}")
    return summary.record(), sorted(errors)


def _ladder(run: EvaluationRun) -> Ladder | None:
    """The ladder of the dataset that is scored against, where it was made."""
    found = read_ladder(Store(run.options.outputs), f"evaluation/{LADDER}")
    return found if found is not None and found.dataset == run.desk.worlds.digest else None


def _conversations(run: EvaluationRun) -> Callable[[Result], ShownConversation | None]:
    """What the report asks for: the trajectory of a result, replayed once more."""
    jobs = {job.key: job for job in run.jobs}

    def conversation(result: Result) -> ShownConversation | None:
        job = jobs.get(key_of(result))
        return _conversation(run, job, result) if job is not None else None

    return conversation


def _conversation(run: EvaluationRun, job: EvaluationJob, result: Result) -> ShownConversation | None:
    """What the report shows of a trajectory; None where it cannot be replayed."""
    try:
        return conversation_of(run.desk.evaluator.scored(run.desk.recorded(job)), result)
    except (NotScoredError, UnreadableTrajectoryError):
        return None


def _tell_of_lines(run: EvaluationRun) -> None:
    if run.kept.keys:
        print(f"{len(run.kept.keys)} results were there already and hold")
    if run.kept.aside is not None:
        folder = shlex.quote(str(run.results.store.root))
        print(
            f"{run.kept.dropped} earlier results are of other trajectories, checks, settings or data; "
            f"as it was, the file is kept as {run.kept.aside} in {folder}"
        )
    if run.rollouts.replaced:
        print(f"{run.rollouts.replaced} lines have agent, user and id of a later line; of each the last counts")
    _tell(run, [str(line) for line in run.rollouts.bad])


def _tell(run: EvaluationRun, lines: list[str]) -> None:
    """Lines that name what could not be scored, the first of them where -v does not ask for all."""
    shown = lines if run.options.verbose else lines[:MOST_LINES]
    for line in shown:
        print(f"  {one_line(line)}")
    if len(lines) > len(shown):
        print(f"  and {len(lines) - len(shown)} more; -v tells all")


def _tell_of_check(name: str, summary: EvaluationSummary) -> None:
    """One check alone has a mean; rewards need all that a task's `reward_basis` names."""
    for one in summary.by_agent:
        found = one.checks.get(name)
        told = f"mean {found.mean:.3f} over {found.results} results" if found else "no result has it"
        print_line(f"{one.agent} with {one.user}: {name}: {told}")


def _tell_of_judge(run: EvaluationRun) -> None:
    if run.judge is None:
        return
    usage = run.judge.usage
    cost = "cost unknown: give llm.prices" if usage.cost_usd is None else f"{usage.cost_usd:.2f} USD"
    print(f"judged by {run.judge.name}: {usage.input_tokens:,} tokens in, {usage.output_tokens:,} out, {cost}")
    if run.judge_faults:
        print(f"{run.judge_faults} conversations got no usable judgement; run the same command again")


def _places(run: EvaluationRun) -> str:
    """The options that `show` needs to find the same."""
    options = run.options
    given = {"--rollouts-dir": options.rollouts, "--outputs-dir": options.outputs}
    usual = {"--rollouts-dir": "rollouts", "--outputs-dir": "outputs"}
    return "".join(f" {name} {shlex.quote(str(path))}" for name, path in given.items() if str(path) != usual[name])


BATCH = 32
"""Trajectories that a worker takes at a time."""


def run_evaluation(options: EvaluationOptions) -> int:
    """The exit status. Raises ConfigError, ArtifactError, ProviderError."""
    with open_run(options) as run:
        evaluate_owed(run)
        return publish(run)


def evaluate_owed(run: EvaluationRun) -> None:
    """Make every result that is owed; each is in the file when it is made."""
    owed = [job for job in run.jobs if job.key not in run.kept.keys]
    errors = 0
    with progress("trajectories", len(owed), quiet=run.options.quiet) as shown:
        for number, done in enumerate(_done(run, owed), start=1):
            run.results.append(done.line)
            errors += done.is_error
            shown.advance(number, f"{errors} not scored")


def _done(run: EvaluationRun, owed: list[EvaluationJob]) -> Iterator[FinishedJob]:
    """The results, in the order in which they are made."""
    batches = [owed[start : start + BATCH] for start in range(0, len(owed), BATCH)]
    workers = min(run.options.config.evaluation.max_workers, max(len(batches), 1))
    scored = evaluate_all(run.setup, batches, workers)
    if run.judge is None:
        yield from scored
        return
    with judge_queue(run.judge, run.desk) as stage:
        yield from stage.added(scored)
        run.judge_faults = stage.faults


FLIPS = "flips.jsonl"


def run_rescore(options: EvaluationOptions) -> int:
    """The exit status. Raises ConfigError, ArtifactError.

    New results are made in a file beside the old ones, which take their name when all are there.
    """
    if not options.output.is_file():
        raise ConfigError(
            f"there are no results at {str(options.output)!r} to compare with; score first: python -m evaluator run"
        )
    made = options.output.with_name(f"{options.output.stem}.rescored.jsonl")
    before = options.output.with_name(f"{options.output.stem}.before.jsonl")
    with open_run(replace(options, output_file=made)) as run:
        evaluate_owed(run)
        # Flips first: a rescoring that is stopped here finds the old results where they were.
        _write_flips(run.results, flips(ResultsFile(options.output), run.results))
        shutil.copyfile(options.output, before)
        made.replace(options.output)
        run.results = ResultsFile(options.output)
        status = publish(run)
        show_flips(flips(ResultsFile(before), run.results))
        print(f"wrote {FLIPS} in {run.results.store.root}; the results before are {before.name}")
    return status


def _write_flips(results: ResultsFile, found: Iterator[RescoredResult]) -> None:
    with results.store.replacing(FLIPS) as temporary, temporary.open("w", encoding="utf-8") as stream:
        stream.writelines(one.model_dump_json() + "\n" for one in found)
