"""Seccomp: system calls that generated code has no use for are refused: sockets, new processes, mounts, tracing.

A classic BPF program over (architecture, number, first argument). Threads are allowed, processes are not. clone3, whose
flags a filter cannot see, answers ENOSYS, upon which C libraries use clone.
"""

import ctypes
import errno
import os
import struct

MODE_FILTER = 2
PR_SET_SECCOMP = 22
LOAD, JUMP_EQUAL, JUMP_AT_LEAST, JUMP_ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
NUMBER, ARCHITECTURE, FIRST_ARGUMENT = 0, 4, 16
ALLOW, FAIL, KILL = 0x7FFF0000, 0x00050000, 0x80000000
CLONE_THREAD = 0x10000
OTHER_ABI = 0x40000000
"""On x86-64, numbers from here on are the x32 doors to the same calls."""

CLONE3, IO_URING_SETUP = 435, 425
MACHINES: dict[str, tuple[int, int, tuple[int, ...]]] = {
    # socket fork vfork ptrace mount umount2 pivot_root unshare setns bpf perf keys process_vm modules handles userfault
    "x86_64": (
        0xC000003E,
        56,
        (41, 57, 58, 101, 165, 166, 155, 272, 308, 321, 298, 248, 249, 250, 310, 311, 175, 313, 246, 304, 323),
    ),
    # socket ptrace mount umount2 pivot_root unshare setns bpf perf keys process_vm modules kexec handles userfault
    "aarch64": (
        0xC00000B7,
        220,
        (198, 117, 40, 39, 41, 97, 268, 280, 241, 217, 218, 219, 270, 271, 105, 273, 104, 265, 282),
    ),
}
"""Machine to its audit architecture, its number of clone, and the numbers refused."""


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def is_known() -> bool:
    """Whether there is a filter for this machine."""
    return os.uname().machine in MACHINES


def restrict() -> None:
    """Refuse the calls from here on; no_new_privs must be set."""
    code = _program(*MACHINES[os.uname().machine])
    program = Program(len(code) // 8, code)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_SECCOMP, MODE_FILTER, ctypes.byref(program), 0, 0):
        number = ctypes.get_errno()
        raise OSError(number, f"seccomp: {os.strerror(number)}")


def _program(architecture: int, clone: int, refused: tuple[int, ...]) -> bytes:
    refuse = FAIL | errno.EPERM
    steps = [
        _step(LOAD, ARCHITECTURE),
        _step(JUMP_EQUAL, architecture, yes=1),
        _step(RETURN, KILL),
        _step(LOAD, NUMBER),
        _step(JUMP_AT_LEAST, OTHER_ABI, no=1),
        _step(RETURN, refuse),
    ]
    for number in (*refused, IO_URING_SETUP):
        steps += [_step(JUMP_EQUAL, number, no=1), _step(RETURN, refuse)]
    steps += [
        _step(JUMP_EQUAL, CLONE3, no=1),
        _step(RETURN, FAIL | errno.ENOSYS),
        _step(JUMP_EQUAL, clone, no=3),
        _step(LOAD, FIRST_ARGUMENT),
        _step(JUMP_ANY_BIT, CLONE_THREAD, yes=1),
        _step(RETURN, refuse),
        _step(RETURN, ALLOW),
    ]
    return b"".join(steps)


def _step(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("=HBBI", code, yes, no, value)
