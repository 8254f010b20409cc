"""A run that is killed, interrupted or met by another one."""

import os
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from skillweave.base.store import Store, locked
from tests.engine.conftest import Toy, done
from tests.waiting import processes_of as processes_by
from tests.waiting import wait_until


def begin(toy: Toy, log: Path, *, is_held: bool = True, own_server: bool = False) -> "subprocess.Popen[str]":
    """Start a run in a process of its own; one that is held does not get on once its first note is written."""
    variables = {**os.environ, "TOY_LOG": str(log)}
    if is_held:
        variables["TOY_HELD"] = "yes"
    if own_server:
        del variables["PREFECT_API_URL"]
    return subprocess.Popen(
        [sys.executable, "-m", "tests.engine.toy", *toy.arguments("--workers", "1")],
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def lines_of(log: Path) -> list[str]:
    return log.read_text().splitlines() if log.exists() else []


def processes_of(session: int) -> list[int]:
    """Of a run: of its session, or with its id as a server's parent argument."""
    return processes_by(f"\0{session}\0", session)


def test_a_killed_run_goes_on_and_ends_with_the_same_bytes(toy: Toy, tmp_path: Path) -> None:
    log = tmp_path / "log"
    toy.finish()
    expected = toy.artifacts()
    toy.outputs = tmp_path / "killed"
    run = begin(toy, log)
    wait_until(lambda: len(lines_of(log)) >= 1)
    os.kill(run.pid, signal.SIGKILL)
    run.communicate()
    assert lines_of(log) == ["alpha"]
    status, lines = toy.run()
    assert status == 0
    assert "s02 lengths.json[alpha]" not in done(lines)
    assert "s03 notes/gamma" in done(lines)
    assert toy.artifacts() == expected


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_keeps_what_is_finished(toy: Toy, tmp_path: Path, number: int) -> None:
    log = tmp_path / "log"
    run = begin(toy, log)
    wait_until(lambda: len(lines_of(log)) >= 1)
    os.kill(run.pid, number)
    shown = run.communicate()[0]
    assert run.returncode == 130, shown
    assert shown.splitlines()[-1].startswith("interrupted; ")
    status, lines = toy.run()
    assert status == 0
    assert "s03 notes/alpha" not in done(lines)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_before_the_work_begins_is_a_line(toy: Toy, tmp_path: Path, number: int) -> None:
    run = begin(toy, tmp_path / "log", own_server=True)
    wait_until(lambda: len(processes_of(run.pid)) >= 2)
    os.kill(run.pid, number)
    os.kill(run.pid, number)
    shown = run.communicate()[0]
    # It may just have said what it is about to do.
    said = [line for line in shown.splitlines() if not line.startswith("4 steps, ")]
    assert (run.returncode, said) == (
        130,
        ["interrupted; what is written is kept, and the same command goes on from there"],
    )


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
def test_a_killed_run_leaves_no_process(toy: Toy, tmp_path: Path) -> None:
    run = begin(toy, tmp_path / "log", own_server=True)
    wait_until(lambda: len(processes_of(run.pid)) >= 2)
    os.kill(run.pid, signal.SIGKILL)
    run.communicate()
    wait_until(lambda: not processes_of(run.pid))


def test_one_run_at_a_time(toy: Toy) -> None:
    store = Store(toy.outputs)
    store.prepare()
    with locked(store):
        status, lines = toy.run()
    assert status == 2
    assert f"is in use by process {os.getpid()};" in lines[-1]
    assert toy.run("--until", "s01")[0] == 0


@pytest.mark.skipif(find_spec("prefect_dask") is not None, reason="the runner is installed")
def test_a_runner_that_is_not_installed_is_named(toy: Toy) -> None:
    status, lines = toy.run("--runner", "dask")
    assert status == 2
    assert lines == [
        "error: runner 'dask' needs a package that is not installed; "
        "install it with: pip install 'skillweave[dask]', or use --runner threads"
    ]


@pytest.mark.long
def test_a_damaged_prefect_home_is_made_again(toy: Toy, monkeypatch: pytest.MonkeyPatch) -> None:
    home = toy.outputs / ".prefect"
    home.mkdir(parents=True)
    (home / "prefect.db").write_bytes(b"no database at all" * 1000)
    run = begin(toy, toy.folder / "log", is_held=False, own_server=True)
    shown = run.communicate()[0]
    assert run.returncode == 0, shown
    assert set(toy.artifacts()) > {"summary.txt"}
