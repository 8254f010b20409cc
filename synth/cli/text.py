"""Plain text for terminals and files: tables, labels of items, counts and times in words."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from synth.engine.step import ALL, JOIN, PipelineStep

NUMBER = re.compile(r"~?[$]?[\d,]+(\.\d+)?(e-\d+)?%?|-|unknown|")
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


def item_label(step: PipelineStep[Any], key: str) -> str:
    """`policies/DentalClinic`, `entities.json[DentalClinic]`: an item, named by the first artifact that it writes."""
    artifacts = step.join_writes if key == JOIN else step.writes
    if not artifacts:
        return key
    first = artifacts[0]
    if key in (ALL, JOIN):
        return first.pattern.replace("{key}", "*")
    if first.kind == "joined":
        return first.label(key)
    return first.path(key).rpartition(".")[0]


def duration(seconds: float) -> str:
    """A time in words: `4.2 s`, `14 min 5 s`, `2 h 3 min`."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
