"""The APIs that real endpoints speak: what a request asks in each, and how each says the same reply."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.llm.protocols import a_call, a_completion, a_message, a_use, chunks_of, events_of
from tests.llm.scripted import Act, Heard, reply, stream

Turn = tuple[str, str]
"""A role and what was said."""
PIECE = 400
"""Characters of each event of a stream, at least."""
PIECES = 100
"""Events of a stream, at most."""
STOPS = {
    "chat": {"stop": "stop", "length": "length", "tools": "tool_calls", "refusal": "stop"},
    "messages": {"stop": "end_turn", "length": "max_tokens", "tools": "tool_use", "refusal": "refusal"},
}
"""How each API calls what ended a reply."""


@dataclass(frozen=True)
class Said:
    """A reply, in no API's words."""

    text: str = ""
    stop: str = "stop"
    """stop, length, tools or refusal."""
    calls: Sequence[tuple[str, str]] = ()
    """Tools and their arguments."""
    model: str = "served"
    usage: tuple[int, int] = (0, 0)
    """Tokens of the prompt and of the reply."""


@dataclass(frozen=True)
class Spoken:
    """A request that was understood."""

    api: str
    """chat, responses or messages."""
    turns: tuple[Turn, ...]
    """What was said so far, the system first; what is blank is left out, since not every API carries it."""
    streams: bool = False
    body: Any = field(default=None, compare=False)


def understood(heard: Heard) -> Spoken:
    """What a request asks."""
    api = next(name for end, name in PATHS.items() if heard.path.endswith(end))
    body = heard.body
    turns = tuple((role, text) for role, text in READ[api](body) if text.strip())
    return Spoken(api, turns, bool(body.get("stream")), body)


def act_of(spoken: Spoken, said: Said) -> Act:
    """What is sent for a reply."""
    return SAY[spoken.api](spoken, said)


def _chat(body: Any) -> list[Turn]:
    return [(said["role"], said["content"] or "") for said in body["messages"]]


def _responses(body: Any) -> list[Turn]:
    system = [("system", body["instructions"])] if body.get("instructions") else []
    said = [item for item in body["input"] if item.get("type", "message") == "message"]
    return system + [_turn(item) for item in said]


def _turn(item: Any) -> Turn:
    content = item["content"]
    text = content if isinstance(content, str) else "".join(part["text"] for part in content)
    return "system" if item["role"] == "developer" else item["role"], text


def _messages(body: Any) -> list[Turn]:
    given = body.get("system") or ""
    system = given if isinstance(given, str) else "\n\n".join(block["text"] for block in given)
    blocks = [(said["role"], block) for said in body["messages"] for block in _blocks(said["content"])]
    return [("system", system), *((role, block["text"]) for role, block in blocks if block["type"] == "text")]


def _blocks(content: Any) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def _say_chat(spoken: Spoken, said: Said) -> Act:
    given, taken = said.usage
    message: dict[str, Any] = {"refusal": said.text} if said.stop == "refusal" else {}
    if said.calls:
        message["tool_calls"] = [a_call(*call) for call in said.calls]
    completion = {
        **a_completion(None if message else said.text, reason=STOPS["chat"][said.stop], **message),
        "model": said.model,
        "usage": {"prompt_tokens": given, "completion_tokens": taken, "total_tokens": given + taken},
    }
    return stream(chunks_of(completion, size=_size(said.text))) if spoken.streams else reply(completion)


def _say_messages(spoken: Spoken, said: Said) -> Act:
    given, taken = said.usage
    blocks = [a_use(*call) for call in said.calls] or [{"type": "text", "text": said.text}]
    message = {
        **a_message(*blocks, reason=STOPS["messages"][said.stop], model=said.model),
        "usage": {"input_tokens": given, "output_tokens": taken},
    }
    return stream(events_of(message, size=_size(said.text)), named=True) if spoken.streams else reply(message)


def _say_responses(spoken: Spoken, said: Said) -> Act:
    response = _response(said)
    if not spoken.streams:
        return reply(response)
    begun = {**response, "status": "in_progress", "output": [], "usage": None}
    events: list[dict[str, Any]] = [{"type": "response.created", "response": begun}]
    for index, item in enumerate(response["output"]):
        events += [{**event, "output_index": index} for event in _item_events(item)]
    events.append({"type": f"response.{response['status']}", "response": response})
    numbered = [{**event, "sequence_number": number} for number, event in enumerate(events)]
    return stream(numbered, named=True)


def _response(said: Said) -> dict[str, Any]:
    given, taken = said.usage
    is_cut = said.stop == "length"
    kind = {"type": "refusal", "refusal": said.text} if said.stop == "refusal" else _output_text(said.text)
    output: list[dict[str, Any]] = [
        {"type": "function_call", "id": f"f{number}", "call_id": f"c{number}", "name": name, "arguments": arguments}
        for number, (name, arguments) in enumerate(said.calls)
    ] or [{"type": "message", "id": "m1", "role": "assistant", "content": [kind]}]
    status = "incomplete" if is_cut else "completed"
    return {
        "id": "r1",
        "object": "response",
        "created_at": 1,
        "model": said.model,
        "status": status,
        "incomplete_details": {"reason": "max_output_tokens"} if is_cut else None,
        "error": None,
        "output": [{**item, "status": status} for item in output],
        "usage": {
            "input_tokens": given,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": taken,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": given + taken,
        },
    }


def _output_text(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": []}


def _item_events(item: dict[str, Any]) -> list[dict[str, Any]]:
    id = item["id"]
    if item["type"] == "function_call":
        begun, pieces = {**item, "arguments": ""}, _pieces(item["arguments"])
        deltas = [{"type": "response.function_call_arguments.delta", "delta": piece} for piece in pieces]
        inner: list[dict[str, Any]] = [
            *deltas,
            {"type": "response.function_call_arguments.done", "arguments": item["arguments"]},
        ]
    else:
        part = item["content"][0]
        kind = part["type"]
        field = "text" if kind == "output_text" else "refusal"
        begun = {**item, "content": []}
        inner = [
            {"type": "response.content_part.added", "part": {**part, field: ""}},
            *({"type": f"response.{kind}.delta", "delta": piece} for piece in _pieces(part[field])),
            {"type": f"response.{kind}.done", field: part[field]},
            {"type": "response.content_part.done", "part": part},
        ]
        inner = [{**event, "content_index": 0} for event in inner]
    return [
        {"type": "response.output_item.added", "item": {**begun, "status": "in_progress"}},
        *({**event, "item_id": id} for event in inner),
        {"type": "response.output_item.done", "item": item},
    ]


def _pieces(text: str) -> list[str]:
    size = _size(text)
    return [text[start : start + size] for start in range(0, len(text), size)]


def _size(text: str) -> int:
    return max(PIECE, len(text) // PIECES + 1)


PATHS = {"/chat/completions": "chat", "/responses": "responses", "/messages": "messages"}
READ = {"chat": _chat, "responses": _responses, "messages": _messages}
SAY = {"chat": _say_chat, "responses": _say_responses, "messages": _say_messages}
