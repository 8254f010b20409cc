"""`run` and `rescore`: evaluate what is owed, append each result, then write and print the summary and the report."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from evaluator.cli.options import EvaluationOptions, show_line
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
from skillweave.base.command import command_line, one_line, repeat_line, shell_word
from skillweave.base.errors import ConfigError
from skillweave.base.progress import progress
from skillweave.base.store import CACHE, Store, digest_json, locked
from skillweave.schema.evaluation import EvaluationSummary, Ladder
from skillweave.schema.result import RescoredResult, Result
from skillweave.workers import opened_workers, require_runner

SUMMARY = "summary.json"
REPORT = "report.html"
MOST_LINES = 5
"""Lines printed without -v."""
BATCH = 32
"""Trajectories in one batch of a worker."""
FLIPS = "flips.jsonl"


@dataclass
class EvaluationRun:
    """An evaluation under way: its inputs, and the earlier results that still hold."""

    options: EvaluationOptions
    setup: EvaluationSetup
    evaluator: DatasetEvaluator
    rollouts: RolloutIndex
    results: ResultsFile
    jobs: list[EvaluationJob]
    """All trajectories, by task."""
    kept: KeptResults
    judge: Judge | None
    judge_faults: int = 0
    """Conversations for which the judge gave no usable answer."""


def run_evaluation(options: EvaluationOptions) -> int:
    """Evaluate what is owed, then summarise. Returns the exit status. Raises ConfigError, ArtifactError,
    ProviderError."""
    with open_run(options) as run:
        evaluate_owed(run)
        return publish(run)


def run_rescore(options: EvaluationOptions) -> int:
    """Score old rollouts again and list the results that flipped. Returns the exit status.

    New results are written to a file of their own, which replaces the old one when it is complete.

    Raises:
        ConfigError: There are no earlier results, or an option does not fit.
        ArtifactError: The dataset or the rollouts cannot be read.
    """
    if not options.output.is_file():
        raise ConfigError(
            f"there are no results at {str(options.output)!r} to compare with; score first: "
            + command_line("evaluator", "run", "--rollouts-dir", options.rollouts, "--outputs-dir", options.outputs)
        )
    rescored = options.output.with_name(f"{options.output.stem}.rescored.jsonl")
    before = options.output.with_name(f"{options.output.stem}.before.jsonl")
    with open_run(replace(options, output_file=rescored)) as run:
        evaluate_owed(run)
        # Flips come first: if the command is stopped here, the old results are still in place.
        _write_flips(run.results, flips(ResultsFile(options.output), run.results))
        shutil.copyfile(options.output, before)
        rescored.replace(options.output)
        run.results = ResultsFile(options.output)
        status = publish(run)
        show_flips(flips(ResultsFile(before), run.results))
        print(f"which flipped: {FLIPS} in {shell_word(run.results.store.root)}; the results before: {before.name}")
    return status


def _write_flips(results: ResultsFile, mean: Iterator[RescoredResult]) -> None:
    with results.store.replacing(FLIPS) as temporary, temporary.open("w", encoding="utf-8") as stream:
        stream.writelines(agent.model_dump_json() + "\n" for agent in mean)


@contextmanager
def open_run(options: EvaluationOptions) -> Iterator[EvaluationRun]:
    """Open everything that an evaluation needs, under the lock on the results folder.

    Raises:
        ConfigError: An option does not fit.
        ArtifactError: The dataset or the rollouts cannot be read.
    """
    options.load_plugins()
    require_runner(options.execution)
    if not options.quiet:
        print(one_line(f"reading the trajectories in {options.rollouts}"), flush=True)
    rollouts = find_rollouts(options.rollouts)
    results = ResultsFile(options.output)
    if any(path.resolve() == results.path.resolve() for path in rollouts.files):
        raise ConfigError(f"--output {str(results.path)!r} is one of the rollouts; give another file")
    results.store.refuse_other_than_folder()
    results.store.prepare()
    with locked(results.store):
        results.store.clean()
        setup = options.setup(checks_version(options.settings, results.store.root / CACHE / "code.json"))
        evaluator = DatasetEvaluator(setup)
        judge = _judge(options, evaluator, results)
        jobs = _jobs(rollouts, [evaluator.fingerprint, *([judge.name, judge.version] if judge else [])])
        kept = results.keep({job.key: job.digest for job in jobs}, anew=not options.cache)
        yield EvaluationRun(options, setup, evaluator, rollouts, results, jobs, kept, judge)


def _jobs(rollouts: RolloutIndex, follows_from: list[str]) -> list[EvaluationJob]:
    """A job for each trajectory; the trials of a task stand side by side."""
    return [
        EvaluationJob(key, rollouts.files[place.file], place, digest_json([*follows_from, place.digest.hex()]))
        for key, place in sorted(rollouts.places.items(), key=lambda item: (item[1].task_id, item[0]))
    ]


def _judge(options: EvaluationOptions, evaluator: DatasetEvaluator, results: ResultsFile) -> Judge | None:
    """The judge; None where no check needs one. Raises ConfigError."""
    if not options.judged and (options.check is not None or not evaluator.asks_for_rubric()):
        return None
    return Judge(options.config, checks=options.judged, folder=results.store.root)


def evaluate_owed(run: EvaluationRun) -> None:
    """Make every result that is owed. Each is written as soon as it is made."""
    owed = [job for job in run.jobs if job.key not in run.kept.keys]
    errors = 0
    with progress("trajectories", len(owed), quiet=run.options.quiet) as bar:
        for number, finished in enumerate(_finished_jobs(run, owed), start=1):
            run.results.append(finished.line)
            errors += finished.is_error
            bar.advance(number, f"{errors} not scored")


def _finished_jobs(run: EvaluationRun, owed: list[EvaluationJob]) -> Iterator[FinishedJob]:
    """The results, in the order in which they are finished."""
    batches = [owed[start : start + BATCH] for start in range(0, len(owed), BATCH)]
    if not batches:
        return
    execution = run.options.execution
    with opened_workers(execution) as workers:
        scored = evaluate_all(run.setup, batches, workers, min(execution.workers, len(batches)))
        if run.judge is None:
            yield from scored
            return
        with judge_queue(run.judge, run.evaluator) as stage:
            yield from stage.added(scored)
            run.judge_faults = stage.faults


def publish(run: EvaluationRun) -> int:
    """Write the summary and the report, and print them.

    Returns:
        The exit status: 1 where a line could not be scored.
    """
    summary, errors, telling = _summary(run)
    ladder = _ladder(run)
    run.options.remember(run.results.store)
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
        _print_check(run.options.check, summary)
    elif not run.options.quiet:
        show_summary(summary, is_whole=run.options.verbose)
        if ladder is not None and run.options.verbose:
            show_ladder(ladder)
    _print_lines(run)
    _print_some(run, errors)
    _print_judge(run)
    lost = len(run.jobs) - sum(agent.trajectories for agent in summary.by_agent)
    if lost:
        print(f"{lost} results are gone: something else changed the file meanwhile; to make them: {repeat_line()}")
    folder = run.results.store.root
    if not run.options.quiet:
        more = "" if run.options.verbose or run.options.check is not None else "-v, "
        print(f"by world, kind, form, level and persona: {more}{SUMMARY} and {REPORT} in {shell_word(folder)}")
    following = show_line(telling, run.options.places) if telling is not None else repeat_line()
    print(f"wrote {shell_word(run.results.path)}; next: {following}")
    return 1 if errors or lost or run.rollouts.bad or run.judge_faults else 0


def _summary(run: EvaluationRun) -> tuple[EvaluationSummary, list[str], str | None]:
    """The summary, a line for each result that could not be scored, and the scored trajectory that tells most: the
    first that failed, else the first of all; None if none was scored."""
    summary = SummaryBuilder(
        run.evaluator.worlds.digest, seed=run.options.config.seed, unreadable=len(run.rollouts.bad)
    )
    errors: list[str] = []
    scored: list[tuple[bool, str]] = []
    for result in run.results:
        summary.add(result)
        if result.error is None:
            scored = [min([*scored, (result.passed is not False, result.id)])]
        if result.error is not None:
            errors.append(f"{result.id} of {result.speakers}: {result.error.kind}: {result.error.message}")
    return summary.record(), sorted(errors), scored[0][1] if scored else None


def _ladder(run: EvaluationRun) -> Ladder | None:
    """The ladder of this very dataset; None where `rollout ladder` has not made it."""
    mean = read_ladder(Store(run.options.outputs), f"evaluation/{LADDER}")
    return mean if mean is not None and mean.dataset == run.evaluator.worlds.digest else None


def _conversations(run: EvaluationRun) -> Callable[[Result], ShownConversation | None]:
    """A function that replays the trajectory of a result for the report."""
    jobs = {job.key: job for job in run.jobs}

    def conversation(result: Result) -> ShownConversation | None:
        job = jobs.get(key_of(result))
        return _conversation(run, job, result) if job is not None else None

    return conversation


def _conversation(run: EvaluationRun, job: EvaluationJob, result: Result) -> ShownConversation | None:
    """A trajectory as the report shows it; None where it cannot be replayed."""
    try:
        return conversation_of(run.evaluator.scored(job), result)
    except (NotScoredError, UnreadableTrajectoryError):
        return None


def _print_lines(run: EvaluationRun) -> None:
    if run.kept.keys:
        print(f"{len(run.kept.keys)} results were there already and hold")
    if run.kept.aside is not None:
        folder = shell_word(run.results.store.root)
        print(
            f"{run.kept.dropped} earlier results are of other trajectories, checks, settings or data; "
            f"as it was, the file is kept as {run.kept.aside} in {folder}"
        )
    if run.rollouts.replaced:
        print(f"{run.rollouts.replaced} lines have agent, user and id of a later line; of each the last counts")
    _print_some(run, [str(line) for line in run.rollouts.bad])


def _print_some(run: EvaluationRun, lines: list[str]) -> None:
    """Print lines: all with -v, else the first."""
    bar = lines if run.options.verbose else lines[:MOST_LINES]
    for line in bar:
        print(f"  {one_line(line)}")
    if len(lines) > len(bar):
        print(f"  and {len(lines) - len(bar)} more; -v tells all")


def _print_check(name: str, summary: EvaluationSummary) -> None:
    """Print the mean of a single check. There is no reward: it needs all checks of a task's `reward_basis`."""
    for agent in summary.by_agent:
        mean = agent.checks.get(name)
        told = f"mean {mean.mean:.3f} over {mean.results} results" if mean else "no result has it"
        print_line(f"{agent.agent} with {agent.user}: {name}: {told}")


def _print_judge(run: EvaluationRun) -> None:
    if run.judge is None:
        return
    usage = run.judge.usage
    cost = "cost unknown: give llm.prices" if usage.cost_usd is None else f"{usage.cost_usd:.2f} USD"
    print(f"judged by {run.judge.name}: {usage.input_tokens:,} tokens in, {usage.output_tokens:,} out, {cost}")
    if run.judge_faults:
        print(f"{run.judge_faults} conversations got no usable judgement; to ask again: {repeat_line()}")
