"""A run that is killed, or changed, goes on where it was, or says why it does not."""

import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest

from tests.waiting import HANG, wait_until

ROOT = Path(__file__).parents[2]
COUNT = 300
IN_FLIGHT = 100
HELD_FROM = 150
"""The first task of those that never end in a run that is to be killed."""
CONFIG = f"""\
rollout:
  max_parallel_agents: {IN_FLIGHT}
  parts:
    tasks: tests.rollout.slow_tasks:tasks
    backend: tests.rollout.slow_tasks:Patient
    options: {{count: {COUNT}}}
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "config.yaml").write_text(CONFIG)
    return tmp_path


def begun(place: Path, *more: str, **environment: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "rollout", "run", *more]
    return subprocess.Popen(
        command,
        cwd=place,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(place: Path, *more: str) -> tuple[int, str, str]:
    run = begun(place, *more)
    shown, errors = run.communicate(timeout=HANG)
    return run.returncode, shown, errors


def lines(place: Path) -> list[bytes]:
    return [
        line for path in sorted((place / "rollouts").glob("*.jsonl")) for line in path.read_bytes().splitlines(True)
    ]


def ids(found: Sequence[bytes]) -> list[str]:
    return sorted(json.loads(line)["id"] for line in found)


EVERY = sorted(f"{'east' if number % 2 else 'west'}-{number}#0" for number in range(COUNT))


@pytest.mark.parametrize(
    ("seed", "processes"), [(1, 1), (1, 2), *(pytest.param(seed, 1, marks=pytest.mark.long) for seed in (2, 3))]
)
def test_after_a_kill_with_many_in_flight_nothing_is_lost_twice_or_torn(place: Path, seed: int, processes: int) -> None:
    random, spread = Random(seed), ("--processes", str(processes))
    run, count = begun(place, *spread, HELD_FROM=str(HELD_FROM)), random.randint(1, HELD_FROM // 2)
    wait_until(lambda: len(lines(place)) >= count)
    run.send_signal(signal.SIGKILL)
    run.communicate()
    kept = lines(place)
    assert 0 < len(kept) < COUNT
    assert ended(place, *spread)[0] == 0
    found = lines(place)
    assert all(line.endswith(b"\n") for line in found)
    assert ids(found) == EVERY
    assert set(kept) <= set(found)
    assert all(json.loads(line)["score"]["passed"] for line in found)


def test_a_torn_last_line_is_owed(place: Path) -> None:
    assert ended(place, "--limit", "20")[0] == 0
    path = place / "rollouts" / "west.jsonl"
    whole = path.read_bytes().splitlines(True)
    path.write_bytes(b"".join(whole[:-1]) + whole[-1][: len(whole[-1]) // 2])
    status, shown, _ = ended(place, "--limit", "20")
    assert status == 0
    assert "west.jsonl, line 10: torn, counts for nothing" in shown
    again = path.read_bytes().splitlines(True)
    assert len(again) == 11
    assert json.loads(again[-1])["id"] == json.loads(whole[-1])["id"]


def test_what_is_there_is_not_held_again_and_more_can_be_asked_for(place: Path) -> None:
    assert ended(place, "--limit", "10")[0] == 0
    first = lines(place)
    status, shown, _ = ended(place, "--limit", "10")
    assert (status, lines(place)) == (0, first)
    assert "nothing to do" in shown
    assert ended(place, "--limit", "15", "--trials", "2")[0] == 0
    assert len(lines(place)) == 30
    assert set(first) <= set(lines(place))


def test_an_infrastructure_error_is_owed_and_the_last_line_that_is_none_counts(place: Path) -> None:
    assert ended(place, "--limit", "2")[0] == 0
    path = place / "rollouts" / "west.jsonl"
    record = json.loads(path.read_bytes())
    record |= {"stop_reason": "error", "error": {"kind": "infrastructure", "message": "the server hung"}, "score": None}
    path.write_text(json.dumps(record) + "\n")
    assert ended(place, "--limit", "2")[0] == 0
    assert [json.loads(line)["error"] for line in path.read_bytes().splitlines()] == [record["error"], None]


def test_a_run_that_would_change_existing_lines_is_refused_with_both_values(place: Path) -> None:
    assert ended(place, "--limit", "2")[0] == 0
    before = lines(place)
    status, _, errors = ended(place, "--limit", "3", "--seed", "9")
    assert (status, lines(place)) == (2, before)
    assert errors.count("\n") == 1
    assert "seed is 7 there and 9 now" in errors


def test_two_runs_on_one_folder_do_not_meet(place: Path) -> None:
    run = begun(place, HELD_FROM="1")
    wait_until(lambda: lines(place))
    status, _, errors = ended(place)
    assert status == 2
    assert "in use by process" in errors
    run.kill()
    run.communicate()


def test_a_full_disk_is_told_in_a_line_and_no_wrong_usage(place: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "rollout", "run", "--limit", "20"],
        cwd=place,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000)),
        check=False,
    )
    assert run.returncode == 1
    assert run.stderr.count("\n") == 1
    assert "File too large" in run.stderr
    status, shown, _ = ended(place, "--limit", "20")
    assert status == 0
    assert "torn" not in shown, "what was written of the last line was taken back"
    assert len(ids(lines(place))) == len(set(ids(lines(place)))) == 20
