"""An agent's step: words to the user, calls of tools, or both; read from whatever a trainer sends.

Text is read in the ReAct form (`Action:`, `Action Input:`, `Answer:`) and in the form of `<tool_call>` blocks. Text of
neither form is words to the user.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from rollout.react.agent import read_text
from skillweave.base.errors import ConfigError
from skillweave.schema.record import Json
from skillweave.schema.trajectory import FunctionCall, Message, ToolCall
from skillweave.world.tools import valid_text

MOST_CALLS = 64
"""Most calls of one step."""
LONGEST_NAME = 256
"""Most characters of a tool's name."""
MAX_CHARACTERS = 2**20
"""Most characters of a step's text."""

_BLOCK = re.compile(r"<(tool_call|function_call)>\s*(.*?)\s*(?:</\1>|\Z)", re.DOTALL)
_THINKING = re.compile(r"\A\s*(?:<think>)?.*?</think>\s*", re.DOTALL)
_NAMES = ("name", "tool", "tool_name")
_ARGUMENTS = ("arguments", "parameters", "args")


class ActionError(ConfigError):
    """What was sent is no step; the message says what a step is."""


class Action(NamedTuple):
    """One step of an agent."""

    words: str = ""
    """What it says to the user."""
    calls: tuple[ToolCall, ...] = ()
    """What it calls; ids may be empty."""
    thought: str = ""
    """What it thinks, for the record."""


ActionLike = str | Mapping[str, Json] | Sequence[Mapping[str, Json]] | Message | Action
"""Words; a call `{"name": ..., "arguments": {...}}` or several; or a message in OpenAI's form."""


def action_of(given: ActionLike) -> Action:
    """The step that a trainer sends.

    Args:
        given: Words, a call, several calls, or a message in OpenAI's form. Words are taken as they are; `read_action`
            looks for calls in them.

    Raises:
        ActionError: It is none of these.
    """
    if isinstance(given, Action):
        return given
    if isinstance(given, str):
        return Action(words=_text(given))
    if isinstance(given, Message):
        return _of_message(given.model_dump(exclude_none=True))
    if isinstance(given, Mapping):
        return _of_message(given) if {"role", "content", "tool_calls"} & {*given} else _calls([given])
    if isinstance(given, Sequence):
        return _calls(given)
    raise ActionError(f"a step is words, a call, a list of calls or a message, not {type(given).__name__}")


def read_action(text: str) -> Action:
    """The step that a model wrote as text."""
    _text(text)
    said = _THINKING.sub("", text)
    blocks = list(_BLOCK.finditer(said))
    if blocks:
        calls = [call for block in blocks for call in _in_block(block[2])]
        return Action(_BLOCK.sub("", said).strip(), tuple(calls[:MOST_CALLS]), text[: len(text) - len(said)].strip())
    read = read_text(text)
    calls = (
        [] if read.tool is None else [ToolCall(id="", function=FunctionCall(name=read.tool, arguments=read.arguments))]
    )
    return Action(valid_text(read.words), tuple(calls), read.thought)


def _text(value: Json) -> str:
    if not isinstance(value, str):
        raise ActionError(f"the words of a step are text, not {type(value).__name__}")
    if len(value) > MAX_CHARACTERS:
        raise ActionError(f"a step has {len(value):,} characters; at most {MAX_CHARACTERS:,} are read")
    return valid_text(value)


def _of_message(message: Mapping[str, Json]) -> Action:
    role = message.get("role", "assistant")
    if role != "assistant":
        raise ActionError(f"a step is a message of the role 'assistant', not {role!r}")
    words, calls = message.get("content"), message.get("tool_calls")
    if calls is not None and not isinstance(calls, list):
        raise ActionError("tool_calls is a list of calls")
    made = _calls(calls).calls if calls else ()
    if isinstance(words, list):  # parts, as some endpoints give them
        words = "".join(str(part.get("text", "")) for part in words if isinstance(part, Mapping))
    return Action("" if words is None else _text(words), made, str(message.get("reasoning_content") or ""))


def _calls(given: Sequence[object]) -> Action:
    if not 0 < len(given) <= MOST_CALLS:
        raise ActionError(f"a step has 1 to {MOST_CALLS} calls, not {len(given)}")
    return Action(calls=tuple(map(_call, given)))


def _call(given: object) -> ToolCall:
    """A call in OpenAI's form, or flat: `{"name": ..., "arguments": ...}`."""
    if isinstance(given, Mapping):
        inner = given.get("function")
        flat: Mapping[str, Json] = inner if isinstance(inner, Mapping) else given
        name = next((flat[key] for key in _NAMES if key in flat), None)
        arguments = next((flat[key] for key in _ARGUMENTS if key in flat), {})
        id = given.get("id")
        if isinstance(name, str) and 0 < len(name) <= LONGEST_NAME:
            try:
                return ToolCall(
                    id=id if isinstance(id, str) else "",
                    function=FunctionCall(
                        name=valid_text(name),
                        arguments=dict(arguments) if isinstance(arguments, Mapping) else _as_text(arguments),
                    ),
                )
            except (ValueError, TypeError, RecursionError) as error:
                raise ActionError(f"the arguments of {name!r} are no JSON, or nested too deeply") from error
    raise ActionError('a call is an object {"name": TOOL, "arguments": {...}}')


def _as_text(arguments: Json) -> str:
    return valid_text(arguments) if isinstance(arguments, str) else json.dumps(arguments)


def _in_block(text: str) -> Iterator[ToolCall]:
    """The calls of a block; of one that cannot be read, a call whose arguments cannot be read either."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    for one in value if isinstance(value, list) else [value]:
        try:
            yield _call(one)
        except ActionError:
            yield ToolCall(id="", function=FunctionCall(name="tool_call", arguments=valid_text(text) or "?"))
