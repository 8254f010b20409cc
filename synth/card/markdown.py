"""The little Markdown that a card needs."""

import re
from collections.abc import Iterable, Sequence

_SPECIAL = re.compile(r"([\\`*{}\[\]<>|]|(?<!\w)_|_(?!\w))")


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """A table; nothing where it has no rows. Numbers, and all but the first column, are set to the right."""
    cells = [[text(cell) for cell in row] for row in rows]
    if not cells:
        return []
    rules = ["---", *["---:"] * (len(columns) - 1)]
    return [*(f"| {' | '.join(row)} |" for row in [list(columns), rules, *cells]), ""]


def text(value: object) -> str:
    """A value as it is read, on one line; nothing in it is markup."""
    if value is None:
        return "-"
    if isinstance(value, int):
        return f"{value:,}"
    return _SPECIAL.sub(r"\\\1", " ".join(str(value).split()))


def share(part: int, whole: int) -> str:
    """A part of a whole in per cent."""
    return f"{100 * part / whole:.1f} %" if whole else "-"
