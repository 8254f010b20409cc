"""Seccomp: refuse system calls that generated code does not need: sockets, new processes, mounts, tracing.

The filter is a classic BPF program over the architecture, the number and one argument. Threads are allowed, processes
are not, and the code can send signals only to itself. A filter cannot see the flags of clone3, so that answers ENOSYS,
and C libraries then use clone.
"""

import ctypes
import errno
import os
import struct

from .system_calls import JUDGED, MACHINES, NEWEST, REFUSED, numbers

MODE_FILTER = 2
PR_SET_SECCOMP = 22
LOAD, AND, JUMP_EQUAL, JUMP_ABOVE, RETURN = 0x20, 0x54, 0x15, 0x25, 0x06
NUMBER, ARCHITECTURE, ARGUMENTS = 0, 4, 16
ALLOW, FAIL, KILL = 0x7FFF0000, 0x00050000, 0x80000000
REFUSE, UNKNOWN = FAIL | errno.EPERM, FAIL | errno.ENOSYS

THREAD = 0x10000 | 0x800 | 0x400 | 0x200 | 0x100
"""Flags of clone that make a thread: it shares signals, files, folder and memory with this process."""
AF_UNIX = 1
FOREIGN_OPTIONS = (1, 4, 0x59616D61)
"""Refused options of prctl: to outlive the parent, to hide from it, to be traced."""
FOREIGN_COMMANDS = (8, 10, 15, 1024, 1026)
"""Refused commands of fcntl: to have the kernel send signals to others, leases, watches."""
FOREIGN_CONTROLS = (0x5412, 0x8901, 0x8902)
"""Refused requests of ioctl: to type into a terminal, to have the kernel send signals to others."""

Steps = list[bytes]


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def is_known() -> bool:
    """Whether there is a filter for this machine's architecture."""
    return os.uname().machine in MACHINES


def restrict() -> None:
    """Refuse the calls from now on. no_new_privs must be set. Raises OSError if the kernel refuses the filter."""
    code = b"".join(_program(os.uname().machine, os.getpid()))
    program = Program(len(code) // 8, code)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_SECCOMP, MODE_FILTER, ctypes.byref(program), 0, 0):
        number = ctypes.get_errno()
        raise OSError(number, f"seccomp: {os.strerror(number)}")


def _program(machine: str, own: int) -> Steps:
    judged = numbers(JUDGED, machine)
    steps = [
        _step(LOAD, ARCHITECTURE),
        _step(JUMP_EQUAL, MACHINES[machine], yes=1),
        _step(RETURN, KILL),
        _step(LOAD, NUMBER),
        # The numbers of the x32 variants of the same calls are above it as well.
        _step(JUMP_ABOVE, NEWEST, no=1),
        _step(RETURN, UNKNOWN),
    ]
    for number in numbers(REFUSED, machine).values():
        steps += _for(number, [_step(RETURN, REFUSE)])
    steps += _for(judged["clone3"], [_step(RETURN, UNKNOWN)])
    steps += _for(judged["clone"], [_argument(0), _step(AND, THREAD), *_if_among((THREAD,), ALLOW, REFUSE)])
    for name in ("kill", "tgkill"):
        steps += _for(judged[name], [_argument(0), *_if_among((own,), ALLOW, REFUSE)])
    steps += _for(judged["prlimit64"], [_argument(0), *_if_among((0, own), ALLOW, REFUSE)])
    steps += _for(judged["socketpair"], [_argument(0), *_if_among((AF_UNIX,), ALLOW, REFUSE)])
    steps += _for(judged["prctl"], [_argument(0), *_if_among(FOREIGN_OPTIONS, REFUSE, ALLOW)])
    steps += _for(judged["fcntl"], [_argument(1), *_if_among(FOREIGN_COMMANDS, REFUSE, ALLOW)])
    steps += _for(judged["ioctl"], [_argument(1), *_if_among(FOREIGN_CONTROLS, REFUSE, ALLOW)])
    return [*steps, _step(RETURN, ALLOW)]


def _for(number: int, then: Steps) -> Steps:
    """Steps for one call only; they have to return."""
    return [_step(JUMP_EQUAL, number, no=len(then)), *then]


def _if_among(values: tuple[int, ...], found: int, otherwise: int) -> Steps:
    """Return `found` if the loaded value is among the values, otherwise `otherwise`."""
    compared = [_step(JUMP_EQUAL, value, yes=len(values) - place) for place, value in enumerate(values)]
    return [*compared, _step(RETURN, otherwise), _step(RETURN, found)]


def _argument(place: int) -> bytes:
    """Load the lower half of an argument; the kernel uses no more of the arguments that are checked."""
    return _step(LOAD, ARGUMENTS + 8 * place)


def _step(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("=HBBI", code, yes, no, value)
