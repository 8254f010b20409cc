"""A thousand sessions at once, step by step in turn: each has the rows of its own task, as its reward proves.

Many sessions have the same task. Their oracles write the same rows, so that one that saw another's would get no reward:
the score compares the whole database with what the task alone leaves behind.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from skillweave.schema.trajectory import Message
from skillweave.world.dataset import Dataset
from tests.interop.driver import Player, player, react_texts, results, scripted
from tests.interop.serve.servers import opening_of, serving, varied

SESSIONS = 1000
TASKS = 40
ACTIONS = Callable[[Message], Awaitable[tuple[Sequence[Message], float, bool]]]


class Talk:
    """One session's conversation."""

    def __init__(self, dataset: Dataset, id: str, act: ACTIONS) -> None:
        agent = scripted("oracle", dataset)
        self._player: Player = player(agent, id, *opening_of(dataset, id))
        self._act = act
        self._message = next(self._player)
        self.reward = -1.0
        self.is_over = False

    async def step(self) -> None:
        """Take a step."""
        heard, self.reward, self.is_over = await self._act(self._message)
        if not self.is_over:
            self._message = self._player.send(heard)


async def held(talks: Sequence[Talk]) -> None:
    """Hold conversations in turn: each takes its next step before any takes the one after."""
    while under_way := [talk for talk in talks if not talk.is_over]:
        await asyncio.gather(*(talk.step() for talk in under_way))


def over_http(http: aiohttp.ClientSession, session: int) -> ACTIONS:
    """Steps of a session of AgentGym's protocol."""

    async def act(message: Message) -> tuple[Sequence[Message], float, bool]:
        texts: list[str] = []
        for text in react_texts(message):
            async with http.post("/step", json={"id": session, "action": text}) as answer:
                assert answer.status == 200, await answer.text()
                step = await answer.json()
            texts.append(step["observation"])
            if step["done"]:
                return [], step["reward"], True
        if message.tool_calls:
            return results(message, [text.removeprefix("Observation: ") for text in texts]), 0.0, False
        return [Message(role="user", content=texts[0])], 0.0, False

    return act


def over_websocket(socket: aiohttp.ClientWebSocketResponse) -> ACTIONS:
    """Steps of a session of OpenEnv's protocol."""

    async def call(tool: str, arguments: Any) -> Any:
        action = {"type": "call_tool", "tool_name": tool, "arguments": arguments}
        answer = await asked(socket, {"type": "step", "data": action})
        return answer["data"]

    async def act(message: Message) -> tuple[Sequence[Message], float, bool]:
        texts = []
        for made in message.tool_calls or ():
            answer = await call(made.function.name, made.function.arguments)
            texts.append(answer["observation"]["text"])
        if message.tool_calls:
            return results(message, texts), answer["reward"], answer["done"]
        answer = await call("reply_to_user", {"text": message.content or ""})
        return [Message(role="user", content=answer["observation"]["text"])], answer["reward"], answer["done"]

    return act


async def asked(socket: aiohttp.ClientWebSocketResponse, message: Any) -> Any:
    """The answer to a message."""
    await socket.send_str(json.dumps(message))
    answer = await socket.receive_json()
    assert answer["type"] == "observation", answer
    return answer


def shared_out(dataset: Dataset) -> list[str]:
    """A task for each session; many have the same one."""
    ids = varied(dataset, TASKS)
    return [ids[at % len(ids)] for at in range(SESSIONS)]


async def http_load(url: str, dataset: Dataset) -> list[Talk]:
    """Sessions over HTTP."""
    numbers = {id: at for at, id in enumerate(dataset.tasks)}
    async with aiohttp.ClientSession(url, connector=aiohttp.TCPConnector(limit=100)) as http:

        async def begun(id: str) -> Talk:
            async with http.post("/create", json={"data_idx": numbers[id]}) as answer:
                assert answer.status == 200, await answer.text()
                return Talk(dataset, id, over_http(http, (await answer.json())["id"]))

        talks = await asyncio.gather(*map(begun, shared_out(dataset)))
        await held(talks)
        return talks


async def websocket_load(url: str, dataset: Dataset) -> list[Talk]:
    """Sessions over WebSockets, all of them open at once."""
    async with aiohttp.ClientSession(url, connector=aiohttp.TCPConnector(limit=0)) as http:
        few = asyncio.Semaphore(100)

        async def begun(id: str) -> tuple[aiohttp.ClientWebSocketResponse, Talk]:
            async with few:
                socket = await http.ws_connect("/ws", max_msg_size=2**24)
                answer = await asked(socket, {"type": "reset", "data": {"task_id": id}})
            assert answer["data"]["observation"]["task_id"] == id
            return socket, Talk(dataset, id, over_websocket(socket))

        opened = await asyncio.gather(*map(begun, shared_out(dataset)))
        await held([talk for _, talk in opened])
        await asyncio.gather(*(socket.close() for socket, _ in opened))
        return [talk for _, talk in opened]


@pytest.mark.long
@pytest.mark.parametrize(("protocol", "load"), [("agentgym", http_load), ("openenv", websocket_load)])
def test_a_thousand_sessions_at_once_keep_to_themselves(
    small: Path, dataset: Dataset, protocol: str, load: Callable[[str, Dataset], Any]
) -> None:
    for id in varied(dataset, TASKS):
        opening_of(dataset, id)
    with serving(protocol, small) as server:
        talks: list[Talk] = asyncio.run(load(server.url, dataset))
    assert Counter(talk.reward for talk in talks) == {1.0: SESSIONS}
