"""What the commands of `learn` will take, before anything is held. It writes nothing."""

from collections.abc import Sequence
from typing import NamedTuple

from evaluator.report.terminal import print_table
from rollout.cli.dry_run import describe_cost, describe_usage
from rollout.forecast import Forecast, TalkEstimate
from skillweave.base.command import one_line, repeat_line
from skillweave.llm.connections import key_note

HEADER = ("conversations", "items", "of each", "at most", "tokens", "cost")


class PlannedTalks(NamedTuple):
    """Conversations that a run may hold for one purpose."""

    what: str
    ids: Sequence[str]
    each: int
    """At most so many of each."""

    @property
    def most(self) -> int:
        """How many there are at most."""
        return len(self.ids) * self.each


def show_planned(
    forecast: Forecast, planned: Sequence[PlannedTalks], notes: Sequence[str], missing_keys: Sequence[str]
) -> None:
    """Print a line for each purpose, and what all would take.

    Args:
        forecast: Estimates the conversations.
        planned: What may be held.
        notes: Lines that say what is not in it.
        missing_keys: Environment variables that have to hold a key before the run.
    """
    rows: list[tuple[str, ...]] = []
    low, high = TalkEstimate(), TalkEstimate()
    for talks in planned:
        least, most = (TalkEstimate().plus(talk, talks.each) for talk in forecast.of(talks.ids))
        low, high = low.plus(least), high.plus(most)
        tokens = f"{most.total.tokens_in + most.total.tokens_out:,.0f}" if forecast.is_known else "unknown"
        counts = (f"{number:,}" for number in (len(talks.ids), talks.each, talks.most))
        rows.append((talks.what, *counts, tokens, describe_cost(forecast, least, most)))
    print_table("Conversations that would be held", HEADER, rows)
    for note in filter(None, (forecast.basis, *notes, key_note(missing_keys))):
        print(one_line(note))
    total = sum(talks.most for talks in planned)
    usage = one_line(f"in all at most {total:,} conversations, {describe_usage(forecast, low, high)}")
    print(f"{usage}; nothing was written; next: {repeat_line(without='--dry-run')}")
