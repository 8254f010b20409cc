"""Code that stays inside and tries to do harm from there: by wasting, hiding, lying, and by what it leaves behind."""

import io
import json
import pickle
import select
from pathlib import Path

import pytest

from skillweave.config.sections import Strength
from skillweave.sandbox.folder import MEGABYTE, SandboxLimits
from skillweave.sandbox.inside.watch import passed, usage
from skillweave.sandbox.run import SandboxOutcome, run
from skillweave.sandbox.worker import Worker, WorkerError
from tests.waiting import HANG, processes_of, wait_until

LIMITS = SandboxLimits(
    seconds=HANG,
    cpu_seconds=1,
    memory_bytes=256 * MEGABYTE,
    threads=16,
    file_bytes=MEGABYTE,
    disk_bytes=4 * MEGABYTE,
    files=100,
    output_bytes=MEGABYTE,
)
BRIEF = SandboxLimits(seconds=0.5, cpu_seconds=2)
FOREVER = "\nimport time\nwhile True: time.sleep(1)"


def execute(code: str, limits: SandboxLimits = LIMITS, **files: str) -> SandboxOutcome:
    return run({"main.py": code, **files}, ["main.py"], limits=limits)


WASTE = {
    "threads that wait": (
        "import threading, time\nthreading.stack_size(65536)\n"
        "for _ in range(200): threading.Thread(target=time.sleep, args=(9,), daemon=True).start()" + FOREVER,
        "killed: it started more than 16 threads",
    ),
    "threads with large stacks": (
        "import threading, time\nthreading.stack_size(64 << 20)\n"
        "for _ in range(200): threading.Thread(target=time.sleep, args=(9,), daemon=True).start()",
        "failed: it ended with status 1: RuntimeError: can't start new thread",
    ),
    "files that are deleted but open": (
        "import os\nkept = []\nfor n in range(8):\n    kept.append(open(str(n), 'wb'))\n"
        "    kept[-1].write(bytes(1 << 20)); kept[-1].flush(); os.unlink(str(n))" + FOREVER,
        "killed: it wrote more than 4194304 bytes to files that it deleted but kept open",
    ),
    "a loop that ignores its signals": (
        "import signal\nfor number in (signal.SIGXCPU, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):\n"
        "    signal.signal(number, signal.SIG_IGN)\nwhile True: pass",
        "killed: it used more than 1 seconds of CPU time",
    ),
    "loops in threads": (
        "import threading\ndef spin():\n    while True: hash('x')\n"
        "for _ in range(4): threading.Thread(target=spin).start()",
        "killed: it used more than 1 seconds of CPU time",
    ),
    "a loop that begins anew as the same program": (
        "import os, sys, time\nstart = time.process_time()\nwhile time.process_time() - start < 0.3: pass\n"
        "os.execv(sys.executable, [sys.executable, '-S', 'main.py'])",
        "killed: it used more than 1 seconds of CPU time",
    ),
    "an endless line": ("import os\nwhile True: os.write(1, b'x' * 65536)", "flooded: it wrote more than 1048576"),
    "complaints without end": ("import os\nwhile True: os.write(2, b'x\\n' * 999)", "flooded: it wrote more than 1048"),
    "millions of files": (
        "n = 0\nwhile True:\n    open(str(n), 'w').close(); n += 1",
        "flooded: it made more than 100 files",
    ),
    "millions of folders": (
        "import os\nn = 0\nwhile True:\n    os.mkdir(str(n)); n += 1",
        "flooded: it made more than 100 files",
    ),
    "many sparse files": (
        "for n in range(9): open(str(n), 'wb').truncate(1 << 20)" + FOREVER,
        "flooded: it wrote more than 4194304 bytes to files",
    ),
    "an archive of many files": (
        "import io, tarfile\nmade = tarfile.open('t', 'w')\n"
        "for n in range(400): made.addfile(tarfile.TarInfo(f'd/{n}'))\n"
        "made.close()\ntarfile.open('t').extractall('out')" + FOREVER,
        "flooded: it made more than 100 files",
    ),
}


