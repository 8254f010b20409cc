"""MCP over HTTP, by the official client, against a server as users start it."""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.exceptions import MCPError

from interop.episode_tools import OVER, REWARD, TASK
from interop.words import SPEAK
from rollout.task import Definition
from skillweave.schema.trajectory import Message
from skillweave.world.dataset import Dataset
from tests.interop.driver import player, scripted
from tests.interop.serve.servers import serving, varied
from tests.waiting import wait_until

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
GREETING = "Hello! How can I help you?"


@pytest.fixture(scope="module")
def mcp(small: Path) -> Iterator[str]:
    with serving("mcp", small) as server:
        yield f"{server.url}/mcp"


@asynccontextmanager
async def client_of(url: str, **headers: str) -> AsyncIterator[Client]:
    """The official client, with headers."""
    async with (
        create_mcp_http_client(headers=headers) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        yield client


def run(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(work)


async def read(client: Client, uri: str) -> Any:
    [contents] = (await client.read_resource(uri)).contents
    return json.loads(contents.text)  # type: ignore[union-attr]


async def call(client: Client, tool: str, arguments: dict[str, Any]) -> tuple[list[str], bool]:
    """The texts of a call's result, and whether it is an error."""
    result = await client.call_tool(tool, arguments)
    return [content.text for content in result.content], bool(result.is_error)  # type: ignore[union-attr]


async def definitions(client: Client) -> list[Definition]:
    """The tools of the world, as agents have them."""
    return [
        {
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": tool.input_schema},
        }
        for tool in (await client.list_tools()).tools
        if tool.name != SPEAK
    ]


async def heard(client: Client, message: Message) -> tuple[list[Message], bool]:
    """What an agent's message brings, and whether the conversation is over."""
    answers: list[Message] = []
    for made in message.tool_calls or ():
        assert isinstance(made.function.arguments, dict)
        texts, _ = await call(client, made.function.name, made.function.arguments)
        answers.append(Message(role="tool", tool_call_id=made.id, content=texts[0]))
        if texts[-1] == OVER:
            return answers, True
    if not message.tool_calls:
        texts, is_error = await call(client, SPEAK, {"text": message.content})
        assert not is_error
        answers += [Message(role="user", content=text) for text in texts if text != OVER]
        return answers, texts[-1] == OVER
    return answers, False


async def play(client: Client, dataset: Dataset, agent: str) -> float:
    """Play the task of a client's session. Returns the reward."""
    task = await read(client, TASK)
    opening = [
        Message(role="system", content=task["system_prompt"]),
        Message(role="user", content=task["first_message"]),
    ]
    talk = player(scripted(agent, dataset), task["task_id"], opening, await definitions(client))
    answers, over = await heard(client, next(talk))
    while not over:
        answers, over = await heard(client, talk.send(answers))
    reward = (await read(client, REWARD))["reward"]
    assert isinstance(reward, float)
    return reward


def test_the_oracle_gets_one_and_nothing_gets_none(mcp: str, dataset: Dataset) -> None:
    async def rewards(agent: str) -> list[float]:
        made = []
        for id in varied(dataset):
            async with Client(f"{mcp}/{id}") as client:
                made.append(await play(client, dataset, agent))
        return made

    assert set(run(rewards("oracle"))) == {1}
    assert set(run(rewards("nothing"))) == {0}


def test_a_session_has_the_task_that_it_asks_for(mcp: str, dataset: Dataset) -> None:
    ids = list(dataset.tasks)

    async def task(url: str = mcp, **headers: str) -> str:
        async with client_of(url, **headers) as client:
            id = (await read(client, TASK))["task_id"]
            assert isinstance(id, str)
            return id

    assert run(task(f"{mcp}/{ids[3]}")) == ids[3]
    assert run(task(f"{mcp}/4")) == ids[4]
    assert run(task(**{"X-Skillweave-Task": ids[5]})) == ids[5]
    assert run(task(**{"X-Skillweave-Task": "6"})) == ids[6]
    drawn = [run(task(**{"X-Skillweave-Seed": str(seed)})) for seed in (1, 1, 2, 3)]
    assert drawn[0] == drawn[1]
    assert len(set(drawn)) > 1
    assert len({run(task()) for _ in range(4)}) > 1


def test_tools_prompt_and_task_say_the_same(mcp: str, dataset: Dataset) -> None:
    async def told() -> None:
        async with Client(f"{mcp}/0") as client:
            task = await read(client, TASK)
            [prompt] = (await client.list_prompts()).prompts
            messages = (await client.get_prompt(prompt.name)).messages
            assert [message.content.text for message in messages] == [  # type: ignore[union-attr]
                task["system_prompt"],
                task["first_message"],
            ]
            assert {str(resource.uri) for resource in (await client.list_resources()).resources} == {TASK, REWARD}
            tools = (await client.list_tools()).tools
            assert tools[-1].name == SPEAK
            assert all(tool.description for tool in tools)

    run(told())


def test_who_reads_the_reward_has_ended_the_episode(mcp: str) -> None:
    async def peek() -> None:
        async with Client(f"{mcp}/0") as client:
            first = await read(client, REWARD)
            assert (first["reward"], first["done"], first["passed"]) == (0, True, False)
            texts, is_error = await call(client, SPEAK, {"text": GREETING})
            assert is_error
            assert "over" in texts[0]
            assert await read(client, REWARD) == first

    run(peek())


def test_two_sessions_of_a_task_do_not_meet(mcp: str, dataset: Dataset) -> None:
    [id, *_] = (id for id, task in dataset.tasks.items() if task.kind == "do")

    async def side_by_side() -> None:
        async with Client(f"{mcp}/{id}") as idle, Client(f"{mcp}/{id}") as acting:
            before = await read(idle, TASK)
            assert await play(acting, dataset, "oracle") == 1
            assert await read(idle, TASK) == before
            assert (await call(idle, SPEAK, {"text": GREETING}))[1] is False
            assert (await read(idle, REWARD))["reward"] == 0

    run(side_by_side())


def test_the_calls_of_one_message_may_come_at_once(mcp: str) -> None:
    async def at_once() -> None:
        async with Client(f"{mcp}/0") as client:
            answers = await asyncio.gather(*(call(client, SPEAK, {"text": GREETING}) for _ in range(3)))
            assert not any(is_error for _, is_error in answers)

    run(at_once())


def test_wrong_calls_are_told_and_the_session_goes_on(mcp: str) -> None:
    async def wrong() -> None:
        async with Client(f"{mcp}/0") as client:
            for arguments in ({}, {"text": 3}, {"text": "x", "more": 1}):
                texts, is_error = await call(client, SPEAK, arguments)
                assert is_error
                assert SPEAK in texts[0]
            assert (await call(client, "no_such_tool", {}))[1]
            with pytest.raises(MCPError):
                await client.read_resource("skillweave://answers")
            with pytest.raises(MCPError):
                await client.get_prompt("nothing")
            assert not (await call(client, SPEAK, {"text": GREETING}))[1]

    run(wrong())


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/no-such-task", {}, 404),
        ("/999999", {}, 422),
        ("", {"X-Skillweave-Task": "no-such-task"}, 404),
        ("", {"X-Skillweave-Seed": "soon"}, 422),
        ("", {"Origin": "https://elsewhere.test"}, 403),
        ("", {"Mcp-Session-Id": "0" * 32}, 404),
    ],
)
def test_what_cannot_be_had_is_refused_before_a_session_opens(
    mcp: str, path: str, headers: dict[str, str], status: int
) -> None:
    answer = httpx.post(mcp + path, json=INITIALIZE, headers=HEADERS | headers)
    assert answer.status_code == status
    assert answer.json()["error"]["message"]


