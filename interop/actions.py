"""An agent's step: words to the user, calls of tools, or both; read from whatever a trainer sends.

Text is read in the ReAct form (`Action:`, `Action Input:`, `Answer:`) and in the forms in which models are trained to
call, such as `<tool_call>` blocks. Text of neither form is words to the user. Thoughts are told apart first, in
whatever is sent: nobody hears them, and a call that one mentions is not made.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from skillweave.base.errors import ConfigError
from skillweave.schema.record import Json
from skillweave.schema.trajectory import FunctionCall, Message, ToolCall
from skillweave.text_calls import MAX_CALLS, call_of, read_calls, read_text
from skillweave.thoughts import join_thoughts, split_thoughts
from skillweave.world.tools import valid_text

MAX_CHARACTERS = 2**20
"""Most characters of a step's text."""
_THOUGHT_PARTS = ("thinking", "redacted_thinking", "reasoning", "thought")
"""Types of parts of a message that the model wrote for itself."""


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
        thoughts, words = split_thoughts(given.words)
        return given._replace(words=words, thought=join_thoughts(given.thought, thoughts) or "")
    if isinstance(given, str):
        return action_of(Action(words=_text(given)))
    if isinstance(given, Message):
        return _of_message(given.model_dump(exclude_none=True))
    if isinstance(given, Mapping):
        return _of_message(given) if {"role", "content", "tool_calls"} & {*given} else _calls([given])
    if isinstance(given, Sequence):
        return _calls(given)
    raise ActionError(f"a step is words, a call, a list of calls or a message, not {type(given).__name__}")


def read_action(text: str, tools: Sequence[Mapping[str, Json]] = ()) -> Action:
    """The step that a model wrote as text.

    Args:
        text: What the model wrote.
        tools: OpenAI definitions of the tools that it has.
    """
    thoughts, said = split_thoughts(_text(text))
    words, calls = read_calls(said, tools)
    if calls:
        return Action(words, calls, thoughts)
    read = read_text(said)
    if read.tool is not None:
        calls = (ToolCall(id="", function=FunctionCall(name=read.tool, arguments=read.arguments)),)
    return Action(read.words, calls, join_thoughts(thoughts, read.thought) or "")


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
    thought = str(message.get("reasoning_content") or message.get("reasoning") or "")
    if isinstance(words, list):  # parts, as some endpoints give them
        parts = [part for part in words if isinstance(part, Mapping)]
        words = "".join(str(part.get("text", "")) for part in parts if part.get("type") not in _THOUGHT_PARTS)
    return action_of(Action("" if words is None else _text(words), made, thought))


def _calls(given: Sequence[object]) -> Action:
    if not 0 < len(given) <= MAX_CALLS:
        raise ActionError(f"a step has 1 to {MAX_CALLS} calls, not {len(given)}")
    try:
        return Action(calls=tuple(map(call_of, given)))
    except ValueError as error:
        raise ActionError(str(error)) from error
