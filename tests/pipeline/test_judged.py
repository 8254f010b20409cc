"""Judged evaluations by the command that users give, with a judge on the loopback that speaks the real protocol."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.commands import ran
from tests.llm.protocols import a_completion
from tests.llm.scripted import Act, Heard, ScriptedServer, fault, reply
from tests.pipeline.test_evaluation import by_id, told
from tests.pipeline.test_rollouts import rolled_out

Record = dict[str, Any]


@pytest.fixture(scope="module")
def rollouts(small: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("judged")
    rolled_out(small, folder, "--limit", "12")
    return folder


def answered(heard: Heard) -> Act:
    """Yes to every point, and three of five for the manner."""
    points = sorted(set(re.findall(r"^\W*([rs]\d+)\b", heard.body["messages"][-1]["content"], re.MULTILINE)))
    rubric = [{"question": one, "why": "Seen.", "met": True} for one in points if one.startswith("r")]
    manner = [{"question": one, "why": "So so.", "rating": 3} for one in points if one.startswith("s")]
    return reply(a_completion(json.dumps({"rubric": rubric, "subjective": manner})))


def judged_by(server: ScriptedServer) -> list[str]:
    spec = json.dumps({"model": "openai/m", "base_url": f"{server.url}/v1"})
    return ["--enable-subjective", "--set", f"llm.judge={spec}", "--set", "llm.max_retries=0"]


def test_a_judgement_is_added_to_each_result_and_paid_for_once(small: Path, rollouts: Path, tmp_path: Path) -> None:
    output = tmp_path / "results.jsonl"
    with ScriptedServer(answered) as server:
        done = ran(*told(small, rollouts, output), *judged_by(server))
        assert done.returncode == 0, done.stdout + done.stderr
        asked = len(server.heard)
        again = ran(*told(small, rollouts, output), *judged_by(server), "--no-cache")
        assert again.returncode == 0, again.stdout + again.stderr
        assert len(server.heard) == asked == 12
    results = by_id(output)
    assert len(results) == 12
    for one in results.values():
        assert one["passed"] is True
        assert (one["checks"]["rubric"]["score"], one["checks"]["subjective"]["score"]) == (1.0, 0.5)
        assert one["checks"]["rubric"]["judge"] == "openai/m"
    assert "judged by openai/m" in done.stdout


def test_a_judge_that_fails_costs_no_score_and_is_asked_again(small: Path, rollouts: Path, tmp_path: Path) -> None:
    output = tmp_path / "results.jsonl"
    broken = {"left": 3}

    def sometimes(heard: Heard) -> Act:
        broken["left"] -= 1
        return fault(400) if broken["left"] >= 0 else answered(heard)

    with ScriptedServer(sometimes) as server:
        done = ran(*told(small, rollouts, output), *judged_by(server))
        assert done.returncode == 1
        assert "3 conversations got no usable judgement" in done.stdout
        found = [one["checks"]["rubric"] is None for one in by_id(output).values()]
        assert sum(found) == 3
        assert {one["passed"] for one in by_id(output).values()} == {True}
        again = ran(*told(small, rollouts, output), *judged_by(server))
        assert again.returncode == 0, again.stdout
        assert len(server.heard) == 15
    assert [one["checks"]["rubric"] is None for one in by_id(output).values()] == [False] * 12


def test_a_rubric_counts_where_the_task_says_so(small: Path, rollouts: Path, tmp_path: Path) -> None:
    copied = tmp_path / "outputs"
    subprocess.run(["cp", "-r", str(small), str(copied)], check=True)
    for path in (copied / "queries").glob("*.jsonl"):
        tasks = [json.loads(line) for line in path.read_text().splitlines()]
        for task in tasks:
            task["criteria"]["reward_basis"].append("rubric")
        path.write_text("".join(json.dumps(task) + "\n" for task in tasks))
    plain = tmp_path / "rollouts"
    plain.mkdir()
    records = [json.loads(line) for path in rollouts.glob("*.jsonl") for line in path.read_text().splitlines()]
    for record in records:
        del record["dataset"], record["task_digest"]
    (plain / "w.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))

    def half(heard: Heard) -> Act:
        said = json.loads(answered(heard).body)
        answer = json.loads(said["choices"][0]["message"]["content"])
        answer["rubric"][0]["met"] = False
        return reply(a_completion(json.dumps(answer)))

    output = tmp_path / "results.jsonl"
    without = ran(*told(copied, plain, output))
    assert without.returncode == 2
    assert "llm.judge" in without.stderr
    with ScriptedServer(half) as server:
        options = [option for option in judged_by(server) if option != "--enable-subjective"]
        done = ran(*told(copied, plain, output), *options)
        assert done.returncode == 0, done.stdout + done.stderr
    for one in by_id(output).values():
        assert one["passed"] is False
        assert 0 <= one["reward"] < 1
        assert one["checks"]["subjective"] is None
        assert one["failure"]["first_divergence"]["got"] == "Seen."