@settings(max_examples=25)
@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_garbage_gets_an_error(mcp: str, body: bytes) -> None:
    answer = httpx.post(mcp, content=body, headers=HEADERS)
    assert 400 <= answer.status_code < 500
    assert answer.json()["error"]


def test_a_huge_body_is_refused(mcp: str) -> None:
    answer = httpx.post(mcp, content=b" " * (2**20 + 1), headers=HEADERS)
    assert answer.status_code == 413


def test_clients_that_vanish_free_their_sessions(small: Path) -> None:
    options = ("--max-sessions", "2", "--idle-timeout-s", "0.5")
    with serving("mcp", small, *options) as server:

        def begin() -> int:
            return httpx.post(f"{server.url}/mcp/0", json=INITIALIZE, headers=HEADERS).status_code

        assert [begin(), begin(), begin()] == [200, 200, 503]
        wait_until(lambda: begin() == 200, "sessions of clients that are gone are not freed")


def test_a_client_that_ends_frees_its_session_at_once(small: Path) -> None:
    async def one_after_another(url: str) -> None:
        for _ in range(3):
            async with Client(f"{url}/mcp/0") as client:
                assert await read(client, TASK)

    with serving("mcp", small, "--max-sessions", "1") as server:
        run(one_after_another(server.url))


def test_the_token_is_asked_for(small: Path) -> None:
    environment = {**os.environ, "MCP_TOKEN": "s3cret"}
    with serving("mcp", small, "--token-env", "MCP_TOKEN", environment=environment) as server:
        assert httpx.post(f"{server.url}/mcp", json=INITIALIZE, headers=HEADERS).status_code == 401

        async def allowed() -> None:
            async with client_of(f"{server.url}/mcp/0", Authorization="Bearer s3cret") as client:
                assert await read(client, TASK)

        run(allowed())
