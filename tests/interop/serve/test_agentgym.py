"""AgentGym's protocol, against a server as users start it."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interop.serve.agentgym import as_reply
from skillweave.world.dataset import Dataset
from tests.interop.serve.servers import GymClient, opening_of, tool_names, varied

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
HTTP = httpx.Client(timeout=60)
PATHS = ("/create", "/step", "/reset", "/close")


@pytest.fixture
def client(agentgym: str) -> Iterator[GymClient]:
    client = GymClient(agentgym)
    yield client
    client.http.close()


def test_the_oracle_gets_one_and_nothing_gets_none(client: GymClient, dataset: Dataset) -> None:
    session = client.create()
    for id in varied(dataset):
        assert client.play(dataset, id, "oracle", session) == 1, id
        assert client.play(dataset, id, "nothing", session) == 0, id


def test_ids_are_no_small_numbers(client: GymClient) -> None:
    ids = [client.create() for _ in range(20)]
    assert len({*ids}) == 20
    assert 0 not in ids
    assert min(ids) > 10**6
    assert max(ids) < 2**53


def test_a_session_begins_with_the_first_task_and_one_can_be_named(client: GymClient, dataset: Dataset) -> None:
    first, other = next(iter(dataset.tasks)), list(dataset.tasks)[7]
    made = client.post("/create", minecraft_dir="x", commands=None, goal=None)
    assert (made["done"], made["reward"]) == (False, 0)
    assert client.http.get("/observation", params={"id": made["id"]}).json() == made["observation"]
    assert client.http.get("/detail", params={"id": made["id"]}).json()["info"]["task_id"] == first
    again = client.post("/create")
    assert again["observation"] == made["observation"]
    assert client.post("/reset", id=again["id"])["observation"] == made["observation"]
    named = client.post("/create", task_id=other)
    detail = client.http.get("/detail", params={"id": named["id"]}).json()
    assert (detail["data_idx"], detail["observation"], detail["deleted"]) == (7, named["observation"], False)
    assert dataset.tasks[other].messages[-1].content in named["observation"]


def test_observations_follow_the_steps_and_errors_are_none(client: GymClient, dataset: Dataset) -> None:
    session = client.create()
    step = client.post("/step", id=session, action="Thought: hm\nAction: no_such_tool\nAction Input: {}")
    assert step["observation"].startswith("Observation: ")
    assert "no_such_tool" in step["observation"]
    assert client.http.get("/observation", params={"id": session}).json() == step["observation"]
    empty = client.post("/step", id=session, action="")
    assert "neither an Action nor an Answer" in empty["observation"]
    spoken = client.post("/step", id=str(session), action="Hello! How can I help you?")
    assert spoken["observation"]
    assert not spoken["observation"].startswith("Observation: ")


def test_a_thought_is_neither_made_nor_said(client: GymClient, dataset: Dataset) -> None:
    session = client.create()
    _, tools = opening_of(dataset, next(iter(dataset.tasks)))
    handover = "Action: transfer_to_human\nAction Input: {}"
    cut = client.post("/step", id=session, action=f"<think>I might\n{handover}")
    assert (cut["done"], "neither an Action nor an Answer" in cut["observation"]) == (False, True)
    bare = client.post("/step", id=session, action=f"<think>\n{handover}\n</think>\n\n{tool_names(tools)[0]}({{}})")
    assert (bare["done"], bare["observation"].startswith("Observation: ")) == (False, True)
    detail = client.http.get("/detail", params={"id": session}).json()
    assert (detail["info"]["turns"], detail["info"]["calls"]) == (0, 1)


def test_what_can_be_done_is_listed(client: GymClient, dataset: Dataset) -> None:
    listed = client.http.get("/available_actions", params={"id": client.create()}).json()
    _, tools = opening_of(dataset, next(iter(dataset.tasks)))
    assert listed == [*tool_names(tools), "Answer"]


@pytest.mark.parametrize(
    "action",
    [
        "{tool}",
        "{tool}()",
        "{tool} {{}}",
        "{tool}({{}})",
        " {tool}\nAction Input: {{}}",
        "Action: {tool}\nAction Input:",
    ],
)
def test_a_bare_call_is_a_call(dataset: Dataset, client: GymClient, action: str) -> None:
    session = client.create()
    tool = client.http.get("/available_actions", params={"id": session}).json()[0]
    step = client.post("/step", id=session, action=action.format(tool=tool))
    assert step["observation"].startswith("Observation: ")


def test_words_that_begin_with_a_tools_name_are_words(dataset: Dataset) -> None:
    _, tools = opening_of(dataset, next(iter(dataset.tasks)))
    name = tool_names(tools)[0]
    for words in (f"{name} is what I would call now", f"Answer: {name}", "", "Hello."):
        assert as_reply(words, tools) == words


@pytest.mark.parametrize(
    ("path", "body", "status", "code"),
    [
        ("/step", {"id": 0, "action": "x"}, 404, "unknown"),
        ("/step", {"id": 12345, "action": "x"}, 404, "unknown"),
        ("/step", {"action": "x"}, 422, "bad_request"),
        ("/step", {"id": True, "action": "x"}, 422, "bad_request"),
        ("/reset", {"id": "none", "data_idx": 0}, 404, "unknown"),
        ("/create", {"data_idx": 10**9}, 422, "bad_request"),
        ("/create", {"data_idx": "1"}, 422, "bad_request"),
        ("/create", {"task_id": "none"}, 404, "unknown_task"),
        ("/create", {"task_id": 3}, 422, "bad_request"),
        ("/create", {"seed": "x"}, 422, "bad_request"),
        ("/nowhere", {}, 404, "unknown_path"),
    ],
)
def test_a_wrong_request_gets_a_clear_answer(
    client: GymClient, path: str, body: dict[str, object], status: int, code: str
) -> None:
    answer = client.http.post(path, json=body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert "\n" not in answer.json()["error"]["message"]


def test_closing_tells_whether_there_was_one(client: GymClient) -> None:
    session = client.create()
    assert client.post("/close", id=session) is True
    assert client.post("/close", id=session) is False
    assert client.http.post("/step", json={"id": session, "action": "x"}).status_code == 404


def test_after_the_end_there_are_no_steps_but_a_reset(client: GymClient, dataset: Dataset) -> None:
    session = client.create()
    client.play(dataset, list(dataset.tasks)[1], "nothing", session)
    refused = client.http.post("/step", json={"id": session, "action": "Answer: Hello?"})
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "over")
    assert client.http.get("/detail", params={"id": session}).json()["done"] is True
    assert client.post("/reset", id=session, data_idx=1)["done"] is False


def test_a_failed_reset_leaves_the_episode(client: GymClient) -> None:
    session = client.create()
    assert client.http.post("/reset", json={"id": session, "data_idx": 10**6}).status_code == 422
    assert client.post("/step", id=session, action="Hello!")["done"] is False


@given(JSON, st.sampled_from(PATHS))
@settings(max_examples=80)
def test_any_json_gets_an_answer(agentgym: str, value: object, path: str) -> None:
    answer = HTTP.post(agentgym + path, json=value)
    assert answer.status_code in (200, 404, 409, 422)
    if answer.status_code != 200:
        assert {*answer.json()["error"]} == {"code", "message"}


@given(st.binary(max_size=200), st.sampled_from(PATHS))
@settings(max_examples=80)
def test_any_bytes_get_an_answer(agentgym: str, body: bytes, path: str) -> None:
    answer = HTTP.post(agentgym + path, content=body)
    assert answer.status_code in (200, 400, 404, 409, 422)


@given(st.text(max_size=300))
@settings(max_examples=40)
def test_any_text_is_a_step(agentgym: str, text: str) -> None:
    session = HTTP.post(f"{agentgym}/create").json()["id"]
    answer = HTTP.post(f"{agentgym}/step", json={"id": session, "action": text})
    assert answer.status_code == 200, answer.text
    assert isinstance(answer.json()["observation"], str)
    HTTP.post(f"{agentgym}/close", json={"id": session})


@pytest.mark.parametrize("body", [b"[" * 100_000, b'{"id": NaN}', b'{"a": "\\ud800"}', b"\xff\xfe{"])
def test_strange_json_touches_nobody(client: GymClient, body: bytes) -> None:
    session = client.create()
    assert client.http.post("/step", content=body).status_code in (400, 422)
    assert client.post("/step", id=session, action="Hello!")["done"] is False


def test_a_huge_body_is_refused(client: GymClient) -> None:
    session = client.create()
    answer = client.http.post("/step", json={"id": session, "action": "x" * 2**20})
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too_large")
    chunks = client.http.post("/step", content=(b"x" * 2**16 for _ in range(40)))
    assert chunks.status_code == 413
    assert client.post("/step", id=session, action="Hello!")["done"] is False


def test_sessions_at_once_keep_to_themselves(agentgym: str, dataset: Dataset) -> None:
    ids = varied(dataset, 8)

    def hold(id: str) -> float:
        client = GymClient(agentgym)
        return client.play(dataset, id, "oracle", client.create())

    for id in ids:
        opening_of(dataset, id)
    with ThreadPoolExecutor(8) as pool:
        assert [*pool.map(hold, [ids[0]] * 4 + ids[1:5])] == [1.0] * 8
