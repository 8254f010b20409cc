"""Runs with a scripted trainer and a scripted agent, which learns from the tools that it is shown calls of."""

import json
import sys
from pathlib import Path
from typing import Any

import yaml

from tests.commands import Done, ran
from tests.shared import ROOT

TRAINER = [sys.executable, str(ROOT / "tests/learn/evolve/trainer.py"), "{data}", "{model}", "{seed}"]
COMPARED = ("train.jsonl", "kept.jsonl")
"""Files that are the same bytes in each run of the same settings, beside the history."""


def configured(place: Path, outputs: Path, agent: str = "Skilled", /, **evolve: Any) -> Path:
    """A configuration with small sets of tasks."""
    sets = {
        "seed_tasks": {"split": "train", "limit": 2},
        "explore": {"split": "train", "limit": 24},
        "held_out": {"split": "validation", "limit": 8},
    }
    extra = {"outputs": str(outputs), "down": str(place / "down")}
    speaker = {"model": f"tests.learn.evolve.agent:{agent}/{{model}}", "extra": extra}
    own = {"folder": str(place / "run"), "iterations": 1, "trials": 3, "trainer": {"command": TRAINER}}
    settings = {
        "outputs_dir": str(outputs),
        "execution": {"workers": 1},
        "evaluation": {"report_trajectories": 0},
        "llm": {"max_retries": 0},
        "evolve": {**sets, **own, "agent": speaker, **evolve},
    }
    place.mkdir(parents=True, exist_ok=True)
    (place / "evolve.yaml").write_text(yaml.safe_dump(settings))
    return place / "evolve.yaml"


def evolved(config: Path, *more: str) -> Done:
    """Give the command."""
    return ran("learn", "evolve", "--config", str(config), *more)


def history_in(place: Path) -> list[dict[str, Any]]:
    """The history of the run in a place."""
    history: list[dict[str, Any]] = json.loads((place / "run" / "history.json").read_bytes())
    return history


def compared(place: Path, *, control: bool = True) -> dict[str, bytes | str]:
    """What has to be the same after one iteration, however often a run was killed."""
    run, left_out = place / "run", {"kept"} if control else {"kept", "control"}
    found: dict[str, bytes | str] = {
        str(path.relative_to(run)): path.read_bytes()
        for number in ("00", "01")
        for name in COMPARED
        for path in sorted((run / "iterations" / number).rglob(name))
        if left_out.isdisjoint(path.parts)
    }
    keys = set() if control else {"control", "against_control"}
    history = [{key: value for key, value in one.items() if key not in keys} for one in history_in(place)[:2]]
    return {**found, "history": json.dumps(history)}


def trajectories(folder: Path) -> list[dict[str, Any]]:
    """The trajectories of a rollouts folder."""
    return [json.loads(line) for path in sorted(folder.glob("*.jsonl")) for line in path.read_text().splitlines()]


def said(messages: list[dict[str, Any]]) -> str:
    """What an agent says and calls in a conversation, whatever the form of arguments and however calls are grouped."""
    own = [message for message in messages if message["role"] == "assistant"]
    calls = [_call(call["function"]) for message in own for call in message.get("tool_calls") or ()]
    return json.dumps([[message["content"] for message in own if message.get("content")], calls])


def calls_in(messages: list[dict[str, Any]]) -> int:
    """The number of an agent's calls."""
    return sum(len(message.get("tool_calls") or ()) for message in messages)


def _call(function: dict[str, Any]) -> tuple[str, Any]:
    arguments = function["arguments"]
    return function["name"], json.loads(arguments) if isinstance(arguments, str) else arguments
