"""How questions went with their authors, as a table."""

from collections.abc import Sequence

from skillweave.schema.asking import Asking
from synth.cli.spent import cost_of, tokens_in_words
from synth.cli.table import show_table

HEADER = ("question", "author", "asked", "accepted first", "repaired", "given up", "tokens", "cost", "complaints")
OFFLINE = "offline/"


def show_questions(askings: Sequence[Asking]) -> None:
    """Print a row for each question and author."""
    show_table(HEADER, [_row(asking) for asking in askings])


def are_all_offline(askings: Sequence[Asking]) -> bool:
    """Whether no model had a part in it."""
    return all(asking.author.startswith(OFFLINE) for asking in askings)


def _row(asking: Asking) -> list[str]:
    complaints = [f"{count} {kind}" for kind, count in asking.complaints.items()]
    kept = [f"{asking.kept:,} replies from the cache"] if asking.kept else []
    return [
        asking.question,
        asking.author,
        f"{asking.asked:,}",
        f"{asking.first_try:,}",
        f"{asking.repaired:,}",
        f"{asking.rejected:,}",
        tokens_in_words(asking),
        cost_of(asking),
        ", ".join([*complaints, *kept]) or "-",
    ]
