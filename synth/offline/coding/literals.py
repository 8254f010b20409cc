"""Python literals and calls, as they are written in a server's source."""

import json
from collections.abc import Mapping, Sequence

from synth.offline.coding.layout import lay_out
from synth.offline.coding.tokens import text_of, tokens_of

WIDTH = 116
"""Room for a line inside a function, which is indented by four."""


def string(text: str) -> str:
    """`text` as a string literal on one line, in double quotes."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\x7f")


def call(opening: str, sql: str, bound: Mapping[str, str], closing: str) -> list[str]:
    """A call whose first argument is a statement and whose others are its bindings: `opening`... `closing`."""
    arguments = [f"{name}={value}" for name, value in bound.items()]
    line = text_of(tokens_of(sql))
    flat = f"{opening}{', '.join([string(line), *arguments])}{closing}"
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
    """Arguments of a call that does not fit on one line: all on one line of their own, or each on its own."""
    if not items:
        return []
    together = f"    {', '.join(items)},"
    return [together] if len(together) <= WIDTH else [f"    {item}," for item in items]
