"""Continue an answer that was cut off at the token limit: ask for the rest, and put the parts together.

The rest is asked for in words, since most models do not go on from an assistant's message that stands last; and without
a schema, since decoding by one would begin the answer anew.
"""

import json
import re
from collections.abc import Awaitable, Callable
from dataclasses import replace

from skillweave.llm.request import Reply, Request
from skillweave.schema.message import Message

GO_ON = (
    "Your answer was cut off at the token limit. Go on exactly where it stopped, with the very next character. Repeat "
    "nothing, add no preface, and open no new code block. Its last characters were:\n\n{tail}"
)
TAIL = 200
"""Characters of its end that the author is shown."""
LEAST_OVERLAP = 12
"""So many characters that the rest repeats are taken for a repetition; fewer may be meant."""
MOST_OVERLAP = 2000
OPENING = re.compile(r"\A\s*(?:`{3,}|~{3,})[\w+.-]*[ \t]*\n")


async def continued(
    complete: Callable[[Request], Awaitable[Reply]], request: Request, reply: Reply, times: int
) -> Reply:
    """`reply`, with what is missing of it asked for at most `times` times; still cut off where that was too few."""
    said = reply
    for _ in range(times):
        if said.stop != "length" or not said.text or said.tool_calls:
            break
        rest = await complete(_rest_of(request, said.text))
        if not rest.text or rest.refusal is not None:
            break
        said = replace(said, text=joined(said.text, rest.text), stop=rest.stop)
    return said


def joined(begun: str, rest: str) -> str:
    """Both together: without a fence that the rest opens anew, and without what it repeats of the end."""
    if begun.count("```") % 2:
        rest = OPENING.sub("", rest, count=1)
    if _is_json(begun + rest):
        # Nothing is missing and nothing too much: rows that are alike follow each other.
        return begun + rest
    longest = min(len(begun), len(rest), MOST_OVERLAP)
    for length in range(longest, LEAST_OVERLAP - 1, -1):
        # What stands there more than once (blanks, zeros, the like of rows) may well come once more.
        if begun.find(rest[:length]) == len(begun) - length:
            return begun + rest[length:]
    return begun + rest


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _rest_of(request: Request, begun: str) -> Request:
    go_on = Message(role="user", content=GO_ON.format(tail=begun[-TAIL:]))
    said = Message(role="assistant", content=begun)
    return replace(request, messages=(*request.messages, said, go_on), schema=None)
