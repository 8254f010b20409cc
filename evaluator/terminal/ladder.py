"""The ladder on a terminal: the share that each scripted agent passes, by kind."""

from evaluator.terminal.tables import print_line, print_table
from skillweave.schema.ladder import Ladder, Step


def show_ladder(ladder: Ladder) -> None:
    """Print it, and what of it is not as it must be."""
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


def _share(step: Step | None) -> str:
    return "-" if step is None or not step.tasks else f"{step.rate:.1%}"
