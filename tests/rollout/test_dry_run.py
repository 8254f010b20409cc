"""`--dry-run` says what would be held and what it would take, needs no key, and leaves no file."""

import json
import re
from pathlib import Path

import pytest

from rollout.forecast import Forecast
from rollout.shards import open_source
from skillweave.config.sections import Config
from tests.commands import Done, ran
from tests.llm.protocols import a_completion
from tests.llm.scripted import ScriptedServer, reply
from tests.rollout.offline_agents.clinic import a_dataset, tasks

PRICES = "llm.prices={openai/m: {input: 1000, output: 10000}}"
COUNT = len(tasks())


@pytest.fixture
def place(tmp_path: Path) -> Path:
    a_dataset(tmp_path / "outputs")
    return tmp_path


def files(place: Path) -> list[str]:
    return sorted(str(path.relative_to(place)) for path in place.rglob("*"))


def planned(place: Path, *more: str) -> Done:
    return ran("rollout", "run", "--outputs", "outputs", *more, "--dry-run", place=place)


def total(done: Done) -> list[str]:
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("total")]
    return line.split()[1:]


def test_it_counts_what_is_owed_and_estimates_a_range_without_a_key_or_a_file(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    before = files(place)
    done = planned(place, "--agent", "openai/m", "--trials", "2", "--set", PRICES)
    assert (done.returncode, done.stderr) == (0, "")
    assert total(done)[:4] == [str(COUNT), str(2 * COUNT), "0", str(2 * COUNT)]
    assert "estimated from the prompts and tools of these tasks" in done.stdout
    figures = r"about [\d,]+ to [\d,]+ requests, [\d,]+ to [\d,]+ tokens, \$[\d,.]+ to \$[\d,.]+; nothing was written"
    assert re.search(rf"in all {2 * COUNT} conversations, {figures}", done.stdout)
    assert files(place) == before


def test_longer_prompts_and_more_calls_take_more(place: Path) -> None:
    def tokens(*values: tuple[str, object]) -> float:
        config = Config.model_validate(
            {"outputs_dir": str(place / "outputs"), "rollout": {"agent": "openai/m", **dict(values)}}
        )
        low, high = Forecast(config, source := open_source(config).source).of(source.ids())
        assert low.total.requests < high.total.requests
        return low.total.tokens_in

    (place / "skill.md").write_text("Be kind. " * 1000)
    assert tokens(("prompt", "compact")) < tokens() < tokens(("skill", str(place / "skill.md")))
    assert tokens(("user", "offline/user")) < tokens()


def test_conversations_in_the_folder_are_measured_and_a_run_says_what_it_will_cost(place: Path) -> None:
    answer = json.dumps({"text": "I see. Goodbye.", "agrees": None, "wants_human": False, "done": True})
    usage = {"prompt_tokens": 1000, "completion_tokens": 10, "total_tokens": 1010}
    with ScriptedServer(reply({**a_completion(answer), "usage": usage})) as server:
        agent = ("--set", f"rollout.agent={{model: openai/m, base_url: {server.url}/v1}}", "--set", PRICES)
        held = ran("rollout", "run", "--outputs", "outputs", *agent, "--limit", "1", place=place)
    assert held.returncode == 0
    assert re.search(r"^1 conversation: about [\d,]+ to .* \$[\d,.]+ to \$[\d,.]+$", held.stdout, re.MULTILINE)
    before = files(place)
    done = planned(place, *agent, "--limit", "3")
    assert total(done) == ["3", "3", "1", "2", "4", "4,000", "40", "$4.40"]
    assert "estimated from the 1 conversations that the folder holds" in done.stdout
    assert "in all 2 conversations, about 4 requests, 4,040 tokens, $4.40; nothing was written" in done.stdout
    done = planned(place, *agent, "--limit", "1")
    assert "nothing would run" in done.stdout
    assert files(place) == before


def test_without_a_price_the_cost_is_unknown_and_scripted_agents_cost_nothing(place: Path) -> None:
    assert "cost unknown: give prices in llm.prices" in planned(place, "--agent", "openai/m").stdout
    done = planned(place)
    assert total(done)[-1] == "$0.00"
    assert "scripted agents and users take no tokens" in done.stdout


@pytest.mark.parametrize(
    ("more", "complaint"),
    [
        (["--agent", "offline/orcle"], "Did you mean 'oracle'?"),
        (["--user", "offline/usr"], "unknown user 'offline/usr'"),
        (["--agent", "opnai/m"], "unknown author 'opnai/m'"),
        (["--agent", "openai/m", "--set", "llm.budget_usd=1"], "nobody knows what 'openai/m' costs"),
        (["--tasks", "Nowhere"], "--tasks 'Nowhere' matches none"),
        (["--agent", "no_such_module:Echo/x", "--user", "offline/user"], "cannot be loaded: ModuleNotFoundError"),
        (["--user", "tests.rollout.own_parts:BROKEN/x"], "'tests.rollout.own_parts:BROKEN' is no class, but int"),
        (
            ["--set", "rollout.parts.runner=no_such_module:Runner"],
            "rollout.parts.runner 'no_such_module:Runner' cannot",
        ),
        (["--set", "rollout.parts.dispatcher=tests.rollout.own_parts:fails"], "RuntimeError: it is broken"),
        (["--set", "rollout.parts.backend=tests.rollout.own_parts:fails"], "RuntimeError: it is broken"),
        (["--set", "rollout.skill=no-such.md"], "rollout.skill 'no-such.md' cannot be read"),
    ],
)
def test_it_refuses_what_a_run_would_refuse(place: Path, more: list[str], complaint: str) -> None:
    done = planned(place, *more)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert complaint in done.stderr


def test_it_says_which_key_is_needed_and_ends_with_the_command_to_give(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    done = planned(place, "--agent", "openai/m", "--tasks", "Small*")
    assert "before the run, set the key that it will need: OPENAI_API_KEY" in done.stdout
    assert done.stdout.endswith("next: python -m rollout run --outputs outputs --agent openai/m --tasks 'Small*'\n"), (
        done.stdout
    )
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    assert "before the run" not in planned(place, "--agent", "openai/m").stdout


def test_a_setting_of_the_agent_without_a_model_leaves_the_usual_agent(place: Path) -> None:
    done = ran("rollout", "run", "--outputs", "outputs", "--set", "rollout.agent.temperature=0.5", place=place)
    assert (done.returncode, done.stderr) == (0, "")
    assert "conversations of offline/oracle" in done.stdout


def test_a_folder_of_another_run_is_refused_before_a_server_is_started(place: Path) -> None:
    assert ran("rollout", "run", "--outputs", "outputs", "--limit", "1", place=place).returncode == 0
    (place / "vllm").write_text("#!/bin/sh\ntouch started\nexit 1\n")
    (place / "vllm").chmod(0o755)
    agent = f"rollout.agent={{model: vllm/m, serve: {{command: [{place / 'vllm'}]}}}}"
    done = ran("rollout", "run", "--outputs", "outputs", "--set", agent, place=place)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert "holds trajectories of another run" in done.stderr
    assert not (place / "started").exists()


@pytest.mark.parametrize("dry", [(), ("--dry-run",)])
def test_where_no_dataset_is_the_option_is_named(tmp_path: Path, dry: tuple[str, ...]) -> None:
    done = ran("rollout", "run", *dry, place=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "there is no outputs folder 'outputs'; name the one that a run wrote with --outputs-dir" in done.stderr
