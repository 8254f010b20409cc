"""Rollouts on a dataset that the pipeline has made, by the command that users give."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from rollout.user import TELLINGS
from tests.commands import ran

Record = dict[str, Any]


def rolled_out(small: Path, rollouts: Path, *more: str) -> list[Record]:
    """The trajectories of a run on the small dataset."""
    places = ["--config", "config.yaml", "--outputs-dir", str(small), "--rollouts-dir", str(rollouts)]
    done = ran("rollout", "run", *places, *more)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [line for path in sorted(rollouts.glob("*.jsonl")) for line in path.read_text().splitlines()]
    return sorted((json.loads(line) for line in lines), key=lambda record: str(record["id"]))


def tasks_of(small: Path) -> dict[str, Record]:
    lines = [line for path in sorted((small / "queries").glob("*.jsonl")) for line in path.read_text().splitlines()]
    return {task["id"]: task for task in map(json.loads, lines)}


def test_the_oracle_passes_every_task_with_every_user(small: Path, tmp_path: Path) -> None:
    records = rolled_out(small, tmp_path, "--trials", "2", "--personas", "2")
    assert len(records) == 2 * len(tasks_of(small))
    assert [record["id"] for record in records if not (record["score"] or {}).get("passed")] == []
    assert Counter(record["metadata"]["telling"] for record in records) == dict.fromkeys(TELLINGS, len(records) // 2)
    kinds = {task["id"]: task["kind"] for task in tasks_of(small).values()}
    transferred = {kinds[record["task_id"]] for record in records if record["stop_reason"] == "transfer"}
    assert {record["stop_reason"] for record in records} == {"user_stop", "transfer"}
    assert transferred <= {"unavailable"}


def test_doing_nothing_passes_no_task(small: Path, tmp_path: Path) -> None:
    records = rolled_out(small, tmp_path, "--agent", "offline/nothing")
    assert len(records) == len(tasks_of(small))
    assert {record["score"]["reward"] for record in records} == {0.0}


def test_records_are_the_same_in_every_run_but_for_the_clock(small: Path, tmp_path: Path) -> None:
    timed = ("started_at", "seconds")
    found = [
        [
            {key: value for key, value in record.items() if key not in timed}
            for record in rolled_out(small, tmp_path / name, "--limit", "30", "--agent", "offline/careless", *more)
        ]
        for name, more in (("a", ()), ("b", ("--set", "rollout.parts.dispatcher=batch")))
    ]
    assert found[0] == found[1]


def test_what_the_system_prompt_says_of_the_session(small: Path, tmp_path: Path) -> None:
    tasks = tasks_of(small)
    records = rolled_out(small, tmp_path, "--limit", "40")
    for record in records:
        task, system = tasks[record["task_id"]], record["messages"][0]
        assert system["role"] == "system"
        assert task["now"] in system["content"]
        user = task["env_variables"]["LOGGED_IN_USER"]
        assert (user in system["content"]) if user else "not signed in" in system["content"]
        auth = any("identif" in tool["function"]["name"] for tool in record["tools"])
        assert auth is (task["login"] == "conversation")
    assert {tasks[record["task_id"]]["login"] for record in records} == {"session", "conversation"}


@pytest.mark.parametrize("agent", ["offline/oracle", "offline/random"])
def test_generated_servers_give_the_same_conversations_as_the_contract(small: Path, tmp_path: Path, agent: str) -> None:
    told = ("messages", "stop_reason", "error", "score", "tools")
    found = [
        [
            {key: record[key] for key in told}
            for record in rolled_out(small, tmp_path / engine, "--agent", agent, "--limit", "3", "--engine", engine)
        ]
        for engine in ("contract", "mcp")
    ]
    assert found[0] == found[1]
