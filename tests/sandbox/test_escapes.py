"""Generated code tries to get out, and what must not have happened is looked at from outside."""

import os
import platform
import socket
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from skillweave.config.sections import Strength
from skillweave.sandbox.folder import MEGABYTE, SandboxLimits
from skillweave.sandbox.inside.seccomp import JUDGED, MACHINES, REFUSED, numbers
from skillweave.sandbox.run import run
from tests.sandbox.escapes import ESCAPES, HARNESS
from tests.waiting import HANG, processes_of

LIMITS = SandboxLimits(
    seconds=HANG, cpu_seconds=5, memory_bytes=256 * MEGABYTE, file_bytes=MEGABYTE * 2, output_bytes=MEGABYTE
)
SECRET = "the secret of the outside"
NOT_A_REFUSAL = ("EFAULT", "EINVAL", "EBADF")
"""Errors that a call may have without having been refused."""


class Outside:
    """What generated code must not touch: a file, listeners, a bystander, ourselves."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder = folder
        self.mark = f"skillweave-{uuid.uuid4().hex}"
        self.secret = folder / "secret.txt"
        self.secret.write_text(SECRET)
        os.utime(self.secret, (1000, 1000))
        self._file = stack.enter_context(self.secret.open())
        self._before = self.secret.stat()
        self._listeners = [
            stack.enter_context(socket.create_server(("127.0.0.1", 0))),
            stack.enter_context(socket.socket(type=socket.SOCK_DGRAM)),
            stack.enter_context(socket.socket(socket.AF_UNIX)),
            stack.enter_context(socket.socket(socket.AF_UNIX)),
        ]
        _, datagrams, named, abstract = self._listeners
        datagrams.bind(("127.0.0.1", 0))
        named.bind(str(folder / "unix"))
        abstract.bind("\0" + self.mark)
        named.listen()
        abstract.listen()
        idle = [sys.executable, "-I", "-S", "-c", "input()"]
        self._victim = stack.enter_context(subprocess.Popen(idle, stdin=subprocess.PIPE))
        stack.callback(self._victim.kill)
        self._listing = sorted(path.name for path in folder.iterdir())

    def aim(self) -> str:
        """The module `aim`."""
        machine = platform.machine()
        calls = numbers(REFUSED, machine) if machine in MACHINES else {}
        judged = numbers(JUDGED, machine) if machine in MACHINES else dict.fromkeys(JUDGED)
        tcp, udp = (listener.getsockname()[1] for listener in self._listeners[:2])
        values = {
            "SECRET": str(self.secret),
            "OUTSIDE": str(self.folder),
            "HOME": str(Path.home()),
            "PROJECT": str(Path(__file__).parents[2]),
            "PREFIX": sys.prefix,
            "MARK": self.mark,
            "MACHINE": machine,
            "PID": os.getpid(),
            "VICTIM": self._victim.pid,
            "DESCRIPTOR": self._file.fileno(),
            "TCP": tcp,
            "UDP": udp,
            "UNIX": str(self.folder / "unix"),
            "CALLS": calls,
            "CLONE": judged["clone"],
            "PRCTL": judged["prctl"],
            "PRLIMIT": judged["prlimit64"],
        }
        return "".join(f"{name} = {value!r}\n" for name, value in values.items())

    def assert_untouched(self) -> None:
        after = self.secret.stat()
        assert self.secret.read_text() == SECRET
        assert [getattr(after, name) for name in ("st_mode", "st_uid", "st_mtime", "st_nlink")] == [
            getattr(self._before, name) for name in ("st_mode", "st_uid", "st_mtime", "st_nlink")
        ]
        assert sorted(path.name for path in self.folder.iterdir()) == self._listing
        marked = ("/tmp", "/dev/shm", "/dev", "/", "/sys/fs/cgroup", Path(os.__file__).parent, Path(sys.prefix, "lib"))
        assert [place for place in marked if list(Path(place).glob(f"{self.mark}*"))] == []
        for listener in self._listeners:
            listener.setblocking(False)
            with pytest.raises(BlockingIOError):
                _ = listener.recv(1) if listener.type == socket.SOCK_DGRAM else listener.accept()
        assert self._victim.poll() is None
        state, niceness = self._state()
        assert state in "SRD"
        assert niceness == os.getpriority(os.PRIO_PROCESS, 0)

    def _state(self) -> tuple[str, int]:
        fields = Path(f"/proc/{self._victim.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return fields[0], int(fields[16])


@pytest.fixture(scope="module")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outside]:
    with ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
        patch.setenv("SKILLWEAVE_TEST_KEY", SECRET)
        yield Outside(tmp_path_factory.mktemp("o"), stack)


@pytest.mark.parametrize("attempt", ESCAPES)
def test_an_escape_fails(attempt: str, strong: Strength, folders: Path, outside: Outside) -> None:
    files = {"main.py": HARNESS, "attempt.txt": ESCAPES[attempt], "aim.py": outside.aim()}
    outcome = run(files, ["main.py"], limits=LIMITS)
    assert outcome.stdout.startswith("refused: "), outcome
    assert outcome.stdout.split()[-1] not in NOT_A_REFUSAL, outcome.stdout
    assert "ESCAPED" not in outcome.stdout
    assert SECRET not in outcome.stdout + outcome.stderr
    assert not any(SECRET.encode() in content for content in outcome.files.values())
    assert processes_of(str(folders)) == []
    assert list(folders.iterdir()) == []
    outside.assert_untouched()
