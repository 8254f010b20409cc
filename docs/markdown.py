"""Markdown: the few forms that made pages are written in. Text from elsewhere is data: it never becomes markup."""

from collections.abc import Iterable, Sequence


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; bars and line ends in cells are escaped."""
    lines = [_row(header), "|" + " --- |" * len(header), *(_row(row) for row in rows)]
    return "\n".join(lines) + "\n"


def code(text: str) -> str:
    """A code span; empty for no text."""
    if not text:
        return ""
    fence = "``" if "`" in text else "`"
    inner = f" {text} " if "`" in text else text
    return f"{fence}{inner}{fence}"


def quoted(text: str) -> str:
    """A block quote of somebody's words."""
    return "\n".join(f"> {plain(line)}".rstrip() for line in text.splitlines() or [""]) + "\n"


def plain(text: str) -> str:
    """Words that hold no markup."""
    escaped = text.replace("&", "&amp;").replace("<", "&lt;")
    for sign in "\\`*_[]#":
        escaped = escaped.replace(sign, f"\\{sign}")
    return escaped


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"
