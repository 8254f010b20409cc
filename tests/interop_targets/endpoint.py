"""An endpoint in OpenAI's form, streamed or not, whose models are the scripted agents."""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from skillweave.llm.backends.backend import Request
from skillweave.schema.trajectory import Message
from skillweave.world.dataset import Dataset
from tests.interop.driver import at_once, scripted


@contextmanager
def scripted_endpoint(outputs: Path) -> Iterator[str]:
    """The address of an endpoint; the model's name is the agent's, `oracle` or `nothing`."""
    dataset = Dataset(outputs)
    answers = _Answers(dataset)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._send({"object": "list", "data": [{"id": "oracle", "object": "model"}]})

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            answer = answers.to(request)
            if not request.get("stream"):
                return self._send(answer)
            body = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in _chunks(answer)) + "data: [DONE]\n\n"
            return self._send_bytes(body.encode(), "text/event-stream")

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

        def _send(self, value: Any) -> None:
            self._send_bytes(json.dumps(value).encode(), "application/json")

        def _send_bytes(self, body: bytes, kind: str) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
        dataset.close()


class _Answers:
    def __init__(self, dataset: Dataset) -> None:
        self._agents = {name: scripted(name, dataset) for name in ("oracle", "nothing")}
        self._tasks = {task.messages[0].content: task.id for task in dataset.tasks.values()}
        self._lock = threading.Lock()

    def to(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """The completion that a request gets."""
        messages = [_message(message) for message in request["messages"]]
        first = next(message.content for message in messages if message.role == "user")
        turn = sum(message.role == "assistant" for message in messages)
        asked = Request(
            messages=tuple(messages),
            tools=tuple(request.get("tools") or ()),
            question="rollout.agent",
            key=f"{self._tasks[first]}#0",
            attempt=turn,
        )
        with self._lock:
            reply = at_once(self._agents[request["model"]].complete(asked))
        calls = [
            {
                "id": f"call_{turn}_{at}",
                "type": "function",
                "function": {"name": call.function.name, "arguments": json.dumps(call.function.arguments)},
            }
            for at, call in enumerate(reply.tool_calls)
        ]
        message = {"role": "assistant", "content": reply.text or None} | ({"tool_calls": calls} if calls else {})
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        kind = {"id": f"chatcmpl-{turn}", "object": "chat.completion", "created": 0, "model": request["model"]}
        return {**kind, "choices": [choice], "usage": usage}


def _message(given: Mapping[str, Any]) -> Message:
    content = given.get("content")
    if isinstance(content, list):
        content = "".join(part.get("text", "") for part in content)
    kept = {key: given[key] for key in ("role", "tool_calls", "tool_call_id") if given.get(key)}
    for call in kept.get("tool_calls", ()):
        call.pop("index", None)
    return Message.model_validate({**kept, "content": content})


def _chunks(answer: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The same answer as a stream."""
    [choice] = answer["choices"]
    message = choice["message"]
    head = {**{key: answer[key] for key in ("id", "created", "model")}, "object": "chat.completion.chunk"}
    calls = [{"index": at, **call} for at, call in enumerate(message.get("tool_calls", ()))]
    delta = {"role": "assistant", "content": message["content"], **({"tool_calls": calls} if calls else {})}
    yield {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]}
    yield {**head, "choices": [], "usage": answer["usage"]}