@pytest.mark.parametrize("kind", WASTE)
def test_waste_is_ended_and_named(kind: str, strong: Strength, folders: Path) -> None:
    code, ending = WASTE[kind]
    outcome = execute(code)
    assert f"{outcome.status}: {outcome.reason}".startswith(ending), outcome
    assert len(outcome.stdout) + len(outcome.stderr) < 2 * MEGABYTE
    assert processes_of(str(folders)) == []
    assert list(folders.iterdir()) == []


@pytest.mark.parametrize(
    "code",
    [
        "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)",
        "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65)); signal.sigwait([40])",
        "import os, time\nfor n in (0, 1, 2): os.close(n)\ntime.sleep(9999)",
        "import threading, time\nthreading.Thread(target=time.sleep, args=(9999,)).start()",
        "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(9999)",
    ],
    ids=["stopped", "deaf", "silent", "a thread that stays", "unwilling"],
)
def test_waiting_is_ended_by_the_clock(code: str, strong: Strength, folders: Path) -> None:
    assert execute(code, BRIEF).status == "timeout"
    assert processes_of(str(folders)) == []


def test_the_watch_sees_what_the_kernel_does_not_limit() -> None:
    code = "import mmap\nkept = mmap.mmap(-1, 64 << 20)\nkept.write(bytes(64 << 20))\nprint(1, flush=True)" + FOREVER
    with Worker({"worker_main.py": code}) as worker:
        assert worker.ask(1) == 1
        pid = worker._jail.process.pid
        used = usage(pid, frozenset())
        assert used.memory > 64 * MEGABYTE
        bounds = {"threads": 99, "memory": used.memory, "disk": 1}
        assert passed(pid, bounds, 0, frozenset()) is None
        assert passed(pid, {**bounds, "memory": 64 * MEGABYTE}, 0, frozenset()) == "memory"
        assert passed(pid, {**bounds, "threads": 0}, 0, frozenset()) == "threads"


def test_the_exit_status_cannot_be_forged(strong: Strength) -> None:
    code = (
        "import os\nfor n in range(3, 256):\n    try: os.write(n, b'0\\n')\n    except OSError: pass\n"
        "    else: print('somebody heard', n)\nos._exit(7)"
    )
    outcome = execute(code)
    assert (outcome.status, outcome.reason, outcome.stdout) == ("failed", "it ended with status 7", "")


@pytest.mark.skipif("__import__('platform').machine() != 'x86_64'")
def test_the_door_for_old_programs_is_shut(strong: Strength) -> None:
    code = (
        "import ctypes, mmap\n"
        "page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)\n"
        "page.write(bytes.fromhex('b814000000cd80c3'))\n"
        "enter = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))\n"
        "print('entered', enter())"
    )
    outcome = execute(code)
    assert (outcome.status, outcome.reason, outcome.stdout) == ("killed", "it was killed: Bad system call", "")


MODULES = ("json", "ctypes", "socket", "sitecustomize", "usercustomize", "encodings", "inside/launcher", "_runtime")


