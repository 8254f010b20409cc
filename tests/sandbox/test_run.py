import os
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from skillweave.base.errors import ConfigError
from skillweave.config.sections import Strength
from skillweave.sandbox.folder import MEGABYTE, SandboxLimits
from skillweave.sandbox.run import SandboxOutcome, run
from tests.waiting import HANG

QUICK = SandboxLimits(
    seconds=HANG, cpu_seconds=2, memory_bytes=256 * MEGABYTE, file_bytes=MEGABYTE, output_bytes=MEGABYTE
)


def execute(code: str, limits: SandboxLimits = QUICK, **files: str) -> SandboxOutcome:
    return run({"main.py": code, **files}, ["main.py"], limits=limits)


def test_code_reads_its_input_imports_its_files_and_writes(any_strength: Strength, folders: Path) -> None:
    code = (
        "import sys, part\n"
        "open('main.py', 'a').write('# changed')\n"
        "open('out.txt', 'w').write(part.WORD + sys.stdin.read() + sys.argv[1])\n"
        "print('done', file=sys.stderr)"
    )
    files: dict[str, str | bytes] = {"main.py": code, "part.py": "WORD = 'a'", "sub/same.txt": b"\xff"}
    outcome = run(files, ["main.py", "c"], stdin=b"b", limits=QUICK)
    assert (outcome.status, outcome.reason, outcome.stdout, outcome.stderr) == ("ok", "", "", "done\n")
    assert outcome.files == {"main.py": (code + "# changed").encode(), "out.txt": b"abc"}
    assert list(folders.iterdir()) == []


def test_an_error_is_a_result_without_this_machines_paths(any_strength: Strength) -> None:
    outcome = execute("import json\njson.loads('{')")
    assert outcome.status == "failed"
    assert outcome.reason.startswith("it ended with status 1: json.decoder.JSONDecodeError")
    assert 'File "./main.py", line 2' in outcome.stderr
    assert 'File "<python>/lib' in outcome.stderr
    assert outcome == execute("import json\njson.loads('{')")


def test_two_runs_are_alike_sets_included(any_strength: Strength) -> None:
    code = "import time; print({chr(n) for n in range(97, 123)}, hash('x'), time.tzname)"
    assert execute(code).stdout == execute(code).stdout != ""


def test_a_loop_is_ended_by_its_cpu_time(any_strength: Strength) -> None:
    outcome = execute("while True: pass", SandboxLimits(cpu_seconds=1))
    assert (outcome.status, outcome.reason) == ("killed", "it used more than 1 seconds of CPU time")


@pytest.mark.parametrize(
    "code", ["import time; time.sleep(9999)", "import os; os.close(1); os.close(2); os.read(0, 1); os.pause()"]
)
def test_a_wait_is_ended_by_the_clock(any_strength: Strength, code: str) -> None:
    code = code.replace("os.pause()", "__import__('signal').pause()")
    outcome = execute(code, SandboxLimits(seconds=0.5))
    assert (outcome.status, outcome.reason) == ("timeout", "it ran longer than 0.5 seconds")


def test_a_fork_bomb_does_not_get_off_the_ground(any_strength: Strength) -> None:
    code = (
        "import os, time\n"
        "made = 0\n"
        "for _ in range(30):\n"
        "    try:\n"
        "        if os.fork() == 0: time.sleep(20)\n"
        "        made += 1\n"
        "    except OSError: pass\n"
        "print(made)"
    )
    if any_strength == "limits" and os.geteuid() == 0:
        pytest.skip("limits on processes do not bind the superuser")
    assert execute(code).stdout == "0\n"


def test_threads_are_allowed(strong: Strength) -> None:
    code = (
        "import threading, asyncio\n"
        "thread = threading.Thread(target=print, args=('x',)); thread.start(); thread.join()\n"
        "asyncio.run(asyncio.sleep(0))"
    )
    assert execute(code).stdout == "x\n"


def test_memory_is_bounded(any_strength: Strength) -> None:
    outcome = execute("kept = []\nwhile True: kept.append(bytearray(1 << 24))")
    assert outcome.reason == "it ended with status 1: MemoryError"


def test_a_flood_of_output_is_cut_off(any_strength: Strength) -> None:
    outcome = execute("while True: print('x' * 10000)")
    assert (outcome.status, outcome.reason) == ("flooded", f"it wrote more than {MEGABYTE} bytes of output")
    assert len(outcome.stdout) < 2 * MEGABYTE


def test_a_large_file_is_refused(any_strength: Strength) -> None:
    outcome = execute("file = open('big', 'wb')\nwhile True: file.write(b'x' * 100000)")
    assert "File too large" in outcome.reason


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("for n in range(500): open(str(n), 'w').close()\nimport time; time.sleep(9999)", "more than 100 files"),
        ("for n in range(9): open(str(n), 'wb').write(bytes(900000))\nimport time; time.sleep(9999)", "bytes to files"),
    ],
)
def test_many_files_are_noticed_while_it_runs(any_strength: Strength, code: str, reason: str) -> None:
    limits = SandboxLimits(seconds=HANG, files=100, disk_bytes=5 * MEGABYTE, file_bytes=MEGABYTE)
    outcome = execute(code, limits)
    assert outcome.status == "flooded"
    assert reason in outcome.reason


