"""The summary of an evaluation on a terminal: agent by agent, each score beside its floors, then what went wrong.

`with errors` counts errors that are not the agent's as failures; `nothing/chance` are the floors.
"""

from collections.abc import Mapping

from evaluator.terminal.tables import print_line, print_table
from skillweave.schema.evaluation import MOST_LEFT, AgentSummary, Estimate, EvaluationSummary, Group

_FIGURES = ("tasks", "scored", "rate", "with errors", "reward", "nothing/chance", "pass^1", "pass^k")


def show(summary: EvaluationSummary) -> None:
    """Print the summary."""
    if summary.unreadable_lines:
        print_line(f"{summary.unreadable_lines} lines are no trajectories")
    if len(summary.checks_versions) > 1:
        versions = ", ".join(summary.checks_versions)
        print_line(f"scored by {len(summary.checks_versions)} versions of the checks: {versions}")
    if not summary.by_agent:
        print_line("no trajectories")
    for found in summary.by_agent:
        _print_agent(found)
    if len(summary.by_agent) > 1:
        _print_agents(summary.by_agent)
    _print_users(summary.by_agent)


def _print_agent(found: AgentSummary) -> None:
    lost = ", ".join(f"{count} {kind}" for kind, count in found.not_scored.items())
    print_line(
        f"{_name(found)}: {found.trajectories} trajectories, {found.scored} scored"
        + (f", {_percent(found.not_scored_share)} not scored: {lost}" if lost else "")
    )
    print_table("All", ("", *_FIGURES), _group_rows({"all": found.overall}))
    for name, groups in found.by.items():
        if len(groups) > 1:
            print_table(f"By {name}", (name, *_FIGURES), _group_rows(groups))
    failures = [(name, str(one.count), _percent(one.share)) for name, one in found.failures.items()]
    print_table("Failures", ("class", "trials", "share"), failures)
    checks = [(name, f"{one.mean:.3f}", str(one.results)) for name, one in found.checks.items()]
    print_table("Checks", ("check", "mean", "results"), checks)
    _print_notes(found)
    print()


def _print_agents(agents: list[AgentSummary]) -> None:
    rows = [(_name(one), _percent(one.not_scored_share), *_figures(one.overall)) for one in agents]
    print_table("Agents", ("agent", "not scored", *_FIGURES), rows)
    kinds = list(dict.fromkeys(kind for one in agents for kind in one.by["kind"]))
    by_kind = [(_name(one), *(_rate(one.by["kind"].get(kind)) for kind in kinds)) for one in agents]
    print_table("Agents by kind: rate", ("agent", *kinds), by_kind)


def _print_users(agents: list[AgentSummary]) -> None:
    rows = [
        (
            one.user,
            one.agent,
            f"{user.lost} of {one.trajectories} ({_percent(user.lost_share)})",
            f"{user.left} of {user.checked} ({_percent(user.left_share)})",
            f"{user.faulty} of {user.checked}, {user.faulty_failed} failed",
        )
        for one in sorted(agents, key=lambda one: (one.user, one.agent))
        for user in [one.simulated_user]
    ]
    columns = ("user", "agent", "lost to the user", "user_left", "said what it cannot know")
    print_table("Simulated users", columns, rows)
    if rows:
        print_line("lost to the user: not scored, because the user's text could not be used")
        print_line(
            "user_left: the user left while a question was open, its request neither done, declined nor handed over"
        )
    for one in agents:
        if one.simulated_user.is_unreliable:
            print_line(
                f"WARNING: {one.user} left {_percent(one.simulated_user.left_share)} of its conversations with "
                f"{one.agent} early, more than {MOST_LEFT:.0%}: scores with this user are unreliable"
            )


def _name(found: AgentSummary) -> str:
    return f"{found.agent} with {found.user}"


def _rate(group: Group | None) -> str:
    return "-" if group is None else f"{_percent(group.rate)} of {group.scored}"


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


def _print_notes(found: AgentSummary) -> None:
    confirmation, replay = found.confirmation, found.replay
    if confirmation.unconfirmed:
        print_line(f"writes without the user's word in {confirmation.unconfirmed} of {confirmation.checked} results")
    if replay.differs:
        print_line(
            f"recorded results that the replay did not give: {replay.differs} of {replay.calls} calls, "
            f"in {replay.results_that_differ} results"
        )
    for speaker, spent in found.spent.items():
        if spent.results:
            cost = "cost unknown" if spent.cost_usd is None else f"{spent.cost_usd:,.2f} USD"
            print_line(f"{speaker}: {spent.input_tokens:,} tokens in, {spent.output_tokens:,} out, {cost}")


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"


def _estimate(found: Estimate | None) -> str:
    return "" if found is None else f"{found.estimate:.1%} [{100 * found.low:.1f}, {100 * found.high:.1f}]"
