"""OpenEnv's protocol, against a server as users start it. Its own clients try it in `tests/interop_targets`."""

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from socket import SHUT_RDWR
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from websockets.exceptions import ConnectionClosed

from skillweave.world.dataset import Dataset
from tests.interop.serve.servers import OpenEnvSocket, serving, varied
from tests.waiting import wait_until

HTTP = httpx.Client(timeout=60)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)
TYPES = st.sampled_from(["reset", "step", "state", "mcp", "observation", None, 3])


@pytest.fixture
def client(openenv: str) -> Iterator[OpenEnvSocket]:
    client = OpenEnvSocket(openenv)
    yield client
    client.socket.close()


def post(url: str, body: Any) -> Any:
    """The answer to a request that succeeds."""
    answer = HTTP.post(url, json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def rpc(url: str, method: str, **params: Any) -> Any:
    """The answer of `/mcp`."""
    answer = post(f"{url}/mcp", {"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    assert (answer["jsonrpc"], answer["id"]) == ("2.0", 1)
    return answer


def test_the_oracle_gets_one_and_nothing_gets_none(client: OpenEnvSocket, dataset: Dataset) -> None:
    for id in varied(dataset):
        assert client.play(dataset, id, "oracle") == 1, id
        assert client.play(dataset, id, "nothing") == 0, id


def test_a_reset_tells_all_that_an_agent_needs(client: OpenEnvSocket, dataset: Dataset) -> None:
    id = next(iter(dataset.tasks))
    answer = client.reset(task_id=id, episode_id="mine")
    begun = answer["observation"]
    assert (answer["reward"], answer["done"]) == (0, False)
    assert (begun["task_id"], begun["episode_id"]) == (id, "mine")
    assert [message["role"] for message in begun["messages"]] == ["system", "user"]
    assert all({*tool} == {"name", "description", "input_schema"} for tool in begun["tools"])
    assert all(tool["description"] for tool in begun["tools"])
    assert begun["tools"][-1]["name"] == "reply_to_user"
    assert begun["metadata"]["text"] == begun["text"]
    state = client.ask({"type": "state"})["data"]
    assert (state["episode_id"], state["step_count"], state["done"], state["task_id"]) == ("mine", 0, False, id)


def test_tasks_are_chosen_by_seed_and_by_split(client: OpenEnvSocket, openenv: str, dataset: Dataset) -> None:
    drawn = [client.reset(seed=5)["observation"]["task_id"] for _ in range(2)]
    assert drawn[0] == drawn[1]
    assert client.reset()["observation"]["task_id"] in dataset.tasks
    split = HTTP.get(f"{openenv}/skillweave/splits").json()[0]["name"]
    listed = post(f"{openenv}/skillweave/task", {"split": split, "index": 2})["task"]
    chosen = client.reset(split=split, index=2)["observation"]["task_id"]
    assert listed["task_id"] == chosen
    assert dataset.tasks[chosen].split == split
    assert dataset.tasks[client.reset(split=split)["observation"]["task_id"]].split == split


def test_the_task_api_lists_them_without_their_solutions(openenv: str, dataset: Dataset) -> None:
    assert HTTP.get(f"{openenv}/list_environments").json() == ["skillweave"]
    splits = HTTP.get(f"{openenv}/skillweave/splits").json()
    counts = [post(f"{openenv}/skillweave/num_tasks", {"split": split["name"]})["num_tasks"] for split in splits]
    assert sum(counts) == len(dataset.tasks)
    split = splits[0]["name"]
    tasks = post(f"{openenv}/skillweave/tasks", {"split": split})["tasks"]
    assert len(tasks) == counts[0]
    assert {*tasks[0]} == {"task_id", "number", "split", "world", "domains"}
    part = post(f"{openenv}/skillweave/task_range", {"split": split, "start": 1, "stop": 3})["tasks"]
    assert part == tasks[1:3]
    wrong = HTTP.post(f"{openenv}/skillweave/task", json={"split": split, "index": 10**6})
    assert (wrong.status_code, "Invalid task index" in wrong.text) == (400, True)
    assert HTTP.post(f"{openenv}/skillweave/tasks", json={"split": "none"}).status_code == 422
    assert HTTP.get(f"{openenv}/other/splits").status_code == 404


def test_it_tells_of_itself(openenv: str) -> None:
    assert HTTP.get(f"{openenv}/health").json() == {"status": "healthy"}
    assert HTTP.get(f"{openenv}/metadata").json()["name"] == "skillweave"
    assert {"action", "observation", "state"} <= {*HTTP.get(f"{openenv}/schema").json()}
    described = HTTP.get(f"{openenv}/openapi.json").json()
    assert {"/reset", "/step", "/state", "/mcp"} <= {*described["paths"]}


def test_tools_are_listed_before_and_after_a_reset(client: OpenEnvSocket) -> None:
    listing = {"type": "step", "data": {"type": "list_tools"}}
    before = client.ask(listing)["data"]["observation"]["tools"]
    assert [tool["name"] for tool in before] == ["reply_to_user"]
    begun = client.reset(seed=1)["observation"]
    assert client.ask(listing)["data"]["observation"]["tools"] == begun["tools"]


def test_a_result_has_the_form_of_openenvs_own(client: OpenEnvSocket) -> None:
    client.reset(seed=1)
    wrong = client.call("no_such_tool", {})["observation"]
    assert wrong["tool_name"] == "no_such_tool"
    assert wrong["error"] is None
    assert wrong["result"]["is_error"]
    assert wrong["result"]["data"] == json.loads(wrong["result"]["content"][0]["text"])
    assert wrong["text"] == wrong["result"]["content"][0]["text"]
    for arguments in ({}, {"text": 3}, {"text": "x", "more": 1}, "x"):
        refused = client.call("reply_to_user", arguments)["observation"]
        assert refused["error"]["error_type"] == "invalid_args"
    assert client.ask({"type": "state"})["data"]["step_count"] == 1
    heard = client.call("reply_to_user", {"text": "Hello! How can I help you?"})["observation"]
    assert heard["text"] == heard["result"]["data"] != ""


def test_a_thought_is_neither_made_nor_said(client: OpenEnvSocket) -> None:
    client.reset()
    thought = '<think>Or <tool_call>{"name": "transfer_to_human", "arguments": {}}</tool_call>'
    for data in (
        {"type": "message", "content": thought},
        {"type": "call_tool", "tool_name": "reply_to_user", "arguments": {"text": thought}},
    ):
        answer = client.ask({"type": "step", "data": data})["data"]
        assert (answer["done"], answer["observation"]["text"]) == (False, "")
        assert (answer["metadata"]["turns"], answer["metadata"]["calls"]) == (0, 0)
    answer = client.ask({"type": "step", "data": {"type": "message", "content": f"{thought}</think>Hello!"}})["data"]
    assert (answer["metadata"]["turns"], answer["metadata"]["calls"]) == (1, 0)


def test_a_message_can_hold_several_calls(client: OpenEnvSocket) -> None:
    client.reset(seed=1)
    call = {"type": "function", "function": {"name": "no_such_tool", "arguments": "{}"}}
    action = {"type": "message", "content": None, "tool_calls": [{"id": "a", **call}, {"id": "b", **call}]}
    heard = client.ask({"type": "step", "data": action})["data"]["observation"]["messages"]
    assert [message["tool_call_id"] for message in heard] == ["a", "b"]


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("{", "INVALID_JSON"),
        ("[" * 100_000, "INVALID_JSON"),
        (b"\xff\xfe", "INVALID_JSON"),
        ("[]", "VALIDATION_ERROR"),
        ("", "UNKNOWN_TYPE"),
        ({"type": "jump"}, "UNKNOWN_TYPE"),
        ({"type": ["reset"]}, "UNKNOWN_TYPE"),
        ({"type": "reset", "data": 3}, "VALIDATION_ERROR"),
        ({"type": "reset", "data": {"task_id": "none"}}, "VALIDATION_ERROR"),
        ({"type": "reset", "data": {"split": "none"}}, "VALIDATION_ERROR"),
        ({"type": "reset", "data": {"seed": "x"}}, "VALIDATION_ERROR"),
        ({"type": "reset", "data": {"trial": -1}}, "VALIDATION_ERROR"),
        ({"type": "step", "data": {"type": "fly"}}, "VALIDATION_ERROR"),
        ({"type": "step", "data": {"type": "call_tool", "tool_name": 3}}, "VALIDATION_ERROR"),
        ({"type": "step", "data": {"type": "call_tool", "tool_name": "x"}}, "EXECUTION_ERROR"),
    ],
)
def test_a_wrong_message_has_a_code_and_the_session_goes_on(client: OpenEnvSocket, message: Any, code: str) -> None:
    answer = client.ask(message)
    assert (answer["type"], answer["data"]["code"]) == ("error", code)
    assert "\n" not in answer["data"]["message"]
    assert not client.reset(seed=2)["done"]


@given(TYPES, JSON)
@settings(max_examples=60)
def test_any_json_gets_an_answer(openenv: str, kind: object, value: object) -> None:
    client = OpenEnvSocket(openenv)
    client.reset(seed=1)
    for message in (value, {"type": kind, "data": value}, {"type": "step", "data": {"type": "call_tool", "x": value}}):
        assert client.ask(json.dumps(message))["type"] in ("error", "observation", "state", "mcp")
    client.socket.close()


def test_after_the_end_there_are_no_steps_but_a_reset(client: OpenEnvSocket, dataset: Dataset) -> None:
    client.play(dataset, next(iter(dataset.tasks)), "nothing")
    over = client.ask({"type": "step", "data": {"type": "call_tool", "tool_name": "x"}})["data"]
    assert (over["code"], over["kind"]) == ("EXECUTION_ERROR", "over")
    assert client.ask({"type": "state"})["data"]["done"]
    assert not client.reset(seed=2)["done"]


def test_a_huge_message_ends_only_its_own_session(client: OpenEnvSocket, openenv: str) -> None:
    other = OpenEnvSocket(openenv)
    other.socket.send("x" * (2**20 + 1))
    with pytest.raises(ConnectionClosed) as closed:
        other.socket.recv(timeout=60)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1009
    assert not client.reset(seed=2)["done"]


def test_over_http_an_episode_goes_by_its_id(openenv: str) -> None:
    begun = post(f"{openenv}/reset", {"seed": 1})["observation"]
    id = begun["episode_id"]
    action = {"type": "call_tool", "tool_name": "no_such_tool"}
    assert post(f"{openenv}/step", {"episode_id": id, "action": action})["observation"]["result"]["is_error"]
    assert HTTP.get(f"{openenv}/state", params={"episode_id": id}).json()["step_count"] == 1
    again = post(f"{openenv}/reset", {"seed": 1, "episode_id": id})["observation"]
    assert (again["episode_id"], again["task_id"]) == (id, begun["task_id"])
    assert post(f"{openenv}/reset", {"episode_id": "a-name"})["observation"]["episode_id"] != "a-name"
    assert HTTP.get(f"{openenv}/state").json()["episode_id"] is None
    for wrong in ({"action": action}, {"episode_id": "none", "action": action}, {"episode_id": id}):
        assert HTTP.post(f"{openenv}/step", json=wrong).status_code in (404, 422)
    assert post(f"{openenv}/close", {"episode_id": id}) == {"closed": True}
    assert HTTP.post(f"{openenv}/step", json={"episode_id": id, "action": action}).status_code == 404


def test_json_rpc_makes_a_session_that_a_websocket_takes_up(openenv: str) -> None:
    id = rpc(openenv, "openenv/session/create")["result"]["session_id"]
    client = OpenEnvSocket(openenv, f"/ws?session_id={id}")
    begun = client.reset(seed=1)["observation"]
    assert rpc(openenv, "tools/list", session_id=id)["result"]["tools"] == begun["tools"]
    called = rpc(openenv, "tools/call", session_id=id, name="no_such_tool", arguments={})["result"]
    assert (called["is_error"], called["reward"], called["done"]) == (True, 0, False)
    assert client.ask({"type": "state"})["data"]["step_count"] == 1
    second = OpenEnvSocket(openenv, f"/ws?session_id={id}")
    assert second.ask({"type": "state"})["data"]["code"] == "SESSION_ERROR"
    assert rpc(openenv, "openenv/session/close", session_id=id)["result"]["closed"]
    assert json.loads(client.socket.recv(timeout=60))["data"]["code"] == "SESSION_ERROR"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("{", -32700),
        ("[]", -32600),
        ("{}", -32600),
        ('{"jsonrpc": "2.0", "method": "initialize"}', -32601),
        ('{"jsonrpc": "2.0", "method": "tools/list", "params": 3}', -32600),
        ('{"jsonrpc": "2.0", "method": "tools/list"}', -32602),
        ('{"jsonrpc": "2.0", "method": "tools/call", "params": {"session_id": "none"}}', -32602),
        ('{"jsonrpc": "2.0", "method": "openenv/session/close"}', -32602),
    ],
)
def test_json_rpc_errors_have_their_codes(openenv: str, body: str, code: int) -> None:
    answer = HTTP.post(f"{openenv}/mcp", content=body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (200, code)
    socket = OpenEnvSocket(openenv, "/mcp")
    if "tools/" not in body:
        assert socket.ask(body)["error"]["code"] == code
    socket.socket.close()


def test_a_client_that_vanishes_frees_its_session(small: Path) -> None:
    with serving("openenv", small, "--max-sessions", "2") as server:
        clients = [OpenEnvSocket(server.url) for _ in range(2)]
        for client in clients:
            client.reset(seed=1)
        refused = OpenEnvSocket(server.url)
        assert refused.ask({"type": "reset", "data": {}})["data"]["code"] == "CAPACITY_REACHED"
        answer = HTTP.post(f"{server.url}/reset", json={})
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "capacity")
        # It does not say goodbye.
        clients[0].socket.socket.shutdown(SHUT_RDWR)

        def has_room() -> bool:
            answer = HTTP.post(f"{server.url}/reset", json={"seed": 1})
            return answer.status_code == 200

        wait_until(has_room)
        assert clients[1].ask({"type": "state"})["data"]["step_count"] == 0


def test_idle_sessions_are_closed_and_told(small: Path) -> None:
    with serving("openenv", small, "--idle-timeout-s", "4") as server:
        idle, busy = OpenEnvSocket(server.url), OpenEnvSocket(server.url)
        idle.reset(seed=1)
        busy.reset(seed=1)
        told: list[Any] = []

        def is_closed() -> bool:
            busy.ask({"type": "state"})
            with suppress(TimeoutError):
                told.append(json.loads(idle.socket.recv(timeout=0.1)))
            return bool(told)

        wait_until(is_closed)
        assert told[0]["data"]["code"] == "SESSION_ERROR"
        with pytest.raises(ConnectionClosed):
            idle.socket.recv(timeout=60)
        assert busy.ask({"type": "state"})["type"] == "state"
