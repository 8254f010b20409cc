"""A server in vLLM's manner: `server.py NOTES serve MODEL --host H --port P ...`. It says thank you to everything.

Each call of the program, and each request, is a line of NOTES.
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

NOTES = Path(sys.argv[1])


def note(**values: Any) -> None:
    """Add a line."""
    with NOTES.open("a") as stream:
        stream.write(json.dumps(values) + "\n")


class Handler(BaseHTTPRequestHandler):
    """Health, and chat completions."""

    def do_GET(self) -> None:
        self._answer({})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        note(model=body["model"], temperature=body.get("temperature"))
        message = {"role": "assistant", "content": "Thank you."}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        self._answer(
            {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}
        )

    def log_message(self, *given: object) -> None:
        return None

    def _answer(self, value: Any) -> None:
        content = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


if __name__ == "__main__":
    note(arguments=sys.argv[2:])
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[sys.argv.index("--port") + 1])), Handler).serve_forever()
