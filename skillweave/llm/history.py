"""The messages of a conversation in the form that every endpoint accepts.

A record keeps what a model wrote, so that it can be scored. An endpoint refuses a request for one call in its history
whose arguments are no JSON object, or whose name has a dot; and with it every later request. So what is sent is made
of the record anew, here alone. How a message is sent depends on the messages before it and the offered tools only:
the endpoint's cache of the prompt stays good.
"""

import itertools
import json
import operator
import re
from collections.abc import Collection, Iterator, Sequence

from skillweave.base.call_arguments import read_arguments
from skillweave.schema.record import Json
from skillweave.schema.trajectory import Message, ToolCall

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
"""Names of tools: OpenAI and Anthropic take no dots and at most 64 characters, Gemini no digit at the beginning."""
LONGEST_NAME = 64
NO_NAME = "unnamed"
UNREADABLE = "INVALID_JSON"
"""The key under which unreadable arguments go back, as Anthropic's documentation has it for its own models."""
MAX_UNREADABLE = 4000
"""Characters of unreadable arguments that go back: a runaway call of a megabyte would fill every later request."""
ANY_ID = re.compile(r"\S+")
CALL_ID = "call{:05}"
"""Ids of calls that came without a usable one: nine letters and digits, the only form that Mistral takes."""
NO_RESULT = json.dumps({"error": {"code": "no_result", "message": "Nothing is known of this call's result."}})
STRAY_RESULT = "The result of a tool: {content}"
SILENCE = "(no words)"
BEGINNING = "(The conversation begins.)"
"""Stands before a conversation that the assistant opens: endpoints and chat templates want the user to speak first."""


def valid_history(
    messages: Sequence[Message], offered: Collection[str] = (), ids: re.Pattern[str] = ANY_ID
) -> list[Message]:
    """Turn a conversation into one that every endpoint accepts; what is in order stays as it is.

    Args:
        messages: The conversation as it was recorded.
        offered: Names of the offered tools. No name that a model made up is turned into one of them.
        ids: What the id of a call may be at this endpoint; others are replaced.
    """
    history: list[Message] = []
    taken: set[str] = set()
    place = 0
    while place < len(messages):
        message = messages[place]
        place += 1
        if message.role == "tool":
            # A result without a call is refused; its words stay.
            _append(history, Message(role="user", content=STRAY_RESULT.format(content=message.content or "")))
        elif message.role == "assistant" and message.tool_calls:
            end = place
            while end < len(messages) and messages[end].role == "tool":
                end += 1
            for part in _calls_with_results(message, messages[place:end], taken, offered, ids):
                _append(history, part)
            place = end
        elif message.content and message.content.strip():
            _append(history, message)
        elif message.role != "system":
            # An author's empty answer stays a turn, or the complaint about it would join the question.
            _append(history, Message(role=message.role, content=SILENCE))
    if all(message.role == "system" for message in history):
        history.append(Message(role="user", content=BEGINNING))
    return history


def _append(history: list[Message], message: Message) -> None:
    """Add a message; plain words of one side that follow each other become one message.

    Mistral's and Gemma's chat templates refuse two messages of one side, and a conversation that the assistant opens.
    """
    before = history[-1] if history else None
    if message.role == "assistant" and (before is None or before.role == "system"):
        history.append(Message(role="user", content=BEGINNING))
    if before is not None and before.role == message.role and _is_plain(before) and _is_plain(message):
        history[-1] = Message(role=message.role, content=f"{before.content}\n\n{message.content}")
    else:
        history.append(message)


def _is_plain(message: Message) -> bool:
    """Whether a message of user or assistant has words and nothing else."""
    is_bare = not (message.tool_calls or message.reasoning_content or message.model_extra)
    return message.role in ("user", "assistant") and is_bare


def _calls_with_results(
    message: Message, results: Sequence[Message], taken: set[str], offered: Collection[str], ids: re.Pattern[str]
) -> Iterator[Message]:
    """A message with calls, then one result for each of them, in their order.

    Args:
        message: As it was recorded.
        results: The results behind it.
        taken: Ids of earlier calls; those of this message are added.
        offered: Names of the offered tools.
        ids: What an id may be.
    """
    calls: list[ToolCall] = []
    answers: list[Message] = []
    left = list(results)
    for call in message.tool_calls or ():
        id = call.id
        if id in taken or not ids.fullmatch(id):
            id = next(new for number in itertools.count(len(taken)) if (new := CALL_ID.format(number)) not in taken)
        taken.add(id)
        calls.append(valid_call(call, offered, id))
        # Of results with one id, each belongs to one call: some providers give two calls the same.
        answer = next((result for result in left if result.tool_call_id == call.id), None)
        if answer is None:
            answers.append(Message(role="tool", tool_call_id=id, content=NO_RESULT))
        else:
            left.remove(answer)
            is_valid = answer.tool_call_id == id and answer.content is not None
            changes = {"tool_call_id": id, "content": answer.content or ""}
            answers.append(answer if is_valid else answer.model_copy(update=changes))
    words = message.content if message.content and message.content.strip() else None
    is_same = words == message.content and all(map(operator.is_, calls, message.tool_calls or ()))
    yield message if is_same else message.model_copy(update={"content": words, "tool_calls": calls})
    yield from answers
    for result in left:
        yield Message(role="user", content=STRAY_RESULT.format(content=result.content or ""))


def valid_call(call: ToolCall, offered: Collection[str] = (), id: str | None = None) -> ToolCall:
    """A call whose name and arguments every endpoint accepts; the same object if it is in order.

    Args:
        call: As the model wrote it.
        offered: Names of the offered tools.
        id: The id that it gets; None is its own.
    """
    function, id = call.function, call.id if id is None else id
    name = valid_name(function.name, offered)
    arguments = valid_arguments(function.arguments)
    if (id, name, arguments) == (call.id, function.name, function.arguments):
        return call
    return call.model_copy(
        update={"id": id, "function": function.model_copy(update={"name": name, "arguments": arguments})}
    )


def valid_name(name: str, offered: Collection[str] = ()) -> str:
    """The name of a called tool in the characters that every endpoint takes.

    A name that is changed is never that of an offered tool, or the model would believe that it had called it.
    """
    if NAME.fullmatch(name):
        return name
    valid = re.sub(r"[^A-Za-z0-9_-]+", "_", name)
    valid = (valid if NAME.match(valid) else f"_{valid}" if valid.strip("_") else NO_NAME)[:LONGEST_NAME]
    while valid in offered:
        valid = f"{valid[: LONGEST_NAME - 1]}_" if not valid.endswith("_") else f"_{valid[: LONGEST_NAME - 1]}"
    return valid


def valid_arguments(arguments: str | dict[str, Json]) -> str | dict[str, Json]:
    """The arguments of a call, as one JSON object; unreadable ones as the value of one key, for the model to see."""
    if read_arguments(arguments).values is None:
        # An object that cannot be read has no JSON, and is written out.
        shown = arguments if isinstance(arguments, str) else repr(arguments)
        if len(shown) > MAX_UNREADABLE:
            shown = f"{shown[:MAX_UNREADABLE]}..."
        return json.dumps({UNREADABLE: shown}, ensure_ascii=False)
    return arguments if not isinstance(arguments, str) or arguments.strip() else "{}"