@pytest.mark.parametrize("name", MODULES)
def test_a_file_named_like_a_module_runs_inside_or_not_at_all(name: str, strong: Strength, tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    files = {
        f"{name}.py": f"open({str(canary)!r}, 'w').write('outside')",
        "main.py": "print('done')",
        "evil.pth": f"import os; open({str(canary)!r}, 'w')",
    }
    run(files, ["main.py"], limits=LIMITS)
    assert not canary.exists()


def test_what_one_run_plants_no_other_run_meets(strong: Strength) -> None:
    planted = "('sitecustomize.py', 'usercustomize.py', 'evil.pth', 'json.py', 'conftest.py', 'sandbox_worker.py')"
    execute(f"for name in {planted}: open(name, 'w').write('print(\"planted\")')")
    outcome = execute("import json, os; print(sorted(os.listdir('.')))")
    assert outcome.stdout == "['main.py']\n"


@pytest.mark.parametrize("name", ["PYTHONSTARTUP", "PYTHONPATH", "PYTHONHOME", "LD_PRELOAD", "LD_LIBRARY_PATH"])
def test_our_own_environment_does_not_reach_it(
    name: str, strong: Strength, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sitecustomize.py").write_text("print('ours')")
    monkeypatch.setenv(name, str(tmp_path))
    code = f"import os; print(os.environ.get({name!r}, '').replace(os.getcwd(), '.'))"
    assert execute(code).stdout == (".\n" if name == "PYTHONPATH" else "\n")


def test_results_are_bytes_that_nobody_opens(strong: Strength, tmp_path: Path) -> None:
    code = (
        "import os, pickle\n"
        f"class Bomb:\n    def __reduce__(self): return (open, ({str(tmp_path / 'canary')!r}, 'w'))\n"
        "open('result.pkl', 'wb').write(pickle.dumps(Bomb()))\n"
        "for name in ('two\\nlines', b'\\xff', 'bell\\a'): open(name, 'w').write('x')\n"
    )
    outcome = execute(code)
    assert outcome.ok
    assert list(outcome.files) == ["result.pkl"]
    assert not (tmp_path / "canary").exists()
    with pytest.raises(FileNotFoundError):
        pickle.Unpickler(io.BytesIO(outcome.files["result.pkl"].replace(b"canary", b"no/one"))).load()


def test_folders_that_turn_into_files_while_we_look(strong: Strength, folders: Path) -> None:
    code = (
        "import os, time\nend = time.monotonic() + 0.3\nwhile time.monotonic() < end:\n"
        "    os.mkdir('x'); os.rename('x', 'y'); os.rmdir('y'); open('y', 'w').close(); os.rename('y', 'x')\n"
        "    os.unlink('x')"
    )
    assert execute(code).ok
    assert list(folders.iterdir()) == []


SERVE = "from sandbox_worker import serve\n"


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("print(1, flush=True)" + FOREVER, "spoke before it was asked: b'1"),
        (SERVE + "import os\nserve(lambda m: os.write(2, b'!') and os._exit(0))", "it ended"),
        ("print('1e999', flush=True)", "1e999 is no JSON number"),
        ("print('-Infinity', flush=True)", "Infinity is no JSON number"),
        ("print('9' * 10000, flush=True)", "no JSON"),
        ("print('\"\\\\ud800\"', flush=True)", "no JSON"),
        ("print('{\"a\":' * 5000 + '1' + '}' * 5000, flush=True)", "no JSON"),
        ("import sys, pickle; sys.stdout.buffer.write(pickle.dumps({1: 2}) + b'\\n'); sys.stdout.flush()", "no JSON"),
        ("import sys; sys.stdout.buffer.write(b'\\xff\\xfe\\n'); sys.stdout.flush()", "no JSON"),
    ],
)
def test_a_worker_that_lies_is_over(code: str, reason: str, strong: Strength) -> None:
    with Worker({"worker_main.py": code}) as worker:
        if "before" in reason:
            select.select([worker._stdout], [], [], HANG)
        with pytest.raises(WorkerError, match=reason):
            worker.ask(1)


def test_a_second_answer_is_never_taken_for_that_of_the_next_question(strong: Strength) -> None:
    code = "for line in iter(input, ''): print(line + '\\n\"forged\"', flush=True)"
    with Worker({"worker_main.py": code}) as worker:
        assert worker.ask("real") == "real"
        with pytest.raises(WorkerError, match=r"spoke before it was asked: .*forged"):
            worker.ask("next")


def test_a_time_bomb_does_not_outlive_its_worker(strong: Strength, folders: Path) -> None:
    code = SERVE + (
        "import threading, time\n"
        "def bomb():\n    while True:\n        time.sleep(0.01); open('bomb', 'w').close()\n"
        "threading.Thread(target=bomb).start()\nserve(lambda message: 'harmless')"
    )
    with Worker({"bomb_main.py": code}, "bomb_main.py") as worker:
        assert worker.ask(1) == "harmless"
    wait_until(lambda: not processes_of(str(folders)))
    assert list(folders.iterdir()) == []


def test_a_worker_in_line_with_another_hears_and_says_nothing_there(strong: Strength) -> None:
    code = (
        "import json, os\nfor line in iter(input, ''):\n    heard = []\n    for n in range(3, 256):\n"
        "        try: os.write(n, b'\"forged\"\\n'); heard.append(n)\n        except OSError: pass\n"
        "    print(json.dumps(heard), flush=True)"
    )
    with Worker({"worker_main.py": code}) as one, Worker({"worker_main.py": code}) as other:
        assert json.dumps([one.ask(1), other.ask(1), one.ask(2)]) == "[[], [], []]"
