"""The same work on threads, on Dask and on Ray: the same bytes, also if a worker dies."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor
from pathlib import Path

import pytest

from skillweave.base.errors import ConfigError, WorldError
from skillweave.config.sections import ExecutionConfig
from skillweave.workers import Command, opened_workers, this_command
from tests.engine.conftest import Toy, done, toy  # noqa: F401
from tests.rollout.test_resume import CONFIG, ids, lines
from tests.runners.environment import unavailable
from tests.runners.work import die, place, refuse
from tests.waiting import HANG, wait_until

pytestmark = [
    pytest.mark.runners,
    pytest.mark.skipif(unavailable() is not None, reason=str(unavailable())),
]
ROOT = Path(__file__).parents[2]
RUNNERS = ("dask", "ray")
COUNT = 60
FATAL = "west-20"
"""The task in the middle of which a worker dies."""


@pytest.mark.parametrize("runner", RUNNERS)
def test_workers_share_the_command_and_give_errors_as_they_are(runner: str) -> None:
    execution = ExecutionConfig(runner=runner, workers=2)  # type: ignore[arg-type]
    with opened_workers(execution) as workers, workers.executor(2) as pool:
        folder, pid = pool.submit(place).result(HANG)
        assert (folder, pid != os.getpid()) == (str(Path.cwd()), True)
        with pytest.raises(WorldError, match=r"^as it should$"):
            pool.submit(refuse, "as it should").result(HANG)
        with pytest.raises(BrokenExecutor, match="its worker died"):
            pool.submit(die).result(HANG)
        assert pool.submit(place).result(HANG)[0] == folder


def test_a_worker_with_other_libraries_does_nothing() -> None:
    command = this_command()
    other = Command(command.folder, (), (("sqlglot", "0.1"),))
    with pytest.raises(ConfigError, match=r"a worker has sqlglot .*, and the command 0.1"):
        other.enter()


@pytest.mark.parametrize("runner", RUNNERS)
def test_a_run_makes_the_same_bytes_though_a_worker_dies(
    toy: Toy,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    runner: str,
) -> None:
    toy.run()
    expected, toy.outputs = toy.artifacts(), tmp_path / "spread"
    log, dead = tmp_path / "log", tmp_path / "dead"
    variables = {**os.environ, "TOY_LOG": str(log), "TOY_DEAD": str(dead)}
    command = [sys.executable, "-m", "tests.engine.toy", *toy.arguments("--runner", runner, "--workers", "2")]
    run = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=HANG, check=False)
    assert (run.returncode, run.stderr, dead.exists()) == (0, "", True), run.stdout
    assert toy.artifacts() == expected
    assert set(Counter(done(run.stdout.splitlines())).values()) == {1}
    assert set(log.read_text().split()) == {"alpha", "beta", "gamma"}
    assert done(toy.run()[1]) == []


@pytest.mark.parametrize("runner", RUNNERS)
def test_no_conversation_is_lost_or_held_twice_though_a_worker_dies(tmp_path: Path, runner: str) -> None:
    (tmp_path / "config.yaml").write_text(CONFIG.replace("count: 300", f"count: {COUNT}"))
    command = [sys.executable, "-m", "rollout", "run", "--runner", runner, "--workers", "2"]
    variables = {**os.environ, "PYTHONPATH": str(ROOT), "DEAD": str(tmp_path / FATAL)}
    run = subprocess.run(
        command, cwd=tmp_path, env=variables, capture_output=True, text=True, timeout=HANG, check=False
    )
    assert (run.returncode, run.stderr, (tmp_path / FATAL).exists()) == (0, "", True), run.stdout
    found = lines(tmp_path)
    assert ids(found) == sorted(f"{'east' if number % 2 else 'west'}-{number}#0" for number in range(COUNT))
    assert all(json.loads(line)["score"]["passed"] for line in found)
    assert not list((tmp_path / "rollouts" / ".cache" / "shards").glob("*"))


@pytest.fixture
def scheduler() -> Iterator[str]:
    """The address of a Dask cluster that runs already."""
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        yield cluster.scheduler_address


def test_a_cluster_that_runs_already_serves_two_runs(toy: Toy, scheduler: str, tmp_path: Path) -> None:  # noqa: F811
    toy.run()
    expected = toy.artifacts()
    for name in ("first", "second"):
        toy.outputs = tmp_path / name
        assert toy.run("--runner", "dask", "--set", f"execution.address={scheduler}")[0] == 0
        assert toy.artifacts() == expected


def test_an_address_without_a_cluster_is_named(toy: Toy) -> None:  # noqa: F811
    status, shown = toy.run("--runner", "dask", "--set", "execution.address=tcp://127.0.0.1:9")
    assert status == 2
    assert shown[-1].startswith("error: no Dask cluster answers at execution.address 'tcp://127.0.0.1:9'")


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
@pytest.mark.parametrize("runner", RUNNERS)
def test_a_killed_run_leaves_no_worker(toy: Toy, tmp_path: Path, runner: str) -> None:  # noqa: F811
    log = tmp_path / "log"
    run = subprocess.Popen(
        [sys.executable, "-m", "tests.engine.toy", *toy.arguments("--runner", runner, "--workers", "2")],
        env={**os.environ, "TOY_LOG": str(log), "TOY_DELAY": "1", "SKILLWEAVE_TEST": str(tmp_path)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_until(log.exists)
    assert len(_marked(tmp_path)) > 2
    run.send_signal(signal.SIGKILL)
    run.wait(HANG)
    wait_until(lambda: not _marked(tmp_path))


def _marked(folder: Path) -> list[int]:
    """The processes that have a folder in their environment."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            if state != "Z" and f"SKILLWEAVE_TEST={folder}".encode() in (entry / "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
        except OSError:
            continue
    return found
