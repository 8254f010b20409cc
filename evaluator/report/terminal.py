"""Terminal output: tables, the summary of an evaluation, and the ladder.

On a terminal, rich draws tables and colours; elsewhere the output is plain columns and lines. Foreign text loses its
control characters.
"""

import sys
from collections.abc import Mapping, Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from evaluator.report.summary import side_by_side
from skillweave.base.command import one_line, percent
from skillweave.schema.evaluation import (
    MAX_LEFT_SHARE,
    AgentSummary,
    Estimate,
    EvaluationSummary,
    Ladder,
    PassCount,
    TrialGroup,
)
from skillweave.schema.result import FAILURE_CLASSES
from skillweave.schema.trajectory import RETRIED_ERRORS
from skillweave.text_calls import NO_PARSER

LONGEST_CELL = 80
_GAP = "  "
_FIGURES = ("tasks", "scored", "rate", "with errors", "reward", "nothing/chance", "pass^1", "pass^k")


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table, if it has rows. The first column is aligned left, the others right."""
    if not rows:
        return
    title = one_line(title)
    columns, *cells = ([_cell(text) for text in row] for row in (columns, *rows))
    if sys.stdout.isatty():
        _print_rich(title, columns, cells)
    else:
        _print_plain(title, columns, cells)


def print_line(text: str) -> None:
    """Print a line without control characters."""
    print(one_line(text))


def _cell(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= LONGEST_CELL else line[: LONGEST_CELL - 3] + "..."


def _print_plain(title: str, columns: Sequence[str], cells: Sequence[Sequence[str]]) -> None:
    lines = [columns, *cells]
    widths = [max(len(line[at]) for line in lines) for at in range(len(columns))]
    print(f"\n{title}")
    for line in lines:
        rest = (text.rjust(width) for text, width in zip(line[1:], widths[1:], strict=True))
        print(_GAP.join([line[0].ljust(widths[0]), *rest]).rstrip())


def _print_rich(title: str, columns: Sequence[str], cells: Sequence[Sequence[str]]) -> None:
    table = Table(title=Text(title), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for place, column in enumerate(columns):
        table.add_column(Text(column), justify="right" if place else "left", overflow="fold")
    for row in cells:
        # Do not treat text as markup, and do not turn it into links or emoji.
        table.add_row(*map(Text, row))
    Console(highlight=False).print(table)


def show_summary(summary: EvaluationSummary, *, is_whole: bool = True) -> None:
    """Print the verdict on each agent in a line, then how they failed; with `is_whole` all tables too."""
    for agent in summary.by_agent:
        print_line(verdict(agent))
    if not summary.by_agent:
        print_line("no trajectories")
    if summary.unreadable_lines:
        print_line(f"{summary.unreadable_lines} lines are no trajectories")
    if len(summary.checks_versions) > 1:
        versions = ", ".join(summary.checks_versions)
        print_line(f"scored by {len(summary.checks_versions)} versions of the checks: {versions}")
    if is_whole:
        for agent in summary.by_agent:
            _print_agent(agent)
        if len(summary.by_agent) > 1:
            _print_agents(summary.by_agent)
        _print_users(summary.by_agent)
    else:
        _print_failures(summary.by_agent)
    for agent in summary.by_agent:
        if agent.calls_as_text is not None:
            print_line(f"WARNING: {agent.calls_as_text.calls} of {agent.calls_as_text.replies} {NO_PARSER}")
        if agent.simulated_user.is_unreliable:
            print_line(
                f"WARNING: {agent.user} left {_percent(agent.simulated_user.left_share)} of its conversations with "
                f"{agent.agent} early, more than {MAX_LEFT_SHARE:.0%}: scores with this user are unreliable"
            )


def verdict(agent: AgentSummary) -> str:
    """What came of an agent's trajectories, in a line: how many passed of how many scored, and what is not scored.

    Only what the next rollout run repeats is owed: nobody repeats a line that cannot be read.
    """
    all, one = agent.overall, agent.overall.pass_at_k.get(1)
    repeated: tuple[str, ...] = RETRIED_ERRORS
    owed = {kind: count for kind, count in agent.not_scored.items() if kind in repeated}
    others = {kind: count for kind, count in agent.not_scored.items() if kind not in repeated}
    rate = f"{all.passed} of {all.scored} scored passed"
    if one is not None:
        rate += f", pass@1 {_estimate(one)}"
    rest = _counts(owed, "owed") if owed else "none owed"
    return f"{_name(agent)}: {rate}; {rest}" + (f"; {_counts(others, 'not scored')}" if others else "")


def _counts(kinds: Mapping[str, int], what: str) -> str:
    return f"{sum(kinds.values())} {what}: {', '.join(f'{count} {kind}' for kind, count in kinds.items())}"


def _print_failures(agents: Sequence[AgentSummary]) -> None:
    """One table of how the agents failed, a column for each."""
    found = {name for agent in agents for name in agent.failures}
    classes = [*(name for name in FAILURE_CLASSES if name in found), *sorted(found - {*FAILURE_CLASSES})]
    counts = [(name, *(_failed(agent, name) for agent in agents)) for name in classes]
    names = [_name(agent) for agent in agents] if len(agents) > 1 else ["trials"]
    print_table("Failures", ("class", *names), counts)


def _failed(agent: AgentSummary, name: str) -> str:
    entry = agent.failures.get(name)
    return "-" if entry is None else f"{entry.count} ({_percent(entry.share)})"


def _print_agent(agent: AgentSummary) -> None:
    print_table(_name(agent), ("", *_FIGURES), _group_rows({"all": agent.overall}))
    for name, groups in agent.by.items():
        if len(groups) > 1:
            print_table(f"By {name}", (name, *_FIGURES), _group_rows(groups))
    failures = [(name, str(entry.count), _percent(entry.share)) for name, entry in agent.failures.items()]
    print_table("Failures", ("class", "trials", "share"), failures)
    checks = [(name, f"{entry.mean:.3f}", str(entry.results)) for name, entry in agent.checks.items()]
    print_table("Checks", ("check", "mean", "results"), checks)
    _print_notes(agent)
    print()


def _print_agents(agents: list[AgentSummary]) -> None:
    rows = [(_name(agent), _percent(agent.not_scored_share), *_figures(agent.overall)) for agent in agents]
    print_table("Agents", ("agent", "not scored", *_FIGURES), rows)
    for trait, values in side_by_side(agents).items():
        by_value = [
            (_name(agent), *(_rate(agent.by.get(trait, {}).get(value)) for value in values)) for agent in agents
        ]
        print_table(f"Agents by {trait}: rate", ("agent", *values), by_value)


def _print_users(agents: list[AgentSummary]) -> None:
    rows = [
        (
            agent.user,
            agent.agent,
            f"{user.lost} of {agent.trajectories} ({_percent(user.lost_share)})",
            f"{user.left} of {user.checked} ({_percent(user.left_share)})",
            f"{user.faulty} of {user.checked}, {user.faulty_failed} failed",
        )
        for agent in sorted(agents, key=lambda agent: (agent.user, agent.agent))
        for user in [agent.simulated_user]
    ]
    columns = ("user", "agent", "lost to the user", "user_left", "said what it cannot know")
    print_table("Simulated users", columns, rows)
    if rows:
        print_line("lost to the user: not scored, because the user's text could not be used")
        print_line(
            "user_left: the user left while a question was open, its request neither done, declined nor handed over, "
            "or without a word of what it wanted later"
        )


def _name(agent: AgentSummary) -> str:
    return f"{agent.agent} with {agent.user}"


def _rate(group: TrialGroup | None) -> str:
    return "-" if group is None else f"{_percent(group.rate)} of {group.scored}"


def _group_rows(groups: Mapping[str, TrialGroup]) -> list[tuple[str, ...]]:
    return [(name, *_figures(group)) for name, group in groups.items()]


def _figures(group: TrialGroup) -> tuple[str, ...]:
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


def _print_notes(agent: AgentSummary) -> None:
    confirmation, replay = agent.confirmation, agent.replay
    if confirmation.unconfirmed:
        print_line(f"writes without the user's word in {confirmation.unconfirmed} of {confirmation.checked} results")
    if replay.differs:
        print_line(
            f"recorded results that the replay did not give: {replay.differs} of {replay.calls} calls, "
            f"in {replay.results_that_differ} results"
        )
    for speaker, spent in agent.spent.items():
        if spent.results:
            cost = "cost unknown" if spent.cost_usd is None else f"{spent.cost_usd:,.2f} USD"
            print_line(f"{speaker}: {spent.input_tokens:,} tokens in, {spent.output_tokens:,} out, {cost}")


def _percent(share: float | None) -> str:
    return "-" if share is None else percent(share)


def _estimate(estimate: Estimate | None) -> str:
    return "" if estimate is None else f"{estimate.estimate:.1%} [{100 * estimate.low:.1f}, {100 * estimate.high:.1f}]"


def show_ladder(ladder: Ladder) -> None:
    """Print the ladder and its faults."""
    kinds = sorted({kind for rung in ladder.rungs for kind in rung.by_kind})
    rows = [
        (rung.agent, _share(rung.overall), *(_share(rung.by_kind.get(kind)) for kind in kinds), f"{rung.reward:.3f}")
        for rung in ladder.rungs
    ]
    named = [
        f"{kind} ({max(rung.by_kind[kind].tasks for rung in ladder.rungs if kind in rung.by_kind)})" for kind in kinds
    ]
    print_table(f"Scripted agents, {ladder.tasks} tasks", ("agent", "all", *named, "reward"), rows)
    for line in ladder.wrong:
        print_line(line)


def _share(step: PassCount | None) -> str:
    return "-" if step is None or not step.tasks else percent(step.rate)
