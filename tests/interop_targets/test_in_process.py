"""The framework classes play tasks of all kinds in their frameworks: the oracle passes, and `nothing` fails."""

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from skillweave.world.dataset import Dataset
from tests.interop_targets.conftest import Exports
from tests.interop_targets.endpoint import scripted_endpoint
from tests.interop_targets.environments import LIGHT, ROOT, TORCH, VERIFIERS, VERIFIERS_V0
from tests.interop_targets.target import SCRIPTS, command_in, in_target

pytestmark = pytest.mark.interop
TASKS = 50


def assert_rewards(played: dict[str, Any], agents: Sequence[str] = ("oracle", "nothing")) -> None:
    """The oracle has reward 1 and `nothing` has 0, on tasks of more than one kind."""
    oracle, nothing = (played[agent] for agent in agents)
    assert [game for game in oracle if game["reward"] != 1] == []
    assert [game for game in nothing if game["reward"] != 0] == []
    assert len({game["kind"] for game in oracle}) > 1
    assert len(oracle) == len(nothing) > 1


def test_skyrl_gym_plays_the_rows_of_an_export(small: Path, exports: Exports) -> None:
    played = in_target(LIGHT, "skyrl_gym_plays.py", small, exports("skyrl") / "train.parquet", TASKS)
    assert_rewards(played)
    assert played["cut"]["metrics"]["truncated"] == 1
    assert played["cut"]["reward"] == 0
    assert played["means"]["passed"] == 1
    assert played["means"]["scored"] == len(played["oracle"])


def test_gymnasium_checks_the_environment_and_plays_it(small: Path) -> None:
    played = in_target(LIGHT, "gymnasium_plays.py", small, TASKS)
    assert_rewards(played)
    assert played["warnings"] == []
    assert len(set(played["drawn"])) == 1
    assert played["number"]


def test_trl_reads_the_tools_as_they_are_and_its_way_of_calling_them_plays(small: Path) -> None:
    played = in_target(LIGHT, "trl_grpo_plays.py", small, TASKS)
    assert_rewards(played)
    assert played["definitions"] > 20
    assert played["unplayed"] == 0


def test_inspect_evaluates_what_its_mock_model_says(small: Path, tmp_path: Path) -> None:
    assert_rewards(in_target(LIGHT, "inspect_plays.py", small, TASKS, tmp_path))


def test_inspect_finds_the_task_by_its_file(small: Path, tmp_path: Path) -> None:
    command = [SCRIPTS / "inspect_offline.py", "eval", f"{ROOT}/interop/frameworks/inspect_task.py@skillweave"]
    options = ["-T", f"outputs={small}", "-T", "limit=2", "--model", "mockllm/model", "--display", "plain"]
    told = command_in(LIGHT, *command, *options, "--log-dir", tmp_path, "--log-format", "json")
    assert "skillweave (2 samples)" in told
    [log] = map(json.loads, (file.read_text("utf-8") for file in tmp_path.glob("*.json")))
    assert log["status"] == "success"
    assert [sample["scores"]["episode_reward"]["value"] for sample in log["samples"]] == [0, 0]


def test_verl_holds_conversations_in_the_tokens_of_the_model(small: Path, exports: Exports, tiny: Path) -> None:
    played = in_target(TORCH, "verl_plays.py", small, exports("verl"), tiny, TASKS)
    assert_rewards(played)
    assert [game["passed"] for game in played["oracle"]] == [1] * len(played["oracle"])
    full, one_turn = played["cut"]
    assert (full["tokens"], full["reward"]) == (50, 0)
    assert (one_turn["turns"], one_turn["reward"]) == (2, 0)


@pytest.fixture
def endpoint(small: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """An endpoint whose models are scripted agents, and a key for it."""
    monkeypatch.setenv("SCRIPTED_KEY", "none")
    with scripted_endpoint(small) as url:
        yield url


@pytest.mark.parametrize("agent", ["oracle", "nothing"])
def test_vf_eval_of_version_0_has_the_rewards(endpoint: str, small: Path, tmp_path: Path, agent: str) -> None:
    given = ["-a", json.dumps({"outputs": str(small)}), "-m", agent, "-b", endpoint, "-k", "SCRIPTED_KEY"]
    options = ["-n", "12", "-r", "2", "-s"]
    command_in(VERIFIERS_V0, "interop.frameworks.verifiers_v0", *given, *options, cwd=tmp_path, program="vf-eval")
    [file] = tmp_path.rglob("results.jsonl")
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    assert len(rows) == 24
    assert {row["reward"] for row in rows} == {float(agent == "oracle")}
    assert not any(row["error"] for row in rows)


@pytest.mark.parametrize("agent", ["oracle", "nothing"])
def test_vf_eval_has_the_rewards(
    endpoint: str, small: Path, tmp_path: Path, agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{VERIFIERS.folder / 'bin'}{os.pathsep}{os.environ['PATH']}")
    dataset = Dataset(small)
    given = ["--env.taskset.outputs", small, "--env.agent.runtime.type", "subprocess", "-m", agent]
    client = ["--client.base-url", endpoint, "--client.api-key-var", "SCRIPTED_KEY", "--no-push", "--no-rich"]
    command_in(VERIFIERS, "skillweave-tasks", *given, *client, "-n", "12", "-s", cwd=tmp_path, program="vf-eval")
    [file] = tmp_path.rglob("traces.jsonl")
    episodes = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    assert len(episodes) == 12
    assert [episode["errors"] for episode in episodes if not episode["ok"]] == []
    for episode in episodes:
        [trace] = episode["traces"]
        assert trace["rewards"]["reward"]["score"] == float(agent == "oracle")
        assert trace["task"]["data"]["id"] in dataset.tasks
        assert len(trace["tools"]) > 0
