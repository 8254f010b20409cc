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

from tests.pipeline.small import ROOT, artifacts, begin, differing

Begin = Callable[[], "subprocess.Popen[str]"]
"""Starts a run, or goes on with it."""
LONGEST = 600
"""Seconds that one run may take on a busy machine."""


def finished(run: "subprocess.Popen[str]") -> str:
    shown = run.communicate(timeout=LONGEST)[0]
    assert run.returncode == 0, shown[-3000:]
    return shown


def journal_lines(outputs: Path) -> int:
    """How much a run has got done: what it has written down since it began."""
    try:
        return (outputs / ".cache" / "journal.jsonl").read_bytes().count(b"\n")
    except FileNotFoundError:
        return 0


def processes_of(session: int, outputs: Path) -> list[int]:
    """Processes of a run's session, and others that name its outputs folder."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            command = (entry / "cmdline").read_bytes()
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[0] != "Z" and (int(fields[3]) == session or str(outputs).encode() in command):
            found.append(int(entry.name))
    return found


def killed(begin: Begin, outputs: Path, further: int, random: Random) -> bool:
    """Start the run and kill it once it has got a number of items further; False where it was done before."""
    already = journal_lines(outputs)
    run = begin()
    until = time.monotonic() + LONGEST
    while run.poll() is None and journal_lines(outputs) < already + further:
        assert time.monotonic() < until, "the run does not get on"
        time.sleep(0.05)
    time.sleep(random.random())
    if run.poll() is None:
        os.kill(run.pid, signal.SIGKILL)
    run.communicate()
    return run.returncode == -signal.SIGKILL


def assert_survives(begin: Begin, outputs: Path, expected: Path, kills: int, furthest: int = 12) -> None:
    """Kill a run at random moments, at most `furthest` items apart; what ends it has to have the expected bytes."""
    random = Random(f"kills/{kills}")
    done = sum(killed(begin, outputs, random.randint(1, furthest), random) for _ in range(kills))
    assert done >= min(kills, 3)
    last = begin()
    finished(last)
    assert differing(artifacts(expected), artifacts(outputs)) == []
    assert list((outputs / ".cache" / "tmp").iterdir()) == []
    until = time.monotonic() + 15
    while processes_of(last.pid, outputs):
        assert time.monotonic() < until, "processes are left"
        time.sleep(0.2)


def test_workers_and_hash_seeds_change_no_byte(small: Path, tmp_path: Path, api_url: str) -> None:
    other = tmp_path / "another name"
    finished(begin(other, hash_seed="2", workers=4, api_url=api_url))
    assert differing(artifacts(small), artifacts(other)) == []
    assert any(path.startswith("queries/") for path in artifacts(other))
    held = [path for path, content in artifacts(other).items() if b"another name" in content]
    assert held == []


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
def test_a_run_that_is_killed_again_and_again_ends_with_the_same_bytes(
    small: Path, tmp_path: Path, api_url: str
) -> None:
    outputs = tmp_path / "killed"
    assert_survives(partial(begin, outputs, api_url=api_url), outputs, small, 3)


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
    verified = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=LONGEST, check=False)
    assert verified.returncode == 0, verified.stdout[-3000:]
