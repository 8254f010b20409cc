"""Calls and words as they stand in an explanation: one line, of bounded length, with nothing that a terminal obeys."""

import json

from evaluator.execution import Step
from skillweave.command import one_line
from skillweave.schema.call import ToolError
from skillweave.schema.record import Json

LONGEST = 400
"""Characters of what was expected, and of what came."""
LONGEST_CALL = 250
LONGEST_WORDS = 160
_TAKEN = 4_000
"""Characters that are looked at before a text is shortened; what is escaped grows."""


def call_text(tool: str, arguments: dict[str, Json]) -> str:
    """`tool(name="value", count=2)`."""
    given = ", ".join(f"{name}={_value(value)}" for name, value in arguments.items())
    return shortened(f"{tool}({given})", LONGEST_CALL)


def made_text(made: Step) -> str:
    """A call as it was made; if it failed, with why."""
    if made.is_malformed:
        return f"{shortened(made.tool, LONGEST_WORDS)}(unreadable arguments){error_text(made.result.error)}"
    return call_text(made.tool, made.arguments) + error_text(made.result.error)


def error_text(error: ToolError | None) -> str:
    """Why a call failed, to be put behind it."""
    return "" if error is None else shortened(f" -> {error.code}: {error.message}", LONGEST_WORDS)


def quoted(words: str) -> str:
    """Words of the agent, shortened, in quotation marks."""
    return f'"{shortened(words, LONGEST_WORDS)}"'


def shortened(text: str, longest: int) -> str:
    """The text on one line, cut where it is longer."""
    line = one_line(text[:_TAKEN])
    lead = " " if text.startswith(" ") else ""
    return lead + (line if len(line) <= longest - len(lead) else f"{line[: longest - len(lead) - 3]}...")


def _value(value: Json) -> str:
    return json.dumps(value[:_TAKEN] if isinstance(value, str) else value, ensure_ascii=False)
