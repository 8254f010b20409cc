"""What commands print: tables and times, and in words what questions took, by step, question and author.

While a run goes on, the ledger of its process also knows questions that are under way. Items that ran in another
process are known by their records.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from skillweave.base.manifest import ItemRecord
from skillweave.llm.ledger import CHARACTERS_PER_TOKEN, Ledger, cost_in_words
from skillweave.schema.reports import QuestionMetrics, total_metrics

NUMBER = re.compile(r"~?[$]?[\d,]+(\.\d+)?%?|-|unknown|")
"""Cells that are set to the right: numbers, and words in the place of one."""


def table_lines(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """The lines of a table. The first column is set to the left, columns of numbers to the right."""
    widths = [max(len(row[column]) for row in (header, *rows)) for column in range(len(header))]
    for row in (header, *rows):
        first, *others = (
            cell.ljust(width) if not column or not _is_number(rows, column) else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join((first, *others)).rstrip()


def show_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table."""
    for line in table_lines(header, rows):
        print(line)


def _is_number(rows: Sequence[Sequence[str]], column: int) -> bool:
    return all(NUMBER.fullmatch(row[column]) for row in rows)


def duration(seconds: float) -> str:
    """A time in words: `4.2 s`, `14 min 5 s`, `2 h 3 min`."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


OFFLINE_PREFIX = "offline/"
"""What the names of authors begin with that are no models. They take no tokens and cost nothing."""
QUESTION_HEADER = (
    "question",
    "author",
    "asked",
    "accepted first",
    "repaired",
    "given up",
    "tokens",
    "cost",
    "complaints",
)


class QuestionUsage:
    """What questions took in a run, while it goes on."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._settled: dict[str, list[QuestionMetrics]] = {}

    def add(self, record: ItemRecord) -> None:
        """Count an item that was done, in this process or another."""
        if record.askings:
            self._settled.setdefault(record.step, []).extend(record.askings)

    def of(self, step: str) -> QuestionMetrics:
        """What the items of a step took."""
        return total_metrics(self._ledger.askings(step) or self._settled.get(step, []))

    def askings(self) -> list[QuestionMetrics]:
        """One entry for each question and author, sorted."""
        return self._ledger.askings() or by_question(asking for step in self._settled.values() for asking in step)

    def total(self) -> QuestionMetrics:
        """What all steps took."""
        return total_metrics(self.askings())


def of_records(records: Iterable[ItemRecord]) -> list[QuestionMetrics]:
    """What items asked: one entry for each question and author, sorted."""
    return by_question(asking for record in records for asking in record.askings)


def by_question(askings: Iterable[QuestionMetrics]) -> list[QuestionMetrics]:
    """The sum for each question and author, sorted."""
    groups: dict[tuple[str, str], list[QuestionMetrics]] = {}
    for asking in askings:
        groups.setdefault((asking.question, asking.author), []).append(asking)
    return [total_metrics(group, question=name[0], author=name[1]) for name, group in sorted(groups.items())]


def are_all_offline(askings: Iterable[QuestionMetrics]) -> bool:
    """Whether no model answered or was asked."""
    return all(asking.author.startswith(OFFLINE_PREFIX) for asking in askings)


def tokens_of(asking: QuestionMetrics) -> int:
    """The tokens of prompts and answers that endpoints reported."""
    return asking.input_tokens + asking.output_tokens


def tokens_in_words(asking: QuestionMetrics) -> str:
    """The tokens of one question and author: `1,234`; `~1,200` if its endpoint reported none; `0` offline."""
    reported = tokens_of(asking)
    if reported or asking.author.startswith(OFFLINE_PREFIX):
        return f"{reported:,}"
    return f"~{(asking.prompt_chars + asking.reply_chars) / CHARACTERS_PER_TOKEN:,.0f}"


def cost_of(asking: QuestionMetrics) -> str:
    """The cost in words, and the most that requests without a reply may have cost beside it."""
    lost = f", at most {cost_in_words(asking.lost_usd, 0)} lost" if asking.lost_usd else ""
    return cost_in_words(asking.cost_usd, asking.unpriced) + lost


def usage_note(asking: QuestionMetrics) -> str:
    """`12,345 tokens, $0.12`; empty if no model was asked."""
    was_model_asked = tokens_of(asking) or asking.requests or asking.cost_usd or asking.unpriced
    return f"{tokens_of(asking):,} tokens, {cost_of(asking)}" if was_model_asked else ""


def show_questions(askings: Iterable[QuestionMetrics]) -> None:
    """Print a row for each question and author."""
    show_table(QUESTION_HEADER, [_row(asking) for asking in askings])


def _row(asking: QuestionMetrics) -> list[str]:
    complaints = [f"{count} {kind}" for kind, count in asking.complaints.items()]
    cached = [f"{asking.kept:,} replies from the cache"] if asking.kept else []
    return [
        asking.question,
        asking.author,
        f"{asking.asked:,}",
        f"{asking.first_try:,}",
        f"{asking.repaired:,}",
        f"{asking.rejected:,}",
        tokens_in_words(asking),
        cost_of(asking),
        ", ".join([*complaints, *cached]) or "-",
    ]
