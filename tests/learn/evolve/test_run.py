"""A whole run: the agent gets better, what is kept is what was rewarded, and a killed run comes to the same end."""

import json
import os
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from learn.evolve.phases import PhaseRecord
from tests.commands import ran
from tests.learn.evolve.runs import calls_in, compared, configured, evolved, history_in, said, trajectories
from tests.shared import ROOT
from tests.waiting import HANG, is_running, wait_until

PER_TASK = 2
"""The default."""
TINY = {"explore": {"split": "train", "limit": 2}, "held_out": {"split": "validation", "limit": 2}}


@pytest.fixture(scope="module")
def place(small: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of two iterations; not to be written to."""
    place = tmp_path_factory.mktemp("evolved")
    done = evolved(configured(place, small, iterations=2))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "next: python -m learn traces" in done.stdout.splitlines()[-1]
    return place


def test_an_agent_gets_better_on_held_out_tasks_than_the_first_set_makes_it(place: Path) -> None:
    first, *later = history_in(place)
    for entry in later:
        assert entry["held_out"]["passed"] > first["held_out"]["passed"] == entry["control"]["passed"]
        assert entry["against_first"]["gained"] > 0
        assert entry["against_control"]["difference"] > 0
        assert entry["held_out"]["low"] < entry["held_out"]["share"] < entry["held_out"]["high"]
        assert sum(group["scored"] for group in entry["held_out"]["by"]["world"].values()) == 8


def test_what_is_kept_is_rewarded_once_each_and_the_shortest_few_of_a_task(place: Path) -> None:
    folder = place / "run" / "iterations" / "01"
    passing: dict[str, dict[str, int]] = defaultdict(dict)
    for record in trajectories(folder / "explore"):
        if record["score"]["passed"]:
            passing[record["task_id"]].setdefault(said(record["messages"]), calls_in(record["messages"]))
    kept = [json.loads(line) for line in (folder / "kept.jsonl").read_text().splitlines()]
    of_task: dict[str, list[int]] = defaultdict(list)
    for line in kept:
        (task,) = [id for id, ways in passing.items() if said(line["messages"]) in ways]
        of_task[task].append(calls_in(line["messages"]))
    assert {id: sorted(calls) for id, calls in of_task.items()} == {
        id: sorted(ways.values())[:PER_TASK] for id, ways in passing.items()
    }
    entry = history_in(place)[1]
    assert entry["kept"]["trajectories"] == len(kept)
    assert entry["kept"]["tasks"] == len(passing)
    assert 0 < entry["kept"]["new_tasks"] < len(passing)
    assert all(line["messages"][0]["role"] == "system" and line["tools"] for line in kept)


def test_every_model_is_trained_anew_and_the_control_on_the_first_set_with_the_same_seed(place: Path) -> None:
    iterations = place / "run" / "iterations"
    first = (iterations / "00" / "train.jsonl").read_bytes()
    seeds = set()
    for number in (1, 2):
        folder = iterations / f"{number:02}"
        assert (folder / "control" / "train.jsonl").read_bytes() == first
        lines = (folder / "train.jsonl").read_bytes().splitlines(True)
        assert b"".join(lines).startswith(first)
        assert len(set(lines)) == len(lines) == history_in(place)[number]["training_lines"]
        record, control = (
            json.loads((at / "training" / "record.json").read_text()) for at in (folder, folder / "control")
        )
        assert record["seed"] == control["seed"]
        assert record["exit"] == 0
        seeds.add(record["seed"])
    assert len(seeds) == 2


def test_the_page_needs_no_network_and_the_compared_results_are_the_evaluators(place: Path) -> None:
    page = (place / "run" / "evolution.html").read_text()
    assert "<svg" in page
    assert "http://" not in page
    assert "https://" not in page
    assert "first set alone" in page
    results = [str(place / "run" / "iterations" / number / "results.jsonl") for number in ("00", "02")]
    assert ran("evaluator", "compare", *results).returncode == 0


def test_a_finished_run_is_left_as_it_is(place: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in (place / "run" / "iterations").rglob("*") if path.is_file()}
    history = (place / "run" / "history.json").read_bytes()
    assert evolved(place / "evolve.yaml").returncode == 0
    after = {path: path.stat().st_mtime_ns for path in (place / "run" / "iterations").rglob("*") if path.is_file()}
    assert after == before
    assert (place / "run" / "history.json").read_bytes() == history


def test_a_run_that_is_interrupted_at_the_end_of_each_phase_comes_to_the_same_bytes(
    place: Path, small: Path, tmp_path: Path
) -> None:
    config, interrupted = configured(tmp_path, small), set[tuple[str, str]]()
    finish = PhaseRecord.finish

    def interrupt(record: PhaseRecord, phase: str, **figures: Any) -> None:
        key = (record._path, phase)
        if key not in interrupted:
            interrupted.add(key)
            raise KeyboardInterrupt
        finish(record, phase, **figures)

    with patch.object(PhaseRecord, "finish", interrupt):
        statuses = [evolved(config).returncode]
        while statuses[-1] == 130:
            statuses.append(evolved(config).returncode)
    assert statuses[-1] == 0
    assert len(statuses) == len(interrupted) + 1 == 18
    assert compared(tmp_path) == compared(place)


def begun(place: Path, **environment: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "learn", "evolve", "--config", "evolve.yaml"],
        cwd=place,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_run_that_is_killed_within_phases_comes_to_the_same_bytes(place: Path, small: Path, tmp_path: Path) -> None:
    config = configured(tmp_path, small, control=False)
    first = tmp_path / "run" / "iterations" / "00"
    _stop(begun(tmp_path, TRAINER="slow"), first / "model.partial" / "started", signal.SIGTERM)
    _stop(begun(tmp_path), tmp_path / "run" / "iterations" / "01" / "explore" / "CityHotel.jsonl", signal.SIGKILL)
    assert evolved(config).returncode == 0
    assert compared(tmp_path, control=False) == compared(place, control=False)


def _stop(run: "subprocess.Popen[str]", sign: Path, number: signal.Signals) -> None:
    """Stop a run as soon as a file is there; if a trainer wrote it, it ends too."""
    wait_until(lambda: run.poll() is not None or (sign.is_file() and sign.stat().st_size))
    trainer = int(sign.read_text()) if sign.name == "started" else None
    run.send_signal(number)
    shown, complaints = run.communicate(timeout=HANG)
    assert run.returncode == (130 if number == signal.SIGTERM else -number), shown + complaints
    if number == signal.SIGTERM:
        assert complaints == "interrupted; what is written is kept, and the same command goes on from there\n"
    if trainer is not None:
        wait_until(lambda: not is_running(trainer))


def test_owed_conversations_stop_the_run_until_the_same_command_finds_an_answer(small: Path, tmp_path: Path) -> None:
    config = configured(tmp_path, small, "Unreachable", **TINY, control=False)
    (tmp_path / "down").touch()
    done = evolved(config)
    assert done.returncode == 1
    assert "6 conversations" in done.stderr.splitlines()[-1]
    assert "run the same command again" in done.stderr.splitlines()[-1]
    (tmp_path / "down").unlink()
    assert evolved(config).returncode == 0
    entry: Mapping[str, Any] = history_in(tmp_path)[1]
    assert entry["control"] is None
    assert entry["explored"]["trajectories"] == 6


def test_first_trajectories_of_held_out_tasks_and_without_reward_are_left_out(
    place: Path, small: Path, tmp_path: Path
) -> None:
    explored, held_out = (place / "run" / "iterations" / "01" / name for name in ("explore", "held_out"))
    (tmp_path / "given").mkdir()
    lines = [path.read_bytes() for folder in (explored, held_out) for path in sorted(folder.glob("*.jsonl"))]
    (tmp_path / "given" / "all.jsonl").write_bytes(b"".join(lines) + b'{"torn": ')
    config = configured(tmp_path, small, first=str(tmp_path / "given"), trials=1, control=False)
    assert evolved(config).returncode == 0
    records = trajectories(tmp_path / "run" / "first")
    assert {record["id"] for record in records} == {record["id"] for record in trajectories(explored)}
    passing = {(record["task_id"], said(record["messages"])) for record in records if record["score"]["passed"]}
    assert history_in(tmp_path)[0]["training_lines"] == len(passing)


def test_each_trained_model_is_served_and_samples_warmer_while_it_explores(small: Path, tmp_path: Path) -> None:
    notes, program = tmp_path / "notes", str(ROOT / "tests" / "learn" / "evolve" / "server.py")
    serve = {"command": [sys.executable, program, str(notes)]}
    agent = {"model": "vllm/{model}", "temperature": 0.0, "serve": serve}
    config = configured(tmp_path, small, **TINY, agent=agent, control=False, trials=1)
    done = evolved(config, "--set", "rollout.max_turns=6")
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [json.loads(line) for line in notes.read_text().splitlines()]
    models = [str(tmp_path / "run" / "iterations" / number / "model") for number in ("00", "01")]
    first, last = models
    assert [line["arguments"][:2] for line in lines if "arguments" in line] == [
        ["serve", at] for at in (first, first, last)
    ]
    asked = {(line["model"], line["temperature"]) for line in lines if "model" in line}
    assert asked == {(first, 0.0), (first, 0.8), (last, 0.0)}
    entry = history_in(tmp_path)[1]
    assert (entry["explored"]["rewarded"], entry["kept"]["trajectories"]) == (0, 0)
    train = [tmp_path / "run" / "iterations" / number / "train.jsonl" for number in ("00", "01")]
    assert train[0].read_bytes() == train[1].read_bytes()
