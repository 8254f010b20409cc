"""What `run.json` fixes: all that changes what agent or user answer, and nothing else."""

import json
from pathlib import Path
from typing import Any

import pytest

from rollout.cli.run import FREE_SETTINGS as FREE_ROLLOUT_SETTINGS
from rollout.cli.run import RolloutOptions, run_record
from rollout.task import TaskList
from skillweave.config.llm import AuthorConfig, ServeConfig, SpeakerConfig
from skillweave.config.sections import Config, RolloutConfig
from skillweave.llm.connections import FREE_SERVE_SETTINGS, FREE_SETTINGS
from skillweave.schema.record import Json
from tests.commands import Done, ran
from tests.llm.protocols import a_completion
from tests.llm.scripted import ScriptedServer, reply
from tests.rollout.offline_agents.clinic import a_dataset, tasks

OTHER: dict[str, Any] = {
    "model": "openai/other",
    "base_url": "https://elsewhere.example/v1",
    "api_key_env": "OTHER_KEY",
    "api": "responses",
    "structured": False,
    "stream": True,
    "reasoning_effort": "high",
    "extra": {"top_k": 20},
    "temperature": 0.5,
    "top_p": 0.5,
    "max_tokens": 100,
    "seed": 3,
    "replay_reasoning": True,
    "serve": {"reasoning_parser": "qwen3"},
}
"""Another value of each setting of a speaker."""
OTHER_SERVER: dict[str, Any] = {
    "command": ["/opt/vllm"],
    "port": 8001,
    "tool_call_parser": "other",
    "reasoning_parser": "qwen3",
    "arguments": ["--quantization", "fp8"],
    "start_timeout_s": 5.0,
}
OTHER_ROLLOUT: dict[str, Any] = {
    "agent": "offline/random",
    "user": "openai/m",
    "engine": "mcp",
    "prompt": "compact",
    "skill": "LICENSE",
    "max_turns": 7,
    "max_calls": 7,
    "timeout_s": 7.0,
    "trials": 7,
    "personas": 7,
    "max_concurrency": 7,
    "max_parallel_agents": 7,
    "processes": 7,
    "record_tokens": True,
    "parts": {"agent": "react"},
}
MODEL = {"model": "openai/m", "base_url": "http://127.0.0.1:1/v1"}


def fixed(**rollout: Any) -> dict[str, Json]:
    config = Config(rollout=RolloutConfig.model_validate(rollout))
    record = run_record(config, TaskList("own/1", {}), RolloutOptions(Path(), Path()))
    return {name: value for name, value in record.items() if name != "asked"}


@pytest.mark.parametrize("side", ["agent", "user"])
@pytest.mark.parametrize("name", [*SpeakerConfig.model_fields])
def test_a_setting_of_a_speaker_is_fixed_unless_it_changes_no_answer(side: str, name: str) -> None:
    """A new setting has no other value here, so whoever adds one has to decide what it is."""
    changed = fixed(**{"agent": MODEL, "user": MODEL, side: MODEL | {name: OTHER[name]}})
    assert (changed == fixed(agent=MODEL, user=MODEL)) == (name in FREE_SETTINGS)


@pytest.mark.parametrize("name", [*ServeConfig.model_fields])
def test_a_setting_of_a_server_is_fixed_unless_it_changes_no_answer(name: str) -> None:
    agent = {"model": "vllm/m", "serve": {}}
    changed = fixed(agent=agent | {"serve": {name: OTHER_SERVER[name]}})
    assert (changed == fixed(agent=agent)) == (name in FREE_SERVE_SETTINGS)


@pytest.mark.parametrize("name", [*RolloutConfig.model_fields])
def test_a_setting_of_rollouts_is_fixed_unless_it_changes_no_trajectory(name: str) -> None:
    assert (fixed(**{name: OTHER_ROLLOUT[name]}) == fixed()) == (name in FREE_ROLLOUT_SETTINGS)


def test_all_settings_that_are_left_free_exist() -> None:
    assert {*AuthorConfig.model_fields, "fallback"} >= FREE_SETTINGS
    assert {*ServeConfig.model_fields} >= FREE_SERVE_SETTINGS
    assert {*RolloutConfig.model_fields} >= FREE_ROLLOUT_SETTINGS


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("http://127.0.0.1:8000/v1", "http://127.0.0.1:8001/v1", True),
        ("http://localhost:8000/v1", "http://[::1]:9/v1/", True),
        ("https://api.openai.com/v1", None, True),
        ("https://a.example/v1", "https://a.example/v1/", True),
        ("https://a.example/v1", "https://b.example/v1", False),
        ("https://a.example/v1", None, False),
        ("http://127.0.0.1:8000/v1", None, False),
        ("http://127.0.0.1:8000/openai/v1", "http://127.0.0.1:8000/groq/v1", False),
        ("http://localhost:8000/openai/v1", "http://[::1]:9/openai/v1/", True),
        ("http://127.0.0.1:8000/v1", "https://127.0.0.1:8000/v1", False),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000/v1", False),
        ("http://10.0.0.1:8000/v1", "http://10.0.0.2:8000/v1", False),
    ],
)
def test_a_server_on_this_machine_is_the_same_on_any_port(one: str, other: str | None, is_same: bool) -> None:
    first, second = (fixed(agent={"model": "openai/m", "api": "chat", "base_url": url}) for url in (one, other))
    differing = {key for key in ("base_url",) if first["agent"][key] != second["agent"][key]}  # type: ignore[index, call-overload]
    assert (not differing) == is_same


