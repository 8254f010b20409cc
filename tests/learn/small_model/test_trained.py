"""A model learns a few conversations by heart in seconds, and its server speaks like vLLM's."""

import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from skillweave.llm.backends.vllm import VllmServer
from tests.interop_targets.environments import TORCH, unavailable
from tests.interop_targets.target import command_in, environment_variables
from tests.learn.small_model.conversations import TOOLS, a_conversation, write_conversations

pytestmark = pytest.mark.interop
SMALL = ("--width", "64", "--batch", "4", "--learning-rate", "0.004", "--threads", "1")
NEVER_SEEN = 100
"""The number of a conversation whose ids and days stand in none of those that were learned."""


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_conversations(tmp_path_factory.mktemp("data") / "train.jsonl", 60)


def train(data: Path, to: Path, *options: str) -> str:
    return command_in(TORCH, "-m", "learn.small_model", "train", "--data", data, "--to", to, *SMALL, *options)


@pytest.fixture(scope="module")
def model(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model") / "model"
    train(data, folder, "--seed", "1", "--epochs", "40")
    return folder


@pytest.fixture(scope="module")
def url(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A served model."""
    log = tmp_path_factory.mktemp("log") / "serve.log"
    command = (str(TORCH.python), "-m", "learn.small_model")
    server = VllmServer(str(model), log=log, command=command, environment=environment_variables(TORCH))
    with log.open("wb") as stream:
        process = subprocess.Popen(
            server.command, env={**os.environ, **environment_variables(TORCH)}, stdout=stream, stderr=stream
        )
    try:
        wait_for(f"http://127.0.0.1:{server.port}/health", process)
        yield server.base_url
    finally:
        process.kill()
        process.wait()


def wait_for(url: str, process: "subprocess.Popen[bytes]") -> None:
    last = time.monotonic() + 120
    while time.monotonic() < last and process.poll() is None:
        try:
            urlopen(url).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise AssertionError(f"no answer from {url}; status {process.poll()}")


def ask(url: str, **body: object) -> Any:
    request = Request(f"{url}/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urlopen(request) as answer:
        return json.load(answer)


def refusal(url: str, data: bytes) -> tuple[int, Any]:
    """The status and the error of a request that is refused."""
    with pytest.raises(HTTPError) as refused:
        urlopen(Request(f"{url}/chat/completions", data))
    return refused.value.code, json.load(refused.value)["error"]


def test_a_model_copies_ids_dates_and_amounts_that_it_never_saw(url: str) -> None:
    messages = a_conversation(NEVER_SEEN)["messages"]
    for place, wanted in enumerate(messages):
        if wanted["role"] != "assistant":
            continue
        completion = ask(url, model="m", messages=messages[:place], tools=TOOLS, temperature=0)
        message = completion["choices"][0]["message"]
        assert [call["function"]["name"] for call in message.get("tool_calls", [])] == [
            call["function"]["name"] for call in wanted.get("tool_calls", [])
        ]
        for call, of in zip(message.get("tool_calls", []), wanted.get("tool_calls", []), strict=True):
            assert json.loads(call["function"]["arguments"]) == json.loads(of["function"]["arguments"])
        assert message["content"] == wanted.get("content")
        assert completion["usage"]["completion_tokens"] > 0


def test_a_high_temperature_gives_variety_and_a_seed_repeats_it(url: str) -> None:
    messages = a_conversation(NEVER_SEEN)["messages"][:2]
    drawn = [
        json.dumps(ask(url, messages=messages, tools=TOOLS, temperature=3, seed=seed)["choices"])
        for seed in (1, 2, 3, 1, 2, 3)
    ]
    assert drawn[:3] == drawn[3:]
    assert len({*drawn}) > 1


def test_no_tool_is_called_that_is_not_offered(url: str) -> None:
    messages = a_conversation(NEVER_SEEN)["messages"][:2]
    for further in ({}, {"tools": TOOLS, "tool_choice": "none"}, {"tools": [{"function": {"name": "unheard_of"}}]}):
        message = ask(url, messages=messages, max_tokens=20, **further)["choices"][0]["message"]
        assert "tool_calls" not in message


def test_replies_are_cut_at_max_tokens(url: str) -> None:
    completion = ask(url, messages=a_conversation()["messages"][:2], tools=TOOLS, max_tokens=2)
    assert completion["choices"][0]["finish_reason"] == "length"
    assert completion["usage"]["completion_tokens"] == 2


def test_the_model_is_listed(url: str, model: Path) -> None:
    with urlopen(f"{url}/models") as answer:
        assert [each["id"] for each in json.load(answer)["data"]] == [str(model)]


@pytest.mark.parametrize(
    "body",
    [
        b"{torn",
        b"[]",
        b"[" * 100_000,
        b"{}",
        b'{"messages": [{"role": "user", "content": "x"}], "temperature": "hot"}',
        b'{"messages": [{"role": "user", "content": "x"}], "temperature": NaN}',
        b'{"messages": [{"role": "user", "content": "x"}], "top_p": 0}',
        b'{"messages": [{"role": "user", "content": "x"}], "n": 2}',
        b'{"messages": [{"role": "user", "content": "x"}], "stream": true}',
        b'{"messages": [{"role": "user", "content": "x"}], "tools": [{"function": {"name": 5}}]}',
        b'{"messages": [{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{"}}]}]}',
    ],
)
def test_hostile_requests_are_refused_in_openais_form(url: str, body: bytes) -> None:
    status, error = refusal(url, body)
    assert status == 400
    assert error["type"] == "invalid_request_error"
    assert "\n" not in error["message"]
    assert len(error["message"]) < 300


def test_a_result_of_any_content_is_answered(url: str) -> None:
    for content in (
        "[" * 5000,
        "1e999",
        "2025-99-99 at 99:99",
        "9" * 5000,
        '{"a_cents": 1e300}',
        "²",
        "\x00",
        "[[[]]]",
    ):
        messages = [{"role": "user", "content": content}, {"role": "tool", "content": content}]
        assert ask(url, messages=messages, tools=TOOLS)["choices"]


def test_a_seed_gives_the_same_weights(data: Path, tmp_path: Path) -> None:
    told = [
        train(data, tmp_path / name, "--seed", seed, "--steps", "12") for name, seed in zip("abc", "112", strict=True)
    ]
    assert all("epoch 1 of" in text for text in told)
    losses = [json.loads((tmp_path / name / "training.json").read_text("utf-8"))["losses"] for name in "abc"]
    assert losses[0] == losses[1] != losses[2]
    weights = [(tmp_path / name / "model.pt").read_bytes() for name in "abc"]
    assert weights[0] == weights[1] != weights[2]


def test_a_killed_training_leaves_no_model(data: Path, tmp_path: Path) -> None:
    reason = unavailable(TORCH)
    if reason is not None:
        pytest.skip(reason)
    given = ["--data", str(data), "--to", str(tmp_path / "model"), *SMALL, "--epochs", "1000"]
    process = subprocess.Popen(
        [str(TORCH.python), "-m", "learn.small_model", "train", *given],
        env=environment_variables(TORCH),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    while "epoch 1 of" not in process.stdout.readline():
        assert process.poll() is None
    process.kill()
    process.wait()
    process.stdout.close()
    assert not (tmp_path / "model").exists()


def test_a_folder_that_holds_something_else_is_left_alone(data: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine", "utf-8")
    with pytest.raises(AssertionError, match="holds something else; give --to a new or an empty one"):
        train(data, tmp_path, "--steps", "1")
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_folder_without_a_model_is_not_served(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="there is no trained model in"):
        command_in(TORCH, "-m", "learn.small_model", "serve", tmp_path)
