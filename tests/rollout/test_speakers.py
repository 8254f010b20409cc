"""Who plays the user: whoever is named, else the agent's own author, and the offline user for scripted agents."""

import json
from pathlib import Path
from typing import Any

import pytest

from rollout.cli.app import main
from rollout.world.source import ONLY_SCRIPTED, reasoning_warnings, user_config, user_warning
from skillweave.config.sections import RolloutConfig
from tests.llm.protocols import a_completion
from tests.llm.scripted import ScriptedServer, reply
from tests.rollout.offline_agents.clinic import a_dataset, tasks

MODEL = {"model": "openai/m", "base_url": "http://127.0.0.1:1/v1", "api_key_env": "MY_KEY", "temperature": 0.7}


def a_rollout(**fields: Any) -> RolloutConfig:
    return RolloutConfig.model_validate(fields)


@pytest.mark.parametrize(
    ("fields", "model"),
    [
        ({}, "offline/user"),
        ({"agent": "offline/random"}, "offline/user"),
        ({"agent": "offline/oracle", "user": "openai/u"}, "openai/u"),
        ({"agent": MODEL}, "openai/m"),
        ({"agent": MODEL, "user": "offline/user"}, "offline/user"),
        ({"agent": MODEL, "user": "anthropic/c"}, "anthropic/c"),
    ],
)
def test_the_user_is_whoever_is_named_else_the_agents_author(fields: dict[str, Any], model: str) -> None:
    assert user_config(a_rollout(**fields)).model == model


def test_the_agents_author_plays_the_user_at_its_usual_sampling() -> None:
    user = user_config(a_rollout(agent=MODEL))
    assert (user.base_url, user.api_key_env, user.temperature) == (MODEL["base_url"], "MY_KEY", None)


def test_an_offline_user_of_a_model_is_said_to_understand_nothing() -> None:
    assert user_warning(a_rollout(agent=MODEL, user="offline/user")) == ONLY_SCRIPTED
    assert user_warning(a_rollout(agent=MODEL)) is None
    assert user_warning(a_rollout()) is None


OPENAI = {"model": "openai/m", "replay_reasoning": True}
HERE = {**OPENAI, "base_url": "http://127.0.0.1:1/v1"}


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"agent": HERE}, None),
        ({"agent": {**HERE, "model": "vllm/m"}}, None),
        ({"agent": OPENAI}, "agent.replay_reasoning has no effect: 'openai/m' gets its reasoning back in any case"),
        ({"agent": {**HERE, "api": "responses"}}, "gets its reasoning back in any case, as its endpoint signed it"),
        ({"agent": {**HERE, "model": "anthropic/m"}}, "gets its reasoning back in any case"),
        ({"agent": {**OPENAI, "api": "chat"}}, "OpenAI's chat API neither gives nor takes reasoning"),
        ({"agent": {**OPENAI, "model": "offline/oracle"}}, "'offline/oracle' does not reason"),
        ({"agent": HERE, "parts": {"agent": "react"}}, "the react agent shows a model the thoughts that it wrote"),
        ({"agent": MODEL, "user": HERE}, "rollout.user.replay_reasoning has no effect: a simulated user"),
    ],
)
def test_a_setting_without_effect_is_told(fields: dict[str, Any], words: str | None) -> None:
    lines = reasoning_warnings(a_rollout(**fields))
    assert lines == [] if words is None else len(lines) == 1 and words in lines[0]


def test_the_run_tells_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outputs = a_dataset(tmp_path / "outputs", tasks()[:1]).store.root
    places = ["--outputs-dir", str(outputs), "--rollouts-dir", str(tmp_path / "rollouts")]
    with pytest.raises(SystemExit):
        main(["run", *places, "--set", "rollout.agent={model: offline/oracle, replay_reasoning: true}"])
    assert "rollout.agent.replay_reasoning has no effect: 'offline/oracle' does not reason" in capsys.readouterr().out


@pytest.mark.parametrize("named", [True, False])
def test_a_run_names_the_user_that_it_really_had(
    named: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outputs = a_dataset(tmp_path / "outputs", tasks()[:1]).store.root
    rollouts, config = tmp_path / "rollouts", tmp_path / "config.yaml"
    answer = json.dumps({"text": "I see. Goodbye.", "agrees": None, "wants_human": False, "done": True})
    with ScriptedServer(reply(a_completion(answer))) as server:
        user = "user: offline/user" if named else ""
        config.write_text(f"rollout:\n  agent: {{model: openai/m, base_url: {server.url}/v1}}\n  {user}\n")
        arguments = ["run", "--config", str(config), "--outputs-dir", str(outputs), "--rollouts-dir", str(rollouts)]
        with pytest.raises(SystemExit) as ended:
            main(arguments)
    assert ended.value.code == 0
    model = "offline/user" if named else "openai/m"
    assert json.loads((rollouts / "run.json").read_text())["user"]["model"] == model
    (line,) = (rollouts / "SmallClinic.jsonl").read_text().splitlines()
    held = json.loads(line)
    assert held["user"]["backend"] == model
    assert held["user_turns"][-1]["done"] is True
    shown = capsys.readouterr().out
    assert (ONLY_SCRIPTED in shown) == named
    assert "0 answers of the user sent back" in shown
    assert "0 of 1 conversations lost to the user" in shown
