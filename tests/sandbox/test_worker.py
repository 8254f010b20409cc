import os
import signal
import subprocess
import sys
import threading
import uuid
from pathlib import Path

import pytest

from skillweave.config.sections import Strength
from skillweave.sandbox.folder import SandboxLimits
from skillweave.sandbox.worker import Worker, WorkerError
from tests.waiting import HANG, processes_of, wait_until

SERVE = "from sandbox_worker import serve\n"


def a_worker(code: str, limits: SandboxLimits | None = None, main: str = "worker_main.py") -> Worker:
    return Worker({main: code}, main, limits or SandboxLimits(seconds=HANG, cpu_seconds=5))


def test_a_worker_keeps_its_state_between_questions(any_strength: Strength, folders: Path) -> None:
    code = (
        SERVE + "seen = []\ndef handle(message):\n    print('noise'); seen.append(message); return seen\nserve(handle)"
    )
    with a_worker(code) as worker:
        assert worker.ask({"é": None}) == [{"é": None}]
        assert worker.ask([1, "x" * 300_000])[1] == [1, "x" * 300_000]  # type: ignore[index]
    assert list(folders.iterdir()) == []


def test_a_worker_may_speak_the_lines_itself(any_strength: Strength) -> None:
    with a_worker("for line in iter(input, ''): print(line * 2, flush=True)") as worker:
        assert worker.ask(12) == 1212


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (
            "def handle(message): raise KeyError('wrong')\nserve(handle)",
            "it ended; its last words:(.|\n)*KeyError: 'wrong'",
        ),
        ("import os; os._exit(0)", "it ended$"),
        ("syntax error", "it ended; (.|\n)*SyntaxError"),
        ("print('hello', flush=True)", "a line that is no JSON .*hello"),
        ("print('NaN', flush=True)", "NaN is no JSON number"),
        ("print('[' * 90000, flush=True)", "no JSON"),
        ("import sys\nwhile True: sys.stdout.write('x' * 10000)", "answered with more than 100000 bytes"),
        ("import time; time.sleep(9999)", "did not answer within 0.5 seconds"),
        ("while True: pass", "did not answer within 0.5 seconds"),
        ("for n in range(200): open(str(n), 'w')\nprint(1, flush=True)", "more than 50 files"),
    ],
)
def test_a_worker_that_fails_says_why_and_is_over(any_strength: Strength, code: str, reason: str) -> None:
    worker = a_worker(SERVE + code, SandboxLimits(seconds=0.5, output_bytes=100_000, files=50))
    with worker:
        # Slow machines may take more than the limit to start a worker that would fail otherwise.
        timeout = 0.5 if "0.5" in reason else HANG
        with pytest.raises(WorkerError, match=reason):
            worker.ask("x" * 200_000, timeout)
        with pytest.raises(WorkerError, match=r"is over: .*start another one"):
            worker.ask(1)
    worker.close()


def test_workers_do_not_see_each_other(strong: Strength) -> None:
    code = SERVE + "import os\nserve(lambda path: sorted(os.listdir(path)) if path else os.getcwd())"
    with a_worker(code) as one, a_worker(code) as other:
        theirs = one.ask("")
        with pytest.raises(WorkerError, match=r"PermissionError|FileNotFoundError"):
            other.ask(theirs)
        assert one.ask(".") == ["sandbox_worker.py", "worker_main.py"]


def test_a_worker_outlives_the_thread_that_started_it(any_strength: Strength) -> None:
    started: list[Worker] = []
    thread = threading.Thread(target=lambda: started.append(a_worker(SERVE + "serve(lambda m: m)")))
    thread.start()
    thread.join()
    with started[0] as worker:
        assert worker.ask(1) == 1


def test_closing_a_worker_ends_its_processes(any_strength: Strength) -> None:
    marker = f"worker_{uuid.uuid4().hex}.py"
    worker = a_worker("print(1, flush=True)\nwhile True: pass", main=marker)
    worker.ask(None)
    assert processes_of(marker)
    worker.close()
    wait_until(lambda: not processes_of(marker))


@pytest.mark.parametrize("victim", ["us", "launcher"])
def test_nothing_outlives_a_sudden_death(any_strength: Strength, victim: str, tmp_path: Path) -> None:
    marker = f"worker_{uuid.uuid4().hex}.py"
    script = (
        "import sys\n"
        "from skillweave.sandbox import jail, strength\n"
        "from skillweave.sandbox.worker import Worker\n"
        "here = strength.machine_support()\n"
        f"jail.machine_support = lambda: here._replace(strength={any_strength!r}, program="
        f"here.program if {any_strength!r} == 'bubblewrap' else None)\n"
        f"worker = Worker({{{marker!r}: 'print(1, flush=True)\\nwhile True: pass'}}, {marker!r})\n"
        "worker.ask(None)\n"
        "print(worker._jail.process.pid, flush=True)\n"
        "sys.stdin.read()\n"
    )
    environment = {"PYTHONPATH": os.pathsep.join(sys.path), "PATH": os.environ["PATH"], "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as ours:
        assert ours.stdout is not None
        launcher = int(ours.stdout.readline())
        assert processes_of(marker)
        os.kill(ours.pid if victim == "us" else launcher, signal.SIGKILL)
        wait_until(lambda: set(processes_of(marker)) <= {ours.pid})
        ours.kill()
    wait_until(lambda: not processes_of(marker))
    assert victim == "launcher" or list(tmp_path.glob("skillweave-*")) == []
