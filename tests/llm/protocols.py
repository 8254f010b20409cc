"""Answers as OpenAI's two APIs and Anthropic's give them: whole, and as the events of a stream."""

import json
from typing import Any


def a_completion(content: str | None = "Hi.", *, reason: str = "stop", **message: Any) -> dict[str, Any]:
    """A chat completion; `message` holds further fields, such as `tool_calls`."""
    return {
        "id": "c1",
        "object": "chat.completion",
        "model": "m-2026",
        "choices": [
            {"index": 0, "finish_reason": reason, "message": {"role": "assistant", "content": content, **message}}
        ],
        "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
    }


def a_call(name: str = "book", arguments: str = '{"day": 1}', id: str | None = "c1") -> dict[str, Any]:
    """A tool call in a chat completion."""
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def a_delta(reason: str | None = None, **delta: Any) -> dict[str, Any]:
    """A chunk of a streamed completion."""
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return {"id": "c1", "object": "chat.completion.chunk", "model": "m-2026", "choices": [choice]}


def chunks_of(completion: dict[str, Any], *, size: int = 3) -> list[Any]:
    """The completion as OpenAI streams it: texts and arguments in pieces, then the usage, then the end."""
    choice = completion["choices"][0]
    message = choice["message"]
    chunks = [a_delta(role="assistant", content="")]
    for name in ("reasoning_content", "content", "refusal"):
        chunks += [a_delta(**{name: piece}) for piece in _pieces(message.get(name) or "", size)]
    for index, call in enumerate(message.get("tool_calls") or []):
        first = {**call, "index": index, "function": {**call["function"], "arguments": ""}}
        chunks.append(a_delta(tool_calls=[first]))
        chunks += [
            a_delta(tool_calls=[{"index": index, "function": {"arguments": piece}}])
            for piece in _pieces(call["function"]["arguments"], size)
        ]
    usage = {**a_delta(), "choices": [], "usage": completion["usage"]}
    return [*chunks, a_delta(choice["finish_reason"]), usage, "[DONE]"]


def a_message(*blocks: dict[str, Any], reason: str = "end_turn", **fields: Any) -> dict[str, Any]:
    """A message of Anthropic's API; without blocks it says `Hi.`."""
    return {
        "id": "m1",
        "type": "message",
        "role": "assistant",
        "model": "claude-2026",
        "content": list(blocks or [{"type": "text", "text": "Hi."}]),
        "stop_reason": reason,
        "stop_sequence": None,
        "usage": {"input_tokens": 7, "output_tokens": 3},
        **fields,
    }


def a_use(name: str = "book", arguments: Any = None, id: str = "t1") -> dict[str, Any]:
    """A tool call in a message; a text stands for what a stream sends as it is."""
    return {"type": "tool_use", "id": id, "name": name, "input": {"day": 1} if arguments is None else arguments}


def events_of(message: dict[str, Any], *, size: int = 3) -> list[dict[str, Any]]:
    """The message as Anthropic streams it."""
    usage = {**message["usage"], "output_tokens": 1}
    start = {**message, "content": [], "stop_reason": None, "usage": usage}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": start}, {"type": "ping"}]
    for index, block in enumerate(message["content"]):
        events += [{"index": index, **event} for event in _block_events(block, size)]
    end = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    output = {"output_tokens": message["usage"]["output_tokens"]}
    return [*events, {"type": "message_delta", "delta": end, "usage": output}, {"type": "message_stop"}]


def a_response(*items: dict[str, Any], status: str = "completed", **fields: Any) -> dict[str, Any]:
    """A response of OpenAI's Responses API; without items it says `Hi.`."""
    return {
        "id": "r1",
        "object": "response",
        "model": "m-2026",
        "status": status,
        "error": None,
        "incomplete_details": None,
        "output": list(items or [an_output("Hi.")]),
        "usage": {"input_tokens": 7, "output_tokens": 3, "total_tokens": 10},
        **fields,
    }


def an_output(text: str, *, kind: str = "output_text") -> dict[str, Any]:
    """A message in a response; `refusal` is the other kind."""
    said = {"type": kind, "text" if kind == "output_text" else "refusal": text, "annotations": []}
    return {"id": "o1", "type": "message", "role": "assistant", "status": "completed", "content": [said]}


def a_function_call(name: str = "book", arguments: str = '{"day": 1}', id: str = "c1") -> dict[str, Any]:
    """A tool call in a response."""
    return {"id": "f1", "type": "function_call", "call_id": id, "name": name, "arguments": arguments}


def a_sealed_thought(words: str = "Hm, yes.") -> dict[str, Any]:
    """Reasoning in a response, as it has to go back."""
    summary = [{"type": "summary_text", "text": words}]
    return {"id": "t1", "type": "reasoning", "summary": summary, "encrypted_content": "c2VhbGVk"}


def response_events_of(response: dict[str, Any], *, size: int = 3) -> list[dict[str, Any]]:
    """The response as OpenAI streams it: reasoning is sealed whole only where an item ends."""
    begun = {**response, "status": "in_progress", "output": [], "usage": None}
    events: list[dict[str, Any]] = [{"type": "response.created", "response": begun}]
    for index, item in enumerate(response["output"]):
        start = {**item, "encrypted_content": "half"} if item["type"] == "reasoning" else item
        events.append({"type": "response.output_item.added", "output_index": index, "item": start})
        for part in item.get("content") or []:
            events += [
                {"type": "response.output_text.delta", "output_index": index, "delta": piece}
                for piece in _pieces(part.get("text") or "", size)
            ]
        events.append({"type": "response.output_item.done", "output_index": index, "item": item})
    return [*events, {"type": f"response.{response['status']}", "response": response}]


def _block_events(block: dict[str, Any], size: int) -> list[dict[str, Any]]:
    deltas: list[dict[str, Any]] = []
    start = dict(block)
    for name, kind in (("text", "text_delta"), ("thinking", "thinking_delta"), ("signature", "signature_delta")):
        if name in block:
            start[name] = ""
            deltas += [{"type": kind, name: piece} for piece in _pieces(block[name], size)]
    if block["type"] == "tool_use":
        start["input"] = {}
        text = block["input"] if isinstance(block["input"], str) else json.dumps(block["input"])
        deltas += [{"type": "input_json_delta", "partial_json": piece} for piece in ["", *_pieces(text, size)]]
    return [
        {"type": "content_block_start", "content_block": start},
        *({"type": "content_block_delta", "delta": delta} for delta in deltas),
        {"type": "content_block_stop"},
    ]


def _pieces(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]
