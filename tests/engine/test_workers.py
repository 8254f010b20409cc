"""Processes that work for a command end with it, whatever ends it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.waiting import HANG, is_running, wait_until

PROGRAM = """
import os, time
from skillweave.workers import local_processes

def works(number):
    os.write(1, b"%d\\n" % os.getpid())
    time.sleep(9999)

if __name__ == "__main__":
    with local_processes(2) as pool:
        list(pool.map(works, range(2)))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=lambda number: number.name)
def test_no_worker_outlives_its_command(tmp_path: Path, number: signal.Signals) -> None:
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    command = [sys.executable, str(file)]
    environment = {**os.environ, "PYTHONPATH": str(Path.cwd())}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        pids = [int(process.stdout.readline()) for _ in range(2)]
        assert all(is_running(pid) for pid in pids)
        process.send_signal(number)
        process.wait(HANG)
    wait_until(lambda: not any(map(is_running, pids)))
