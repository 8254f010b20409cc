"""Landlock: restrict this process, and all that it starts, to the given paths.

It uses system calls through ctypes (docs.kernel.org/userspace-api/landlock.html). Rights that a kernel does not know
are left out; every version knows those to read, write and make files.
"""

import ctypes
import os
import stat
from collections.abc import Sequence

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
ASK_VERSION = 1
PATH_BENEATH = 1
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
REMOVE_DIR, REMOVE_FILE, MAKE_DIR, MAKE_REG = 1 << 4, 1 << 5, 1 << 7, 1 << 8
REFER, TRUNCATE = 1 << 13, 1 << 14
RIGHTS_OF = {1: 13, 2: 14, 3: 15, 4: 15}
"""ABI version -> number of its file rights; 16 from version 5 on."""
READ = EXECUTE | READ_FILE | READ_DIR
WRITE = READ_FILE | READ_DIR | WRITE_FILE | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG | REFER | TRUNCATE
ON_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE
TCP = 0b11
"""Bind and connect."""
SCOPES = 0b11
"""Abstract sockets and signals to processes outside."""

libc = ctypes.CDLL(None, use_errno=True)


class Ruleset(ctypes.Structure):
    _fields_ = [("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scopes", ctypes.c_uint64)]


class PathRule(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32)]


def version() -> int:
    """The version of the kernel's Landlock ABI; 0 if it has none."""
    return max(0, int(libc.syscall(CREATE_RULESET, None, ctypes.c_size_t(0), ASK_VERSION)))


def restrict(readable: Sequence[str], writable: Sequence[str]) -> None:
    """Allow reading beneath `readable`, and reading and writing beneath `writable`. no_new_privs must be set.

    Raises:
        OSError: The kernel refuses.
    """
    abi = version()
    handled = (1 << RIGHTS_OF.get(abi, 16)) - 1
    size = 8 if abi < 4 else 16 if abi < 6 else 24
    ruleset = Ruleset(handled, TCP if abi >= 4 else 0, SCOPES if abi >= 6 else 0)
    descriptor = _checked(libc.syscall(CREATE_RULESET, ctypes.byref(ruleset), ctypes.c_size_t(size), 0))
    for path in readable:
        _allow(descriptor, path, READ & handled)
    for path in writable:
        _allow(descriptor, path, WRITE & handled)
    _checked(libc.syscall(RESTRICT_SELF, descriptor, 0))
    os.close(descriptor)


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        parent = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(parent).st_mode):
            rights &= ON_FILES
        rule = PathRule(rights, parent)
        _checked(libc.syscall(ADD_RULE, ruleset, PATH_BENEATH, ctypes.byref(rule), 0))
    finally:
        os.close(parent)


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"landlock: {os.strerror(number)}")
    return result
