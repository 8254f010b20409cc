"""A machine that refuses: one line says what and what to do, and the same command goes on when it allows it again.

No disk is filled, which would take a file system of its own: a limit on the size of files refuses in the same way.
"""

import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.commands import ran
from tests.engine.conftest import Toy


def limited(number: int, limit: int) -> Callable[[], None]:
    """What a process does before it becomes the command."""
    return lambda: resource.setrlimit(number, (limit, limit))


def command(
    toy: Toy, before: Callable[[], None] | None = None, *, own_server: bool = False, **variables: str
) -> "subprocess.CompletedProcess[str]":
    """A run in a process of its own."""
    # Python keeps compiled modules in files, and half of one where it may write no more.
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **variables}
    if own_server:
        del environment["PREFECT_API_URL"]
    return subprocess.run(
        [sys.executable, "-m", "tests.engine.toy", *toy.arguments()],
        env=environment,
        preexec_fn=before,
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize(("bytes_of_a_file", "own_server"), [(1000, False), (6000, False), (6000, True)])
def test_a_disk_that_takes_no_more_ends_a_run_that_goes_on_later(
    toy: Toy, bytes_of_a_file: int, own_server: bool
) -> None:
    ended = command(toy, limited(resource.RLIMIT_FSIZE, bytes_of_a_file), own_server=own_server)
    assert ended.returncode == 1
    assert "Traceback" not in ended.stderr
    assert len(ended.stderr.splitlines()) <= 2, ended.stderr  # a warning about the sandbox may come first
    last = (ended.stderr or ended.stdout).splitlines()[-1]
    whose = "Prefect's API server did not start: " if own_server else ""
    assert last.startswith((f"error: {whose}cannot write ", "stopped: cannot write "))
    assert "File too large; allow larger files (ulimit -f)" in last
    status, _ = toy.run()
    assert status == 0
    assert len(list((toy.outputs / "notes").iterdir())) == 3


def test_sockets_have_short_paths_wherever_the_folders_are(toy: Toy) -> None:
    long = toy.folder.joinpath(*["a-folder-with-a-long-name"] * 5)
    long.mkdir(parents=True)
    toy.outputs = long / "out"
    ended = command(toy, TMPDIR=str(long))
    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize("variable", ["TMPDIR", "TEMP"])
@pytest.mark.parametrize(("is_there", "what"), [(True, "is no folder"), (False, "is no folder")])
def test_a_temporary_folder_that_cannot_be_used_is_named(
    variable: str, is_there: bool, what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "temporary"
    if is_there:
        folder.write_text("a file")
    monkeypatch.delenv("TMPDIR", raising=False)
    monkeypatch.setenv(variable, str(folder))
    ended = ran("rollout", "run", "--outputs-dir", str(tmp_path))
    assert (ended.returncode, ended.stderr.splitlines()) == (
        2,
        [f"error: {variable} is {str(folder)!r}, which {what}; make it, name another folder, or unset {variable}"],
    )


def test_few_open_files_end_in_one_line(toy: Toy) -> None:
    ended = command(toy, limited(resource.RLIMIT_NOFILE, 24))
    assert (ended.returncode, ended.stdout) == (2, "")
    assert (
        ended.stderr == "error: this process may have 24 open files, and commands need 128; allow more with ulimit -n\n"
    )
