"""The page's own task, dispatcher and agent, run by the command as the page says."""

import json
import subprocess
import sys
from pathlib import Path

from tests.docs.test_extending import blocks
from tests.waiting import HANG

ROOT = Path(__file__).parents[2]


def test_the_pages_task_and_dispatcher_run_under_the_command(tmp_path: Path) -> None:
    source = next(block for block in blocks("python") if "class OneByOne" in block)
    assert len(source.splitlines()) < 60
    (tmp_path / "sums.py").write_text(source)
    (tmp_path / "adder.py").write_text(next(block for block in blocks("python") if "class Adder" in block))
    settings = next(block for block in blocks("yaml") if "sums:OneByOne" in block)
    (tmp_path / "config.yaml").write_text(settings)
    command = [
        sys.executable,
        "-m",
        "rollout",
        "run",
        "--config",
        "config.yaml",
        "--agent",
        "adder:Adder/1",
        "--trials",
        "2",
    ]
    done = subprocess.run(
        command, cwd=tmp_path, env={"PYTHONPATH": f"{ROOT}:{tmp_path}"}, capture_output=True, text=True, timeout=HANG
    )
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in (tmp_path / "rollouts" / "sums.jsonl").read_text().splitlines()]
    assert [line["id"] for line in lines] == [f"sum-{n}#{trial}" for trial in range(2) for n in range(3)]
    assert all(line["score"]["passed"] and line["stop_reason"] == "agent_stop" for line in lines)
    assert "6 of 6 passed" in done.stdout
