"""Servers as users start them, and clients that speak to them."""

import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import httpx
from websockets.sync.client import ClientConnection, connect

from interop.in_process import Environment
from interop.prompt import observation
from rollout.task import Definition
from skillweave.schema.trajectory import Message
from skillweave.world.dataset import Dataset
from tests.interop.driver import Heard, converse, react_texts, results, scripted
from tests.shared import ROOT


class ServerProcess(NamedTuple):
    """A server that runs."""

    url: str
    process: "subprocess.Popen[str]"
    said: list[str]
    """What it printed when it was ready."""


@contextmanager
def serving(
    protocol: str,
    outputs: Path,
    *options: str,
    environment: Mapping[str, str] | None = None,
    open_files: int | None = None,
    complaints: Path | None = None,
) -> Iterator[ServerProcess]:
    """Run a server on a free port; with no more than so many open files; with its standard error in a file."""
    command = [sys.executable, "-m", "interop", "serve", protocol, "--outputs", str(outputs), "--port", "0", *options]

    def limit() -> None:
        if open_files is not None:
            resource.setrlimit(resource.RLIMIT_NOFILE, (open_files, open_files))

    with Path(os.devnull if complaints is None else complaints).open("w") as stream:
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, preexec_fn=limit, stdout=subprocess.PIPE, stderr=stream, text=True
        )
    assert process.stdout is not None
    try:
        said = [process.stdout.readline(), process.stdout.readline()]
        yield ServerProcess(said[0].partition(" at ")[2].partition(" ")[0], process, said)
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


def varied(dataset: Dataset, most: int = 50) -> list[str]:
    """Ids of tasks: one of each kind, forms and world in turn, until there are enough."""
    of: dict[tuple[str, ...], list[str]] = {}
    for id, task in dataset.tasks.items():
        of.setdefault((task.kind, task.world, *(form.name for form in task.forms)), []).append(id)
    turns = [ids[turn] for turn in range(max(map(len, of.values()))) for ids in of.values() if turn < len(ids)]
    return turns[:most]


class GymClient:
    """A client of AgentGym's protocol."""

    def __init__(self, url: str) -> None:
        self.http = httpx.Client(base_url=url, timeout=60)

    def post(self, path: str, **body: Any) -> Any:
        """The answer to a request that succeeds."""
        answer = self.http.post(path, json=body)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def create(self, **body: Any) -> int:
        """A session's id."""
        id = self.post("/create", **body)["id"]
        assert isinstance(id, int)
        return id

    def play(self, dataset: Dataset, task_id: str, agent: str, session: int) -> float:
        """Play a task; what the agent knows beyond the text it takes from the dataset. Returns the reward."""
        number = list(dataset.tasks).index(task_id)
        self.post("/reset", id=session, data_idx=number)
        opening, tools = opening_of(dataset, task_id)

        def take(message: Message) -> Heard:
            texts = []
            for text in react_texts(message):
                step = self.post("/step", id=session, action=text)
                texts.append(step["observation"])
                if step["done"]:
                    return Heard([], step["reward"], True)
                assert step["reward"] == 0
            if message.tool_calls:
                heard = results(message, [text.removeprefix("Observation: ") for text in texts])
                assert observation(heard) == "\n\n".join(texts)
            else:
                heard = [Message(role="user", content=texts[0])]
            return Heard(heard, 0.0, False)

        return converse(scripted(agent, dataset), task_id, opening, tools, take).reward


@cache
def _environment(outputs: Path) -> Environment:
    return Environment(outputs)


@cache
def opening_of(dataset: Dataset, task_id: str) -> tuple[Sequence[Message], Sequence[Definition]]:
    """The first messages of a task and its tools."""
    begun = _environment(dataset.store.root).reset(task_id)
    return begun.messages, begun.tools


def tool_names(tools: Sequence[Definition]) -> list[str]:
    """Names of tools."""
    return [str(tool["function"]["name"]) for tool in tools if isinstance(tool["function"], dict)]


class OpenEnvSocket:
    """A client of OpenEnv's protocol on a WebSocket."""

    def __init__(self, url: str, path: str = "/ws") -> None:
        self.socket: ClientConnection = connect(url.replace("http", "ws") + path, max_size=2**24, open_timeout=60)

    def ask(self, message: Any) -> Any:
        """The answer to a message: a value, or text as it is."""
        self.socket.send(message if isinstance(message, str | bytes) else json.dumps(message))
        return json.loads(self.socket.recv(timeout=60))

    def reset(self, **given: Any) -> Any:
        """Begin an episode."""
        answer = self.ask({"type": "reset", "data": given})
        assert answer["type"] == "observation", answer
        return answer["data"]

    def call(self, tool: str, arguments: Any) -> Any:
        """Call a tool."""
        action = {"type": "call_tool", "tool_name": tool, "arguments": arguments}
        answer = self.ask({"type": "step", "data": action})
        assert answer["type"] == "observation", answer
        return answer["data"]

    def play(self, dataset: Dataset, task_id: str, agent: str) -> float:
        """Play a task. Returns the reward."""
        begun = self.reset(task_id=task_id)["observation"]
        opening = [Message.model_validate(message) for message in begun["messages"]]
        tools: list[Definition] = [
            {
                "type": "function",
                "function": {
                    "name": tool["name"],
                    "description": tool["description"],
                    "parameters": tool["input_schema"],
                },
            }
            for tool in begun["tools"]
            if tool["name"] != "reply_to_user"
        ]

        def take(message: Message) -> Heard:
            texts = []
            for call in message.tool_calls or ():
                answer = self.call(call.function.name, call.function.arguments)
                texts.append(answer["observation"]["text"])
                if answer["done"]:
                    return Heard([], answer["reward"], True)
            if message.tool_calls:
                return Heard(results(message, texts), 0.0, False)
            answer = self.call("reply_to_user", {"text": message.content or ""})
            heard = [Message(role="user", content=answer["observation"]["text"])]
            return Heard(heard, answer["reward"], answer["done"])

        return converse(scripted(agent, dataset), task_id, opening, tools, take).reward
