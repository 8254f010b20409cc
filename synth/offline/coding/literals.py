"""Python literals, calls and raised errors, as they are written in a server's source."""

import json
import textwrap
from collections.abc import Sequence

from synth.offline.coding.layout import lay_out
from synth.offline.coding.tokens import text_of, tokens_of

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


def call(opening: str, sql: str, arguments: Sequence[str], closing: str) -> list[str]:
    """A call whose first argument is a statement: `opening` statement, arguments `closing`."""
    flat = f"{opening}{', '.join([string(text_of(tokens_of(sql))), *arguments])}{closing}"
    if len(flat) <= WIDTH:
        return [flat]
    return [opening, *_statement(sql), *wrap(arguments), closing]


def _statement(sql: str) -> list[str]:
    line = f"    {string(text_of(tokens_of(sql)))},"
    if len(line) <= WIDTH:
        return [line]
    text = [f"    {part}" for part in lay_out(sql, WIDTH - 4)]
    escaped = [part.replace("\\", "\\\\").replace('"""', '\\"\\"\\"') for part in text]
    return ['    """', *escaped, '    """,']


def wrap(items: Sequence[str]) -> list[str]:
    """Arguments of a call that does not fit on one line, each on its own."""
    return [f"    {item}," for item in items]


def refusal(code: str, message: str, rule: str) -> list[str]:
    """The statement that refuses a call, inside an `if`."""
    flat = f"    raise Refused({string(code)}, {string(message)}, rule={string(rule)})"
    if len(flat) <= WIDTH:
        return [flat]
    lines = strings(message, WIDTH - 8)
    lines[-1] += ","
    return [
        "    raise Refused(",
        f"        {string(code)},",
        *(f"        {line}" for line in lines),
        f"        rule={string(rule)},",
        "    )",
    ]
