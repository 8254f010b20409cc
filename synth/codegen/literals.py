"""Texts as Python literals, as they are written in a server's source."""

import json
import textwrap

WIDTH = 116
"""Room for a line inside a function, which is indented by four."""


def string(text: str) -> str:
    """`text` as a string literal on one line, in double quotes."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\x7f")


def strings(text: str, width: int) -> list[str]:
    """`text` as string literals that Python joins, each on a line of its own."""
    if len(string(text)) < width:
        return [string(text)]
    pieces = textwrap.wrap(text, width - 8, drop_whitespace=False, break_on_hyphens=False, break_long_words=False)
    whole = "".join(pieces) == text and all(json.dumps(piece)[1:-1].isprintable() for piece in pieces)
    return [string(piece) for piece in pieces] if whole and len(pieces) > 1 else [string(text)]
