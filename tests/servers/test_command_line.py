"""The command line of a generated server: what cannot be served is refused in one line."""

import socket
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from skillweave.schema.record import Json
from tests.servers.served import a_task, serve_from
from tests.waiting import HANG
from tests.world.clinic import a_world


def run(server: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(server), *options], capture_output=True, text=True, timeout=HANG, stdin=subprocess.DEVNULL
    )


@pytest.mark.parametrize(
    ("options", "task", "told"),
    [
        (["--task", "SmallClinic-9"], {}, "no task 'SmallClinic-9'"),
        (["--task", "SmallClinic-1", "--caller", "X"], {}, "leave out --state and --caller"),
        (["--task", "SmallClinic-1"], {"initial_state": {"database": "../../etc/passwd"}}, "outputs folder"),
        (
            ["--task", "SmallClinic-1"],
            {
                "initial_state": {
                    "database": "database/SmallClinic.sqlite",
                    "patch": [{"table": "slot; DROP TABLE fee", "op": "delete", "key": {"slot_id": "SLO-0001"}}],
                }
            },
            "not in the database",
        ),
        (["--state", "no-such-file"], {}, "cannot open SmallClinic"),
        (["--task", ""], {}, "no task ''"),
        (["--task", "SmallClinic-1"], {"now": "soon"}, "the clock must be a datetime"),
        (["--now", "yesterday"], {}, "the clock must be a datetime"),
        (["--now", "2025-01-20T09:00:00"], {}, "the clock '2025-01-20T09:00:00' is not of the form"),
        (["--caller", "nobody"], {}, "the caller 'nobody' is nobody in this state"),
        (["--caller", ""], {}, "the caller '' is nobody in this state"),
        (["--dump", "/"], {}, "--dump '/' is not a file"),
        (["--dump", "/no-such-folder/end.sqlite"], {}, "No such file or directory: '/no-such-folder/end.sqlite'"),
        (["--transport", "streamable-http", "--port", "99999"], {}, "--port 99999: give a host"),
        (["--transport", "streamable-http", "--port", "-1"], {}, "--port -1: give a host"),
        (["--transport", "streamable-http", "--port", "http"], {}, "invalid int value: 'http'"),
        (["--transport", "streamable-http", "--host", "192.0.2.1"], {}, "cannot listen at --host '192.0.2.1'"),
        (["--transport", "streamable-http", "--host", "a..b"], {}, "cannot listen at --host 'a..b'"),
    ],
)
def test_wrong_options_and_hostile_tasks_end_with_one_line(
    tmp_path: Path, options: list[str], task: dict[str, Json], told: str
) -> None:
    server = serve_from(tmp_path / "outputs", a_world(), (a_task(**task),))
    done = run(server, *options)
    assert done.returncode == 2
    assert told in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_port_in_use_ends_with_one_line(tmp_path: Path) -> None:
    server = serve_from(tmp_path / "outputs", a_world())
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        done = run(server, "--transport", "streamable-http", "--port", str(other.getsockname()[1]))
    assert done.returncode == 2
    assert "Address already in use" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_the_worlds_own_database_is_not_dumped_over(tmp_path: Path) -> None:
    server = serve_from(tmp_path / "outputs", a_world())
    done = run(server, "--dump", str(tmp_path / "outputs/database/SmallClinic.sqlite"))
    assert done.returncode == 2
    assert "the world's own database" in done.stderr


def test_a_refused_start_leaves_no_dump(tmp_path: Path) -> None:
    server = serve_from(tmp_path / "outputs", a_world())
    dump = tmp_path / "end.sqlite"
    options = ["--dump", str(dump), "--transport", "streamable-http", "--port", "-1"]
    assert run(server, *options).returncode == 2
    assert not dump.exists()


def test_a_database_with_a_trigger_is_refused(tmp_path: Path) -> None:
    server = serve_from(tmp_path / "outputs", a_world())
    foreign = tmp_path / "foreign.sqlite"
    foreign.write_bytes(a_world().content)
    with sqlite3.connect(foreign) as connection:
        connection.execute("CREATE TRIGGER evil AFTER INSERT ON fee BEGIN DELETE FROM slot; END")
    done = run(server, "--state", str(foreign), "--now", "2025-01-20 09:00:00", "--caller", "PAT-0001")
    assert done.returncode == 2
    assert "'evil'" in done.stderr


@pytest.mark.parametrize("script", ["CREATE TABLE slot (slot_id TEXT PRIMARY KEY)", "VACUUM"])
def test_a_state_of_another_world_is_refused(tmp_path: Path, script: str) -> None:
    server = serve_from(tmp_path / "outputs", a_world())
    foreign = tmp_path / "foreign.sqlite"
    with sqlite3.connect(foreign) as connection:
        connection.execute(script)
    done = run(server, "--state", str(foreign))
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
