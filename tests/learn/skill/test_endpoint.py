"""Whole runs on questions of a folder, with agent and optimizer behind an endpoint: budget, kills, failed calls."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from rollout.folder import RolloutFolder
from tests.commands import Done, ran
from tests.learn.skill.test_run import KILLED, bytes_of, history_of, killed_after
from tests.llm.protocols import a_completion
from tests.llm.scripted import Act, Heard, ScriptedServer, fault, reply
from tests.llm.strict import StrictServer

COLOURS = {"sea": "blue", "grass": "green", "blood": "red", "snow": "white"}
KEY = "sk-secret-of-this-test"


def write_items(folder: Path) -> Path:
    """Questions about four things, in each part other ones."""
    for part, count in (("train", 12), ("val", 8), ("test", 8)):
        items = [
            {"id": f"{part}-{number}", "question": f"Which colour has the {thing}, number {number} of {part}?"}
            | {"answers": [colour]}
            for number in range(count)
            for thing, colour in [[*COLOURS.items()][number % 4]]
        ]
        path = folder / part / "items.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(items))
    return folder


def act(heard: Heard) -> Act:
    """The agent knows the colours of its skill; the optimizer proposes those of the things that failed."""
    system = heard.body["messages"][0]["content"]
    last = heard.body["messages"][-1]["content"]
    if "You improve a skill" in system:
        things = [thing for thing in COLOURS if f"has the {thing}" in last]
        edits = [{"op": "append", "content": f"{thing}: {COLOURS[thing]}"} for thing in things[:1]]
        return _said({"batch_size": 1, "reasoning": "", "edits": edits if "failed" in system else []})
    if "You merge proposals" in system:
        edits = [json.loads(line) for line in last.splitlines() if line.startswith("{")]
        return _said({"edits": edits})
    if "You look back over an epoch" in system:
        return _said({"slow_update_content": "Answer with one word."})
    if "You edit a skill step by step" in system:
        return _said({"meta_skill_content": "One thing at a time."})
    thing = re.search(r"has the (\w+)", last)
    assert thing is not None
    known = f"{thing[1]}: {COLOURS[thing[1]]}" in system
    return reply(a_completion(COLOURS[thing[1]] if known else "unknown") | USAGE)


USAGE = {"usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}}


def _said(answer: dict[str, Any]) -> Act:
    return reply(a_completion(json.dumps(answer)) | USAGE)


def trained(place: Path, url: str, out: str, *more: str) -> Done:
    """Train on the questions in a place."""
    model = {"model": "openai/m", "base_url": f"{url}/v1", "api_key_env": "KEY_OF_THIS_TEST"}
    config = {
        "llm": {"max_retries": 1, "outage_s": 1},
        "rollout": {"agent": model},
        "skill": {
            "model": model,
            "items": {"split_dir": str(place / "items")},
            "train": {"num_epochs": 2, "batch_size": 4},
            "optimizer": {"lr_scheduler": "constant"},
        },
    }
    (place / "learn.yaml").write_text(json.dumps(config))
    return ran("learn", "skill", "--config", str(place / "learn.yaml"), "--out", str(place / out), *more)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KEY_OF_THIS_TEST", KEY)
    write_items(tmp_path / "items")
    return tmp_path


def test_a_run_that_was_killed_asks_for_nothing_twice_and_writes_the_same_bytes(place: Path) -> None:
    with ScriptedServer(act) as server:
        done = trained(place, server.url, "whole")
        assert done.returncode == 0, done.stderr
        whole = len(server.heard)
    summary = json.loads((place / "whole/summary.json").read_text())
    assert summary["test"]["initial"]["hard"] == 0
    assert summary["test"]["best"]["hard"] == 1
    with ScriptedServer(act) as server:
        for count in (5, 20):
            with killed_after(RolloutFolder, "append", count), pytest.raises(BaseException, match=KILLED):
                trained(place, server.url, "killed", "--set", "rollout.max_parallel_agents=1")
        assert trained(place, server.url, "killed", "--set", "rollout.max_parallel_agents=1").returncode == 0
        # Each kill lost a conversation that was just over, and the one that began meanwhile.
        assert whole <= len(server.heard) <= whole + 4
    assert bytes_of(place / "killed") == bytes_of(place / "whole")


def test_no_key_is_in_any_file(place: Path) -> None:
    with ScriptedServer(act) as server:
        assert trained(place, server.url, "out").returncode == 0
        assert server.heard[0].headers["authorization"] == f"Bearer {KEY}"
    assert [path for path in (place / "out").rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()] == []


def test_the_budget_is_kept_and_a_larger_one_goes_on(place: Path) -> None:
    prices = "llm.prices={openai/m: {input: 10, output: 10}}"
    limits = ("--set", prices, "--set", "rollout.agent.max_tokens=50", "--set", "skill.model.max_tokens=500")
    with ScriptedServer(act) as server:
        done = trained(place, server.url, "out", *limits, "--set", "llm.budget_usd=0.1")
        assert done.returncode == 1
        assert "budget" in done.stderr
        heard = len(server.heard)
        assert 0 < heard * 110 * 10 / 1e6 <= 0.1
        done = trained(place, server.url, "out", *limits, "--set", "llm.budget_usd=10")
        assert done.returncode == 0, done.stderr
    assert json.loads((place / "out/summary.json").read_text())["test"]["best"]["hard"] == 1


def test_a_call_that_failed_is_owed_and_no_score_of_0(place: Path) -> None:
    broken = {"is": True}

    def now_and_then(heard: Heard) -> Act:
        last = heard.body["messages"][-1]["content"]
        return fault(500) if broken["is"] and "number 3 of val" in last else act(heard)

    with ScriptedServer(now_and_then) as server:
        done = trained(place, server.url, "out")
        assert done.returncode == 1
        assert "1 of 8 conversations are owed" in done.stderr
        assert not (place / "out/history.json").exists()
        broken["is"] = False
        assert trained(place, server.url, "out").returncode == 0
    assert history_of(place / "out")[0]["previous_score"] == 0


def test_answers_that_cannot_be_used_cost_a_step_and_not_the_run(place: Path) -> None:
    def useless(heard: Heard) -> Act:
        is_agent = "Which colour" in heard.body["messages"][-1]["content"] and "You improve" not in str(heard.body)
        return act(heard) if is_agent else reply(a_completion("I would rather not.") | USAGE)

    with ScriptedServer(useless) as server:
        assert trained(place, server.url, "out").returncode == 0
    steps = history_of(place / "out")
    assert {step["action"] for step in steps} == {"skip_no_patches"}
    assert all(step["failed_calls"] for step in steps)


def test_a_skill_that_gives_answers_of_validation_away_is_thrown_out(place: Path) -> None:
    secret = json.loads((place / "items/val/items.json").read_text())
    secret[0]["answers"] = ["the deep blue sea of 1871"]
    (place / "items/val/items.json").write_text(json.dumps(secret))

    def cheats(heard: Heard) -> Act:
        if "You improve a skill" not in heard.body["messages"][0]["content"]:
            return act(heard)
        return _said({"edits": [{"op": "append", "content": "It is the deep blue sea of 1871."}]})

    with ScriptedServer(cheats) as server:
        assert trained(place, server.url, "out").returncode == 0
    steps = history_of(place / "out")
    assert all("an answer of validation or test" in step["leaked_edits"][0] for step in steps)
    assert {step["reason"] for step in steps} == {"unchanged"}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("[", "val/items.json"),
        ("[]", "holds no items"),
        ('[{"id": "a", "question": "?"}]', "answers"),
        ('[{"id": "train-1", "question": "?", "answers": ["x"]}]', "stands in more than one part"),
    ],
)
def test_items_that_are_not_as_they_should_be_are_named(place: Path, content: str, words: str) -> None:
    (place / "items/val/items.json").write_text(content)
    done = trained(place, "http://127.0.0.1:9", "out")
    assert done.returncode in (1, 2)
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_a_skill_that_got_notes_is_scored_with_them(place: Path) -> None:
    """The note is all that the agent needs, so the score after it has to be that of the skill with the note."""

    def reminds(heard: Heard) -> Act:
        if "You improve a skill" not in heard.body["messages"][0]["content"]:
            return act(heard)
        note = "; ".join(f"{thing}: {colour}" for thing, colour in COLOURS.items())
        return _said({"edits": [], "appendix_notes": [note]})

    with ScriptedServer(reminds) as server:
        aware = ("--set", "skill.optimizer.use_skill_aware_reflection=true")
        assert trained(place, server.url, "out", *aware).returncode == 0
    first = history_of(place / "out")[0]
    assert first["action"] == "skip_no_patches"
    assert (first["previous_score"], first["current_score"]) == (0, 1)
    assert json.loads((place / "out/summary.json").read_text())["best_selection_hard"] == 1


@pytest.mark.parametrize(
    "function", [{"name": "look.up it", "arguments": "{}"}, {"name": "f", "arguments": '{"a": NaN'}]
)
def test_bad_calls_of_the_agent_do_not_stop_the_run(place: Path, function: dict[str, str]) -> None:
    def calls_first(heard: Heard) -> Act:
        messages = heard.body["messages"]
        if "You " in messages[0]["content"][:4] or "Which colour" not in messages[-1]["content"]:
            return act(heard)
        if "number 1 of" not in messages[-1]["content"]:
            return act(heard)
        call = {"id": "c", "type": "function", "function": function}
        return reply(a_completion(None, tool_calls=[call], reason="tool_calls") | USAGE)

    def goes_on(heard: Heard) -> Act:
        messages = heard.body["messages"]
        if messages[-1]["role"] != "tool":
            return calls_first(heard)
        question = [said for said in messages if said["role"] == "user"]
        return act(Heard(heard.path, heard.headers, {"messages": [messages[0], *question]}))

    strict = StrictServer(goes_on)
    with ScriptedServer(strict) as server:
        done = trained(place, server.url, "out")
    assert (done.returncode, strict.refused) == (0, []), done.stderr
    assert json.loads((place / "out/summary.json").read_text())["test"]["best"]["hard"] == 1
