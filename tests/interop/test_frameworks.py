"""Framework classes where their frameworks are not installed, and what needs none. Those play in `interop_targets`."""

import importlib
import importlib.util
import json
from pathlib import Path

import pytest

from interop.episode import EpisodeError
from interop.frameworks import trl_grpo
from interop.frameworks.shared import OUTPUTS_VARIABLE, DatasetOptions, options_from
from interop.words import SPEAK
from rollout.task import Definition
from skillweave.base.errors import ConfigError
from skillweave.schema.trajectory import Message
from tests.interop.driver import player, results, scripted

PACKAGES = {
    "skyrl_gym": "skyrl-gym",
    "gymnasium_env": "gymnasium",
    "verifiers_v0": "verifiers<0.4",
    "verifiers_v1": "verifiers",
    "inspect_task": "inspect-ai",
    "verl_agent_loop": "verl",
}


@pytest.mark.parametrize("module", PACKAGES)
def test_a_module_without_its_framework_says_what_to_install(module: str) -> None:
    with pytest.raises(ImportError) as told:
        importlib.import_module(f"interop.frameworks.{module}")
    assert "pip install" in str(told.value)
    assert PACKAGES[module] in str(told.value)
    assert "\n" not in str(told.value)


def test_without_an_outputs_folder_a_line_says_how_to_name_one(monkeypatch: pytest.MonkeyPatch, small: Path) -> None:
    monkeypatch.delenv(OUTPUTS_VARIABLE, raising=False)
    with pytest.raises(ConfigError, match=OUTPUTS_VARIABLE):
        DatasetOptions().factory()
    monkeypatch.setenv(OUTPUTS_VARIABLE, str(small))
    assert DatasetOptions().factory() is DatasetOptions(str(small)).factory()


def test_the_first_source_that_names_an_option_counts() -> None:
    options = options_from(
        {"outputs": "a", "user": None}, {"outputs": "b", "user": "m/n"}, DatasetOptions(compact=True)
    )
    assert options == DatasetOptions("a", "m/n", compact=True)


def test_methods_of_a_class_for_trl_are_the_tools_of_its_tasks(small: Path) -> None:
    classes = trl_grpo.environments(str(small))
    rows = trl_grpo.rows(str(small))
    assert {row["environment"] for row in rows} == {*classes}
    factory = DatasetOptions(str(small)).factory()
    for row in rows[::5]:
        for agent, reward in (("oracle", 1), ("nothing", 0)):
            environment = classes[row["environment"]]()
            environment.reset(**row)
            assert environment._environment is not None
            episode = environment._environment.episode
            talk = player(scripted(agent, factory.dataset), row["task_id"], episode.messages, episode.tools)
            message = next(talk)
            while True:
                texts = [
                    getattr(environment, call.function.name)(**call.function.arguments)  # type: ignore[arg-type]
                    for call in message.tool_calls or ()
                    if not episode.done
                ]
                if not message.tool_calls:
                    texts = [environment.reply_to_user(message.content or "")]
                if episode.done:
                    break
                user = [Message(role="user", content=text) for text in texts]
                message = talk.send(results(message, texts) if message.tool_calls else user)
            assert environment.get_reward() == reward, row["task_id"]


def test_a_call_after_the_end_is_an_error_and_the_reward_stays(small: Path) -> None:
    [row, *_] = trl_grpo.rows(str(small))
    environment = trl_grpo.environments(str(small))[row["environment"]]()
    assert environment.get_reward() is None
    environment.reset(**row)
    assert environment.get_reward() == 0
    with pytest.raises(EpisodeError, match="over"):
        environment.reply_to_user("Hello!")
    assert environment.get_reward() == 0


@pytest.mark.parametrize("name", ["reset", "get_reward", SPEAK, "two words", "class", "_hidden"])
def test_a_tool_that_cannot_be_a_method_is_refused(name: str) -> None:
    tool: Definition = {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}
    with pytest.raises(ConfigError, match=json.dumps(name).strip('"')):
        trl_grpo.environment_class("Any", [tool], DatasetOptions())


def test_parameters_that_are_words_of_python_reach_the_tool_by_their_own_names(monkeypatch: pytest.MonkeyPatch) -> None:
    schema = {"type": "object", "properties": {"from": {"type": "string"}}, "required": ["from"]}
    tool: Definition = {"type": "function", "function": {"name": "travel", "parameters": schema}}  # type: ignore[dict-item]
    made = trl_grpo.environment_class("Any", [tool], DatasetOptions())
    taken: list[object] = []
    monkeypatch.setattr(made, "_take", lambda self, action: taken.append(action) or "")  # type: ignore[func-returns-value]
    made().travel(from_="here")  # type: ignore[attr-defined]
    assert taken == [{"name": "travel", "arguments": {"from": "here"}}]