def rolled(place: Path, url: str, *more: str) -> Done:
    agent = f"rollout.agent={{model: openai/m, base_url: {url}/v1, reasoning_effort: low}}"
    return ran("rollout", "run", "--outputs", "outputs", "--set", agent, *more, place=place)


def test_another_effort_or_field_of_the_request_is_refused_and_another_port_is_not(tmp_path: Path) -> None:
    a_dataset(tmp_path / "outputs", tasks()[:1])
    answer = json.dumps({"text": "I see. Goodbye.", "agrees": None, "wants_human": False, "done": True})
    with ScriptedServer(reply(a_completion(answer))) as server:
        assert rolled(tmp_path, server.url).returncode == 0
    path = tmp_path / "rollouts" / "SmallClinic.jsonl"
    (record,) = (json.loads(line) for line in path.read_text().splitlines())
    assert record["agent"]["sampling"] == record["user"]["sampling"] == {"reasoning_effort": "low"}
    with ScriptedServer(reply(a_completion(answer))) as server:
        done = rolled(tmp_path, server.url)
        assert (done.returncode, server.heard) == (0, [])
        for setting, words in (
            ("reasoning_effort=high", 'agent.reasoning_effort is "low" there and "high" now'),
            ("extra={top_k: 20}", 'agent.extra is {} there and {"top_k": 20} now'),
            ("structured=false", "agent.structured is true there and false now"),
        ):
            for dry in ((), ("--dry-run",)):
                done = rolled(tmp_path, server.url, "--set", f"rollout.agent.{setting}", *dry)
                assert (done.returncode, done.stderr.count("\n"), words in done.stderr) == (2, 1, True), done.stderr
        assert server.heard == []


def test_a_folder_of_an_earlier_version_goes_on_and_says_what_it_cannot_know(tmp_path: Path) -> None:
    a_dataset(tmp_path / "outputs", tasks()[:1])
    answer = json.dumps({"text": "I see. Goodbye.", "agrees": None, "wants_human": False, "done": True})
    with ScriptedServer(reply(a_completion(answer))) as server:
        assert rolled(tmp_path, server.url).returncode == 0
        path = tmp_path / "rollouts" / "run.json"
        run = json.loads(path.read_text())
        for side in ("agent", "user"):
            run[side] = {name: run[side][name] for name in ("model", "sampling", "replay_reasoning")}
        path.write_text(json.dumps(run))
        done = rolled(tmp_path, server.url)
        assert done.returncode == 0
        assert (
            "run.json of 'rollouts' is older and does not say agent.reasoning_effort; it is taken to be \"low\", as now"
            in done.stdout
        )
        assert json.loads(path.read_text())["agent"]["reasoning_effort"] == "low"
        done = rolled(tmp_path, server.url, "--set", "rollout.agent.reasoning_effort=high")
        assert (done.returncode, "agent.reasoning_effort" in done.stderr) == (2, True)
        run["agent"]["sampling"] = {"temperature": 0.5}
        path.write_text(json.dumps(run))
        done = rolled(tmp_path, server.url)
        assert (done.returncode, "agent.sampling" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    "url",
    [
        "http://user:sec-ret@host/v1?key=sec-ret",
        "http://host/v1?key=sec-ret",
        "http://host/v1?a=b&key=sec-ret#x",
        "user:sec-ret@host/v1",
        "htp:/user:sec-ret@host/v1",
        f"http://user:{'sec-ret' * 20}@host/v1",
        "https://sec-ret@host/v1",
    ],
)
@pytest.mark.parametrize("words", [["--set", "rollout.agent={{model: openai/m, base_url: '{}'}}"], ["--agent", "{}"]])
def test_no_password_and_no_key_of_an_address_is_shown(url: str, words: list[str], tmp_path: Path) -> None:
    done = ran("rollout", "run", *(word.format(url) for word in words), place=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "sec-ret" not in done.stdout + done.stderr


def test_a_folder_that_holds_an_address_with_a_key_does_not_show_it(tmp_path: Path) -> None:
    a_dataset(tmp_path / "outputs", tasks()[:1])
    assert ran("rollout", "run", "--outputs", "outputs", place=tmp_path).returncode == 0
    path = tmp_path / "rollouts" / "run.json"
    run = json.loads(path.read_text())
    run["agent"]["base_url"] = "http://user:sec-ret@host/v1?key=sec-ret"
    path.write_text(json.dumps(run))
    done = ran("rollout", "run", "--outputs", "outputs", place=tmp_path)
    assert done.returncode == 2
    assert 'agent.base_url is "http://***@host/v1?key=***" there' in done.stderr
    assert "sec-ret" not in done.stderr
