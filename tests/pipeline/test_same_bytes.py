"""The same configuration gives the same bytes: on any number of workers, under any hash seed, however often killed."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random

import pytest

from tests.authors.conftest import Direct
from tests.pipeline.small import ROOT, SMALLEST, artifacts, begin, differing
from tests.waiting import HANG, processes_of, wait_until

Begin = Callable[[], "subprocess.Popen[str]"]
"""Starts a run, or goes on with it."""


def finished(run: "subprocess.Popen[str]") -> str:
    shown = run.communicate(timeout=HANG)[0]
    assert run.returncode == 0, shown[-3000:]
    return shown


def journal_lines(outputs: Path) -> int:
    """How much a run has got done: what it has written down since it began."""
    try:
        return (outputs / ".cache" / "journal.jsonl").read_bytes().count(b"\n")
    except FileNotFoundError:
        return 0


def killed(begin: Begin, outputs: Path, further: int, random: Random) -> bool:
    """Start the run and kill it once it has got a number of items further; False where it was done before."""
    already = journal_lines(outputs)
    run = begin()
    wait_until(lambda: run.poll() is not None or journal_lines(outputs) >= already + further, "the run does not get on")
    time.sleep(random.random() / 10)
    if run.poll() is None:
        os.kill(run.pid, signal.SIGKILL)
    run.communicate()
    return run.returncode == -signal.SIGKILL


def assert_survives(begin: Begin, outputs: Path, expected: Path, kills: int, furthest: int = 12) -> None:
    """Kill a run at random moments, at most `furthest` items apart; what ends it has to have the expected bytes."""
    random = Random(f"kills/{kills}")
    done = sum(killed(begin, outputs, random.randint(1, furthest), random) for _ in range(kills))
    assert done >= min(kills, 2)
    last = begin()
    finished(last)
    assert differing(artifacts(expected), artifacts(outputs)) == []
    assert list((outputs / ".cache" / "tmp").iterdir()) == []
    wait_until(lambda: not processes_of(str(outputs), last.pid), "processes are left")


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
def test_no_byte_depends_on_workers_hash_seed_folder_or_kills(direct: Direct, tmp_path: Path, api_url: str) -> None:
    """Of one domain; what is joined is made again with other workers and hash seeds in test_joined_same_bytes."""
    outputs = tmp_path / "another name"
    start = partial(begin, outputs, hash_seed="2", workers=4, api_url=api_url, overrides=SMALLEST)
    assert_survives(start, outputs, direct.outputs, 2)
    assert any(path.startswith("queries/") for path in artifacts(outputs))
    assert [path for path, content in artifacts(outputs).items() if b"another name" in content] == []


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
def test_ten_kills_with_a_server_of_its_own(small: Path, tmp_path: Path) -> None:
    outputs = tmp_path / "killed"
    assert_survives(partial(begin, outputs), outputs, small, 10)


@pytest.mark.long
def test_the_default_run_is_the_same_twice_and_verifies(tmp_path: Path) -> None:
    folders = [tmp_path / "one", tmp_path / "two"]
    for seed, folder in enumerate(folders):
        finished(begin(folder, hash_seed=str(seed), workers=1 + 3 * seed, overrides=()))
    assert differing(*map(artifacts, folders)) == []
    moved = tmp_path / "moved"
    shutil.move(folders[0], moved)
    command = [sys.executable, "-m", "synth", "verify", str(moved)]
    verified = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=HANG, check=False)
    assert verified.returncode == 0, verified.stdout[-3000:]
