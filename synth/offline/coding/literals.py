"""Calls and raised errors, as they are written in a server's source."""

from collections.abc import Sequence

from synth.codegen.literals import WIDTH, string, strings
from synth.offline.coding.layout import lay_out
from synth.offline.coding.tokens import text_of, tokens_of


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
