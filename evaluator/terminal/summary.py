"""The summary of an evaluation on a terminal: each score beside its floors, then what went wrong.

`with errors` counts errors that are not the agent's as failures; `nothing/chance` are the floors.
"""

from collections.abc import Iterable, Mapping

from evaluator.terminal.tables import print_line, print_table
from skillweave.schema.evaluation import Estimate, EvaluationSummary, Group, Section

_FIGURES = ("tasks", "scored", "rate", "with errors", "reward", "nothing/chance", "pass^1", "pass^k")


def show(summary: EvaluationSummary) -> None:
    """Print the summary."""
    _print_counts(summary)
    _print_agents(summary)
    print_table("All", ("", *_FIGURES), _group_rows({"all": summary.overall}))
    for name, groups in summary.by.items():
        if len(groups) > 1:
            print_table(f"By {name}", (name, *_FIGURES), _group_rows(groups))
    failures = [(name, str(found.count), _percent(found.share)) for name, found in summary.failures.items()]
    print_table("Failures", ("class", "trials", "share"), failures)
    checks = [(name, f"{found.mean:.3f}", str(found.results)) for name, found in summary.checks.items()]
    print_table("Checks", ("check", "mean", "results"), checks)
    _print_notes(summary)


def _print_counts(summary: EvaluationSummary) -> None:
    lost = ", ".join(f"{count} {kind}" for kind, count in summary.not_scored.items())
    print_line(
        f"{summary.trajectories} trajectories, {summary.scored} scored"
        + (f", {_percent(summary.not_scored_share)} not scored: {lost}" if lost else "")
    )
    if summary.unreadable_lines:
        print_line(f"{summary.unreadable_lines} lines are no trajectories")
    if len(summary.checks_versions) > 1:
        print_line(f"scored by {len(summary.checks_versions)} versions of the checks: {_list(summary.checks_versions)}")


def _print_agents(summary: EvaluationSummary) -> None:
    sections: Mapping[str, Section] = summary.by_agent
    columns = ("agent", "not scored", *_FIGURES)
    rows = [
        (agent, _percent(section.not_scored_share), *_figures(section.overall)) for agent, section in sections.items()
    ]
    print_table("Agents", columns, rows)


def _group_rows(groups: Mapping[str, Group]) -> list[tuple[str, ...]]:
    return [(name, *_figures(group)) for name, group in groups.items()]


def _figures(group: Group) -> tuple[str, ...]:
    last = max(group.pass_hat_k, default=None)
    return (
        str(group.tasks),
        str(group.scored),
        _percent(group.rate),
        _percent(group.rate_errors_as_failures),
        _percent(group.mean_reward),
        f"{_percent(group.floors.nothing)}/{_percent(group.floors.random)}",
        _estimate(group.pass_hat_k.get(1)),
        f"k={last}: {_estimate(group.pass_hat_k[last])}" if last is not None and last > 1 else "",
    )


def _print_notes(summary: EvaluationSummary) -> None:
    print()
    faults, confirmation, replay = summary.user_faults, summary.confirmation, summary.replay
    if faults.faulty:
        print_line(
            f"the user made an error in {faults.faulty} of {faults.checked} results, "
            f"of which {faults.faulty_failed} failed"
        )
    if confirmation.unconfirmed:
        print_line(f"writes without the user's word in {confirmation.unconfirmed} of {confirmation.checked} results")
    if replay.differs:
        print_line(
            f"recorded results that the replay did not give: {replay.differs} of {replay.calls} calls, "
            f"in {replay.results_that_differ} results"
        )
    for speaker, spent in summary.spent.items():
        if spent.results:
            cost = "cost unknown" if spent.cost_usd is None else f"{spent.cost_usd:,.2f} USD"
            print_line(f"{speaker}: {spent.input_tokens:,} tokens in, {spent.output_tokens:,} out, {cost}")


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"


def _estimate(found: Estimate | None) -> str:
    return "" if found is None else f"{found.estimate:.1%} [{100 * found.low:.1f}, {100 * found.high:.1f}]"


def _list(names: Iterable[str]) -> str:
    return ", ".join(names)
