"""A table of plain text, the same on a terminal and in a file."""

import re
from collections.abc import Sequence

NUMBER = re.compile(r"~?[$]?[\d,]+(\.\d+)?(e-\d+)?%?|-|unknown|")
"""What stands to the right, with what stands in a number's place."""


def show_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print it: the first column to the left, numbers to the right."""
    widths = [max(len(row[column]) for row in (header, *rows)) for column in range(len(header))]
    for row in (header, *rows):
        first, *others = (
            cell.ljust(width) if not column or not _is_number(rows, column) else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        print("  ".join((first, *others)).rstrip())


def _is_number(rows: Sequence[Sequence[str]], column: int) -> bool:
    return all(NUMBER.fullmatch(row[column]) for row in rows)
