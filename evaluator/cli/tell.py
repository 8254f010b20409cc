"""What an evaluation came to: the summary and the report, written and told; the last line says what to do next."""

import shlex
from collections.abc import Callable

from evaluator.cli.begin import Run
from evaluator.desk import Job
from evaluator.evaluate import NotScoredError
from evaluator.ladder import LADDER, read_ladder
from evaluator.recorded import UnreadableError
from evaluator.report.conversation import Conversation, conversation_of
from evaluator.report.page import write_report
from evaluator.results import key_of
from evaluator.summary import Summary
from evaluator.terminal.ladder import show_ladder
from evaluator.terminal.summary import show
from evaluator.terminal.tables import print_line
from skillweave.command import one_line
from skillweave.schema.evaluation import EvaluationSummary
from skillweave.schema.ladder import Ladder
from skillweave.schema.result import Result
from skillweave.store import Store

SUMMARY = "summary.json"
REPORT = "report.html"
MOST = 5
"""Lines that are told where -v does not ask for all."""


def tell(run: Run) -> int:
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
        show(summary)
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


def _summed_up(run: Run) -> tuple[EvaluationSummary, list[str]]:
    """The summary, and what could not be scored, each in a line."""
    summary = Summary(run.desk.worlds.digest, seed=run.options.config.seed, unreadable=len(run.rollouts.bad))
    errors: list[str] = []
    for result in run.results:
        summary.add(result)
        if result.error is not None:
            errors.append(f"{result.id} of {result.speakers}: {result.error.kind}: {result.error.message}")
    return summary.record(), sorted(errors)


def _ladder(run: Run) -> Ladder | None:
    """The ladder of the dataset that is scored against, where it was made."""
    found = read_ladder(Store(run.options.outputs), f"evaluation/{LADDER}")
    return found if found is not None and found.dataset == run.desk.worlds.digest else None


def _conversations(run: Run) -> Callable[[Result], Conversation | None]:
    """What the report asks for: the trajectory of a result, replayed once more."""
    jobs = {job.key: job for job in run.jobs}

    def conversation(result: Result) -> Conversation | None:
        job = jobs.get(key_of(result))
        return _conversation(run, job, result) if job is not None else None

    return conversation


def _conversation(run: Run, job: Job, result: Result) -> Conversation | None:
    """What the report shows of a trajectory; None where it cannot be replayed."""
    try:
        return conversation_of(run.desk.evaluator.scored(run.desk.recorded(job)), result)
    except (NotScoredError, UnreadableError):
        return None


def _tell_of_lines(run: Run) -> None:
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


def _tell(run: Run, lines: list[str]) -> None:
    """Lines that name what could not be scored, the first of them where -v does not ask for all."""
    shown = lines if run.options.verbose else lines[:MOST]
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


def _tell_of_judge(run: Run) -> None:
    if run.judge is None:
        return
    usage = run.judge.usage
    cost = "cost unknown: give llm.prices" if usage.cost_usd is None else f"{usage.cost_usd:.2f} USD"
    print(f"judged by {run.judge.name}: {usage.input_tokens:,} tokens in, {usage.output_tokens:,} out, {cost}")
    if run.judge_faults:
        print(f"{run.judge_faults} conversations got no usable judgement; run the same command again")


def _places(run: Run) -> str:
    """The options that `show` needs to find the same."""
    options = run.options
    given = {"--rollouts-dir": options.rollouts, "--outputs-dir": options.outputs}
    usual = {"--rollouts-dir": "rollouts", "--outputs-dir": "outputs"}
    return "".join(f" {name} {shlex.quote(str(path))}" for name, path in given.items() if str(path) != usual[name])