@pytest.mark.parametrize(
    "code",
    [
        "import socket; socket.socket()",
        "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM)",
        "import socket; socket.socket(socket.AF_UNIX)",
        "import urllib.request; urllib.request.urlopen('http://127.0.0.1:{port}')",
        "import subprocess; subprocess.run(['true'])",
        "import os; os.posix_spawn('/bin/true', ['true'], {{}})",
        "import os; os.kill(os.getppid(), 0)",
        "import os; os.kill({pid}, 0)",
        "import ctypes; assert ctypes.CDLL(None).unshare(0x10000000) == 0",
        "import ctypes; assert ctypes.CDLL(None).mount(b'x', b'.', b'tmpfs', 0, None) == 0",
        "import os; os.symlink('/etc/passwd', 'link')",
        "import os; os.mkfifo('pipe')",
        "import os; os.setuid(0)",
        "print(open({secret!r}).read())",
        "print(open('/etc/passwd').read())",
        "print(open('/proc/{pid}/environ').read())",
        "import os; os.listdir({home!r})",
        "open({outside!r}, 'w')",
        "import os; os.unlink({secret!r})",
        "import os; os.chmod({secret!r}, 0)",
        "import os; os.utime({secret!r}, (0, 0))",
        "import os; os.link({secret!r}, 'link')",
        "import os; os.rename('main.py', {outside!r})",
        "import os, sys; open(os.path.join(os.path.dirname(os.__file__), 'x.py'), 'w')",
    ],
)
def test_what_generated_code_has_no_business_with_is_refused(strong: Strength, tmp_path: Path, code: str) -> None:
    secret, outside = tmp_path / "secret.txt", tmp_path / "outside.txt"
    secret.write_text("the secret")
    os.utime(secret, (1000, 1000))
    mode = secret.stat().st_mode
    with socket.create_server(("127.0.0.1", 0)) as server:
        values = {"secret": str(secret), "outside": str(outside), "home": str(tmp_path), "pid": os.getpid()}
        outcome = execute(code.format(port=server.getsockname()[1], **values))
    assert outcome.status == "failed", outcome
    assert "the secret" not in outcome.stdout
    assert not outside.exists()
    assert outcome.files == {}
    assert secret.read_text() == "the secret"
    assert secret.stat().st_mode == mode
    assert secret.stat().st_mtime == 1000


def test_the_environment_holds_no_secrets(any_strength: Strength, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    code = (
        "import os\nprint(sorted(os.environ))\n"
        "if os.access('/proc/self/environ', os.R_OK): print(open('/proc/self/environ').read())"
    )
    outcome = execute(code)
    assert "sk-secret" not in outcome.stdout + outcome.stderr
    assert "'HOME', 'LANG', " in outcome.stdout


def test_nothing_of_ours_is_left_open(any_strength: Strength, tmp_path: Path) -> None:
    with (tmp_path / "secret.txt").open("w") as file:
        os.set_inheritable(file.fileno(), True)
        code = "import os\nfor n in range(3, 60):\n    try: os.fstat(n); print(n)\n    except OSError: pass"
        assert execute(code).stdout == ""


def test_a_path_that_is_given_may_be_read_but_not_written(strong: Strength, tmp_path: Path) -> None:
    (tmp_path / "rows.txt").write_text("rows")
    rows = str(tmp_path / "rows.txt")
    code = f"print(open({rows!r}).read(), flush=True)\nopen({rows!r}, 'a')"
    outcome = run({"main.py": code}, ["main.py"], limits=QUICK, readable=[tmp_path])
    assert (outcome.status, outcome.stdout) == ("failed", "rows\n")


def test_installed_packages_are_there_when_asked_for() -> None:
    files = {"test_it.py": "def test_it(tmp_path):\n    (tmp_path / 'x').write_text('1')\n    assert 1 == 2\n"}
    assert "No module named pytest" in run(files, ["-m", "pytest"], limits=QUICK).reason
    outcome = run(
        files, ["-m", "pytest", "-q", "-p", "no:cacheprovider"], packages=True, limits=SandboxLimits(seconds=HANG)
    )
    assert "assert 1 == 2" in outcome.stdout


def test_a_crash_is_told_from_an_error(any_strength: Strength) -> None:
    outcome = execute("import ctypes; ctypes.string_at(0)")
    assert (outcome.status, outcome.reason) == ("killed", "it was killed: Segmentation fault")


def test_a_folder_that_resists_is_deleted_all_the_same(any_strength: Strength, folders: Path) -> None:
    code = "import os\nos.makedirs('a/b')\nopen('a/b/c', 'w').close()\nfor name in ('a/b', 'a', '.'): os.chmod(name, 0)"
    execute(code)
    assert list(folders.iterdir()) == []


def test_a_tree_too_deep_for_a_path_is_seen_and_deleted(any_strength: Strength, folders: Path) -> None:
    code = "import os\nfor _ in range(40): os.mkdir('d' * 200); os.chdir('d' * 200)\nopen('x', 'w').write('1')"
    outcome = execute(code)
    assert (outcome.status, outcome.reason) == ("flooded", "it made folders that cannot be looked into")
    assert list(folders.iterdir()) == []


def test_a_deep_tree_of_short_names_is_deleted(any_strength: Strength, folders: Path) -> None:
    outcome = execute("import os\nfor _ in range(1500): os.mkdir('d'); os.chdir('d')")
    assert outcome.ok
    assert list(folders.iterdir()) == []


@pytest.mark.parametrize("name", ["../x.py", "/tmp/x.py", "a/../../x.py", ""])
def test_files_belong_into_the_folder(name: str, folders: Path) -> None:
    with pytest.raises(ConfigError, match="outside of its folder"):
        run({name: ""}, ["main.py"])
    assert list(folders.iterdir()) == []


def test_many_runs_at_once_stay_apart_and_leave_nothing_open(folders: Path) -> None:
    def one(number: int) -> str:
        return execute(f"print(open('in.txt').read(), {number})", QUICK, **{"in.txt": f"file {number}"}).stdout

    execute("")
    before = len(list(Path("/proc/self/fd").iterdir()))
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(one, range(8))) == [f"file {number} {number}\n" for number in range(8)]
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    assert list(folders.iterdir()) == []
