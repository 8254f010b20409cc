"""Golden calls and criteria are for the evaluator alone: no agent, user or judge is told of them, no log holds them."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.authors.conftest import Direct
from tests.authors.runs import WORLD
from tests.llm.protocols import a_call, a_completion
from tests.llm.scripted import Act, Heard, ScriptedServer, reply
from tests.pipeline.small import ROOT
from tests.waiting import HANG

GOLDEN = "golden-canary-81c7"
CRITERION = "criterion-canary-42ed"
TASKS = 60
KEPT = 10
"""One of so many tasks stays as it is: the judge is asked about none whose golden calls cannot be made again."""


def planted(direct: Direct, folder: Path) -> Path:
    """The dataset with canaries in the place of all texts in golden arguments and criteria."""
    outputs = folder / "outputs"
    shutil.copytree(direct.outputs, outputs, ignore=shutil.ignore_patterns(".prefect", ".cache", "logs"))
    path = outputs / "queries" / f"{WORLD}.jsonl"
    tasks = [json.loads(line) for line in path.read_text().splitlines()]
    for task in (task for number, task in enumerate(tasks) if number % KEPT):
        for call in task["golden"]:
            call["arguments"] = canaries(call["arguments"], GOLDEN)
        for change in (*task["criteria"]["state"], *task["criteria"]["must_not"]):
            change.update({name: canaries(change[name], CRITERION) for name in ("before", "after") if change.get(name)})
        for told in task["criteria"]["communicate"]:
            told["values"] = [CRITERION]
    path.write_text("".join(json.dumps(task) + "\n" for task in tasks))
    return outputs


def canaries(values: dict[str, Any], canary: str) -> dict[str, Any]:
    return {name: canary if isinstance(value, str) else value for name, value in values.items()}


def agent(heard: Heard) -> Act:
    """Looks something up, and asks what to do."""
    messages = heard.body["messages"]
    if messages[-1]["role"] == "user" and len(messages) < 4:
        tool = heard.body["tools"][0]["function"]["name"]
        return reply(a_completion(None, tool_calls=[a_call(tool, "{}")], reason="tool_calls"))
    return reply(a_completion("What may I do for you?"))


def user(heard: Heard) -> Act:
    """Says something, and soon has enough."""
    return reply(a_completion("As I said." if len(heard.body["messages"]) < 4 else "Never mind. ###STOP###"))


def judge(heard: Heard) -> Act:
    return reply(a_completion("{}"))


@pytest.fixture
def servers() -> Iterator[dict[str, ScriptedServer]]:
    with ExitStack() as stack:
        script = {"agent": agent, "user": user, "judge": judge}
        yield {name: stack.enter_context(ScriptedServer(acts)) for name, acts in script.items()}


def speaking(server: ScriptedServer) -> str:
    return json.dumps({"model": "openai/m", "base_url": f"{server.url}/v1"})


def ran(*command: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=ROOT, env={**os.environ}, capture_output=True, text=True, timeout=HANG
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.stdout + done.stderr


def held(folder: Path) -> set[str]:
    """Files that hold a canary."""
    found = (path for path in sorted(folder.rglob("*")) if path.is_file())
    marks = (GOLDEN.encode(), CRITERION.encode())
    return {str(path.relative_to(folder)) for path in found if any(mark in path.read_bytes() for mark in marks)}


def test_nobody_who_speaks_is_told_what_is_golden(
    direct: Direct, tmp_path: Path, servers: dict[str, ScriptedServer]
) -> None:
    outputs, rollouts, results = planted(direct, tmp_path), tmp_path / "rollouts", tmp_path / "results" / "r.jsonl"
    given = ["--config", str(ROOT / "config.yaml"), "--outputs-dir", str(outputs), "--rollouts-dir", str(rollouts)]
    told = ["--set", f"llm.record={tmp_path / 'cassette.jsonl'}"]
    for speaker in ("agent", "user"):
        told += ["--set", f"rollout.{speaker}={speaking(servers[speaker])}"]
    shown = ran("rollout", "run", *given, *told, "--limit", str(TASKS))
    judged = ["--set", f"llm.judge={speaking(servers['judge'])}", "--enable-subjective", "--output", str(results)]
    shown += ran("evaluator", "run", *given, *judged)
    for name, server in servers.items():
        assert server.heard, (name, shown[-3000:])
        said = json.dumps([heard.body for heard in server.heard])
        assert GOLDEN not in said
        assert name == "judge" or CRITERION not in said
    scored = {f"rollouts/{WORLD}.jsonl", "results/r.jsonl", "results/report.html"}
    assert held(tmp_path) <= {f"outputs/queries/{WORLD}.jsonl", *scored}
    for line in (rollouts / f"{WORLD}.jsonl").read_text().splitlines():
        conversation = {name: value for name, value in json.loads(line).items() if name not in ("score", "error")}
        assert not any(canary in json.dumps(conversation) for canary in (GOLDEN, CRITERION))
    assert GOLDEN not in shown
