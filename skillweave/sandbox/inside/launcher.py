"""The launcher: the trusted process between the caller and generated code. Nothing outlives its line to the caller.

The caller holds one end of a socket, the line. The launcher starts the code, confined, and watches it. When the code
ends, the launcher reports the exit status over the line, or the bound for which it stopped the code. A byte on the line
makes it kill everything. If the line closes without a byte, the caller is dead, and the launcher deletes the folder
too. A process of its own is needed because the kernel's parent-death signal follows the thread that forked, and the
caller's threads come and go.
"""

import contextlib
import ctypes
import json
import os
import resource
import select
import signal
import socket
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from . import landlock, namespaces, seccomp, watch

PR_SET_PDEATHSIG = 1
PR_CAPBSET_DROP = 24
PR_SET_NO_NEW_PRIVS = 38
CAPABILITIES = 64
"""More capabilities than any kernel knows."""
UNCONFINED = 126
"""Exit status if the code could not be confined and so was not started."""
LOOK_MS = 50
"""Milliseconds between two looks at what the code uses."""
POLL_MS = 10
"""Milliseconds between two looks at whether it has ended, if no descriptor tells."""

Plan = dict[str, Any]


def main() -> None:
    plan: Plan = json.loads(sys.argv[1])
    if plan["stage"] == "probe":
        _probe()
    elif plan["stage"] == "payload":
        _payload(plan)
    else:
        _launch(plan)


def _probe() -> None:
    """Print as JSON what this machine offers to confine code."""
    offers = [name for name, there in (("landlock", landlock.version() > 0), ("seccomp", seccomp.is_known())) if there]
    try:
        namespaces.enter()
        pid = os.fork()
        if pid == 0:
            namespaces.seal([])
            os._exit(0)
        if os.waitpid(pid, 0)[1] == 0:
            offers.append("namespaces")
    except OSError:
        pass
    print(json.dumps(offers))


def _launch(plan: Plan) -> None:
    line = socket.socket(fileno=plan["line"])
    line.set_inheritable(False)
    if plan["strength"] == "namespaces":
        namespaces.enter()
    alive, mine = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(mine)
        _die_with_parent(alive)
        _start(plan)
    given = watch.regular_files((0, 1, 2))
    for descriptor in (0, 1, 2):
        os.close(descriptor)
    report = _watch(pid, line, lambda: watch.passed(pid, plan["bounds"], plan["trusted"], given))
    if not _told(line, report):
        _delete(plan["folder"])


def _start(plan: Plan) -> NoReturn:
    """In the first child: become the payload, or start it."""
    try:
        # With a handler, the code could interrupt the first process of its namespace, which would end the namespace.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        if plan["strength"] != "namespaces":
            os.setsid()
        if "wrapper" in plan:
            os.execv(plan["wrapper"][0], plan["wrapper"])
        if plan["strength"] == "limits":
            _payload(plan)
        namespaces.seal(plan["writable"])
        pid = os.fork()
        if pid == 0:
            _payload(plan)
        os._exit(_reap(pid))
    except OSError as error:
        _refuse(error)


def _reap(pid: int) -> int:
    """As the first process of a namespace: reap processes until `pid` ends. The kernel kills the others."""
    while True:
        ended, status = os.wait()
        if ended == pid:
            return _exit_status(status)


def _payload(plan: Plan) -> NoReturn:
    """Confine this process, then become the generated code."""
    try:
        os.chdir(plan["folder"])
        libc = ctypes.CDLL(None, use_errno=True)
        if sys.platform == "linux":
            libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
            for number in range(CAPABILITIES):
                # Only the superuser has capabilities; with them the code could raise its own limits again.
                libc.prctl(PR_CAPBSET_DROP, number, 0, 0, 0)
        if "landlock" in plan["offers"]:
            landlock.restrict(plan["readable"], [*plan["writable"], os.devnull])
        _limit(plan["limits"])
        if "seccomp" in plan["offers"]:
            seccomp.restrict()
        os.execve(plan["argv"][0], plan["argv"], plan["environment"])
    except (OSError, ValueError) as error:
        _refuse(error)


def _limit(limits: dict[str, list[int]]) -> None:
    for name, (soft, hard) in limits.items():
        number = getattr(resource, name)
        allowed = resource.getrlimit(number)[1]
        if allowed != resource.RLIM_INFINITY:
            # Where the user has less, the code has no more either.
            soft, hard = min(soft, allowed), min(hard, allowed)
        try:
            resource.setrlimit(number, (soft, hard))
        except (OSError, ValueError):
            # macOS does not apply some limits. There the user has been warned that the sandbox is weak.
            if sys.platform == "linux":
                raise


def _refuse(error: Exception) -> NoReturn:
    os.write(2, f"sandbox: could not confine the code, so it was not started: {error}\n".encode())
    os._exit(UNCONFINED)


def _die_with_parent(alive: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    # The parent may have died before the call; then its end of the pipe is closed.
    poll = select.poll()
    poll.register(alive, select.POLLHUP)
    if poll.poll(0):
        os._exit(UNCONFINED)


def _watch(pid: int, line: socket.socket, passed: Callable[[], str | None]) -> str | None:
    """Wait until `pid` ends, passes a bound, or the line becomes readable; kill it if it has not ended.

    Returns:
        The exit status, or the bound that was passed; None if the line was first.
    """
    poll = select.poll()
    poll.register(line.fileno(), select.POLLIN | select.POLLHUP)
    has_descriptor = hasattr(os, "pidfd_open")
    if has_descriptor:
        poll.register(os.pidfd_open(pid), select.POLLIN)
    while True:
        ready = {descriptor for descriptor, _ in poll.poll(LOOK_MS if has_descriptor else POLL_MS)}
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            _kill_group(pid)
            return str(_exit_status(status))
        too_much = passed()
        if too_much or line.fileno() in ready:
            _kill_group(pid)
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return too_much


def _told(line: socket.socket, report: str | None) -> bool:
    """Report how it ended, and wait for the dismissal; False if the caller is dead."""
    if report is not None:
        # The caller may be gone already; reading below tells whether it dismissed us.
        with contextlib.suppress(OSError):
            line.sendall(f"{report}\n".encode())
    try:
        return bool(line.recv(1))
    except OSError:
        return False


def _delete(folder: str) -> None:
    # Only needed when the caller has died; importing it would make every start slower.
    import shutil

    shutil.rmtree(folder, ignore_errors=True)


def _kill_group(pid: int) -> None:
    """Kill the process group of the payload, if it leads one; in a namespace the kernel does it."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _exit_status(status: int) -> int:
    """The exit status as shells report it: 128 and more for signals."""
    return os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status)
