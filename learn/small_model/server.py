"""A server with the part of vLLM's interface that agents use: health, the list of models, chat completions.

One reply is written at a time: the network is small, and a reply takes a fraction of a second.
"""

import json
import math
import random
import threading
import time
from collections.abc import Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

from learn.small_model.conversations import messages_fault, tools_fault
from learn.small_model.decoding import Decoder, DecodingSettings, Generated
from learn.small_model.folder import load
from skillweave.base.errors import ConfigError

LARGEST_BODY = 32 * 1024 * 1024
MOST_TOKENS = 400
"""Tokens of a reply, whatever a request allows."""
DEFAULT_TEMPERATURE = 0.0
"""Of requests that name none: the likeliest reply. A higher one is for exploring."""
IDLE_S = 60.0
"""Seconds that a connection may be silent."""
BACKLOG = 128


class RequestFault(Exception):
    """What is wrong with a request, in one line."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = BACKLOG


def serve(folder: Path, host: str, port: int, name: str | None) -> None:
    """Serve a model until the process ends.

    Args:
        folder: The model's folder.
        host: The address to listen at.
        port: Its port.
        name: What the model is called; None: as its folder.

    Raises:
        ConfigError: There is no model, or the port is taken.
    """
    model = load(folder)
    decoder = Decoder(model.network, model.vocabulary, model.window)
    handler = type("_Bound", (_Handler,), {"model": name or str(folder), "decoder": decoder, "lock": threading.Lock()})
    try:
        server = _Server((host, port), handler)
    except (OSError, OverflowError) as error:
        raise ConfigError(f"cannot listen at {host}:{port}: {error}; give another --port") from None
    print(f"serving {folder} at http://{host}:{server.server_address[1]}/v1", flush=True)
    server.serve_forever()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = IDLE_S
    model: ClassVar[str]
    decoder: ClassVar[Decoder]
    lock: ClassVar[threading.Lock]

    def do_GET(self) -> None:
        match self.path.partition("?")[0]:
            case "/health":
                self._answer(HTTPStatus.OK, {})
            case "/v1/models":
                self._answer(HTTPStatus.OK, {"object": "list", "data": [{"id": self.model, "object": "model"}]})
            case _:
                self._refuse(HTTPStatus.NOT_FOUND, f"there is no {self.path[:100]!r}")

    def do_POST(self) -> None:
        try:
            body = self._body()
            if self.path.partition("?")[0] != "/v1/chat/completions":
                self._refuse(HTTPStatus.NOT_FOUND, f"there is no {self.path[:100]!r}; there is /v1/chat/completions")
                return
            self._answer(HTTPStatus.OK, self._complete(body))
        except RequestFault as fault:
            self._refuse(HTTPStatus.BAD_REQUEST, str(fault))
        except OSError:
            self.close_connection = True
        except Exception as error:  # one request must not end the others
            self._refuse(HTTPStatus.INTERNAL_SERVER_ERROR, f"{type(error).__name__}: {str(error)[:200]}")

    def _complete(self, body: Mapping[str, Any]) -> dict[str, Any]:
        messages, tools = body.get("messages"), body.get("tools")
        fault = messages_fault(messages) or tools_fault(tools)
        if fault or not isinstance(messages, list):
            raise RequestFault(fault or "messages are missing")
        sampling = _sampling(body)
        offered = [] if body.get("tool_choice") == "none" else tools or []
        with self.lock:
            generated = self.decoder.reply(messages, offered, sampling)
        before = sum(len(message.get("tool_calls") or ()) for message in messages)
        return _completion(str(body.get("model") or self.model)[:500], generated, before)

    def _body(self) -> Mapping[str, Any]:
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit()) or int(length[:12]) > LARGEST_BODY:
            self.close_connection = True
            raise RequestFault(f"the body should have a Content-Length of at most {LARGEST_BODY} bytes")
        try:
            body = json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError) as error:
            raise RequestFault(f"the body is not JSON: {str(error)[:100]}") from None
        if not isinstance(body, dict):
            raise RequestFault("the body should be a JSON object")
        return body

    def _refuse(self, status: HTTPStatus, message: str) -> None:
        kind = "invalid_request_error" if status < HTTPStatus.INTERNAL_SERVER_ERROR else "server_error"
        self._answer(status, {"error": {"message": message, "type": kind, "param": None, "code": int(status)}})

    def _answer(self, status: HTTPStatus, value: Mapping[str, Any]) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Requests are not logged."""


def _sampling(body: Mapping[str, Any]) -> DecodingSettings:
    if body.get("stream"):
        raise RequestFault("stream is not supported; leave it out")
    if body.get("n") not in (None, 1):
        raise RequestFault("n should be 1")
    most = body.get("max_completion_tokens", body.get("max_tokens"))
    seed = body.get("seed")
    return DecodingSettings(
        temperature=_number(body, "temperature", DEFAULT_TEMPERATURE, 0.0, 100.0),
        top_p=_number(body, "top_p", 1.0, 1e-6, 1.0),
        most=MOST_TOKENS
        if most is None
        else min(MOST_TOKENS, int(_number({"max_tokens": most}, "max_tokens", 1, 1, 1e9))),
        seed=random.getrandbits(62) if seed is None else int(_number(body, "seed", 0, -(2.0**63), 2.0**63)) % 2**62,
    )


def _number(body: Mapping[str, Any], name: str, default: float, least: float, most: float) -> float:
    value = body.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise RequestFault(f"{name} should be a number")
    if not least <= value <= most:
        raise RequestFault(f"{name} should be from {least:g} to {most:g}")
    return value


def _completion(model: str, generated: Generated, calls_before: int) -> dict[str, Any]:
    reply = generated.reply
    message: dict[str, Any] = {"role": "assistant", "content": reply.content}
    if reply.calls:
        message["tool_calls"] = [
            {
                "id": f"call_{number:05}",
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for number, call in enumerate(reply.calls, calls_before + 1)
        ]
    reason = "length" if not generated.is_whole else "tool_calls" if reply.calls else "stop"
    return {
        "id": f"chatcmpl-{random.getrandbits(64):016x}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": {
            "prompt_tokens": generated.read,
            "completion_tokens": generated.written,
            "total_tokens": generated.read + generated.written,
        },
    }
