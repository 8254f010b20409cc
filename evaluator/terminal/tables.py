"""Tables for a terminal: of rich on one, plain columns elsewhere. What others wrote is shown as it is, on one line."""

import sys
from collections.abc import Sequence

from skillweave.command import one_line

LONGEST_CELL = 80
_GAP = "  "


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table; nothing where it has no rows. The first column is text, the others are set to the right."""
    if not rows:
        return
    columns, *cells = ([_cell(text) for text in row] for row in (columns, *rows))
    if sys.stdout.isatty():
        _print_rich(title, columns, cells)
    else:
        _print_plain(title, columns, cells)


def print_line(text: str) -> None:
    """Print a line, with nothing in it that a terminal obeys."""
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
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(title), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for place, column in enumerate(columns):
        table.add_column(Text(column), justify="right" if place else "left", overflow="fold")
    for row in cells:
        # Text is not read as markup, and not made into links or emoji.
        table.add_row(*map(Text, row))
    Console(highlight=False).print(table)
