"""The conversation of a trajectory as it is trained on: what the agent saw and did, in one clean form.

Nulls and fields of other programs are dropped, every call has a new id of its own and its arguments as JSON text, and
every call but those of the last message has its result right behind it.
"""

import json
from collections.abc import Iterator, Sequence
from hashlib import sha256

from interop.export.format import LeftOut
from skillweave.base.call_arguments import read_arguments
from skillweave.schema.record import Json
from skillweave.schema.trajectory import (
    STOP,
    FunctionCall,
    Message,
    ToolCall,
    UserTurn,
    tell_thoughts_apart,
    until_end,
)
from skillweave.thoughts import write_thoughts

CALL_ID = "call{:05}"
"""Ids of calls: nine letters and digits, the form that chat templates with the strictest rule ask for."""
DIGEST_BYTES = 8
"""Bytes of a message's digest."""


def trained_messages(
    messages: Sequence[Message], turns: Sequence[UserTurn] = (), *, reasoning: bool = False
) -> list[Message]:
    """The messages up to the agent's last one, without the system prompt: examples have the dataset's own.

    Args:
        messages: The conversation as recorded.
        turns: What the user recorded of its messages.
        reasoning: Whether to keep the agent's reasoning.

    Raises:
        LeftOut: The agent says nothing, a message of it is all thought, a call has no result, or a system message
            stands in the middle.
    """
    told_apart = tell_thoughts_apart(messages)
    if any(map(_is_all_thought, told_apart)):
        raise LeftOut("a message that is all thought")
    heard = until_end(told_apart, turns)
    first = next((place for place, message in enumerate(heard) if message.role != "system"), len(heard))
    heard = heard[first:]
    if any(message.role == "system" for message in heard):
        raise LeftOut("a system message in the middle of the conversation")
    places = [place for place, message in enumerate(heard) if message.role == "assistant"]
    if not places:
        raise LeftOut("the agent says nothing")
    kept = heard[: places[-1] + 1]
    return list(_paired(kept, _is_ambiguous(kept), reasoning))


def _is_all_thought(message: Message) -> bool:
    is_silent = message.role == "assistant" and not message.content and not message.tool_calls
    return is_silent and bool(message.reasoning_content)


def _is_ambiguous(messages: Sequence[Message]) -> bool:
    """Whether some calls lack an id or share it, so that results are told apart by their order."""
    ids = [call.id for message in messages for call in message.tool_calls or () if message.role == "assistant"]
    return len({*ids}) < len(ids) or not all(ids)


def _paired(messages: Sequence[Message], in_order: bool, reasoning: bool) -> Iterator[Message]:
    number, waiting = 0, dict[str, str]()
    for message in messages:
        if message.role == "tool":
            yield _result(message, waiting, in_order)
            continue
        if waiting:
            raise LeftOut("a call has no result")
        calls: list[ToolCall] = []
        for call in (message.tool_calls or ()) if message.role == "assistant" else ():
            number += 1
            id = CALL_ID.format(number)
            waiting[id if in_order else call.id] = id
            calls.append(
                ToolCall(id=id, function=FunctionCall(name=call.function.name, arguments=arguments_text(call)))
            )
        yield _plain(message, calls, reasoning)


def _result(message: Message, waiting: dict[str, str], in_order: bool) -> Message:
    first = next(iter(waiting), "")
    key = first if in_order else message.tool_call_id or first
    if key not in waiting:
        raise LeftOut("a result answers no call")
    return Message(role="tool", content=message.content or "", tool_call_id=waiting.pop(key))


def _plain(message: Message, calls: list[ToolCall], reasoning: bool) -> Message:
    content = message.content
    if message.role == "user":
        content = (content or "").replace(STOP, "").strip()
    elif not calls:
        content = content or ""
    thought = message.reasoning_content if reasoning and message.role == "assistant" else None
    return Message(
        role=message.role,
        content=content or (None if calls else ""),
        tool_calls=calls or None,
        reasoning_content=thought,
    )


def arguments_text(call: ToolCall) -> str:
    """The arguments of a call as JSON text; text that is no JSON stays as the agent wrote it."""
    arguments = call.function.arguments
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)


def arguments_of(call: ToolCall) -> dict[str, Json] | None:
    """The arguments of a call as an object; None where the agent wrote something else."""
    return read_arguments(call.function.arguments).values


def message_digests(messages: Sequence[Message]) -> list[bytes]:
    """A short digest of each message, without ids of calls and without reasoning; the agent's begin with 1."""
    return [_digest(message) for message in messages]


def _digest(message: Message) -> bytes:
    calls = [
        [call.function.name, arguments if (arguments := arguments_of(call)) is not None else arguments_text(call)]
        for call in message.tool_calls or ()
    ]
    text = json.dumps([message.role, message.content or "", calls], sort_keys=True)
    mark = b"\1" if message.role == "assistant" else b"\0"
    return mark + sha256(text.encode()).digest()[: DIGEST_BYTES - 1]


def with_one_call_each(messages: Sequence[Message]) -> Iterator[Message]:
    """The messages, with one for each call and its result behind it; the agent's words stand at the first call."""
    results = {message.tool_call_id: message for message in messages if message.role == "tool"}
    for message in messages:
        if message.role == "tool":
            continue
        calls = message.tool_calls or []
        if not calls:
            yield message
        for number, call in enumerate(calls):
            first = {} if number == 0 else {"content": None, "reasoning_content": None}
            yield message.model_copy(update={"tool_calls": [call], **first})
            if call.id in results:
                yield results[call.id]


def names_of_calls(messages: Sequence[Message]) -> dict[str, str]:
    """Id of each call -> the tool that it calls."""
    return {call.id: call.function.name for message in messages for call in message.tool_calls or ()}


def objects_of_calls(message: Message) -> list[dict[str, Json]]:
    """The calls of a message as `{"name", "arguments"}`. Raises LeftOut where the arguments are no JSON object."""
    found: list[dict[str, Json]] = []
    for call in message.tool_calls or ():
        arguments = arguments_of(call)
        if arguments is None:
            raise LeftOut("a call whose arguments are no JSON object")
        found.append({"name": call.function.name, "arguments": arguments})
    return found


def with_thought(message: Message) -> str:
    """The words of a message behind its reasoning, in the form that reasoning models write."""
    return write_thoughts(message.reasoning_content or "", message.content or "")
