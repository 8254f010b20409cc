"""Namespaces: a view of the machine without network, without other processes, and with read-only file systems."""

import ctypes
import os

NEW_MOUNTS, NEW_NAMES, NEW_IPC, NEW_USER, NEW_PIDS, NEW_NETWORK = (
    0x00020000,
    0x04000000,
    0x08000000,
    0x10000000,
    0x20000000,
    0x40000000,
)
BIND, RECURSIVE, PRIVATE = 0x1000, 0x4000, 0x40000
MOUNT_SETATTR = 442
HERE = -100
AT_RECURSIVE = 0x8000
READ_ONLY = 1
INNER_ID = 1000
"""The user id inside. It is not root, so executing a program drops the capabilities that a new namespace gives."""

libc = ctypes.CDLL(None, use_errno=True)


class Attributes(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("set", "clear", "propagation", "namespace")]


def enter() -> None:
    """Move this process into new namespaces. Its next child is the first process of the new process namespace."""
    user, group = os.geteuid(), os.getegid()
    _checked(libc.unshare(NEW_NAMES | NEW_IPC | NEW_USER | NEW_PIDS | NEW_NETWORK), "unshare")
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"{INNER_ID} {user} 1")
    _write("/proc/self/gid_map", f"{INNER_ID} {group} 1")


def seal(writable: list[str]) -> None:
    """Make all file systems read-only for this process and its children, except the given folders.

    This also protects modes and times of files, which Landlock does not.
    """
    _checked(libc.unshare(NEW_MOUNTS), "unshare mounts")
    _checked(libc.mount(None, b"/", None, RECURSIVE | PRIVATE, None), "mount private")
    for path in writable:
        _checked(libc.mount(path.encode(), path.encode(), None, BIND, None), "bind")
    _set(b"/", AT_RECURSIVE, Attributes(READ_ONLY, 0, 0, 0))
    for path in writable:
        _set(path.encode(), 0, Attributes(0, READ_ONLY, 0, 0))


def _set(path: bytes, flags: int, attributes: Attributes) -> None:
    size = ctypes.c_size_t(ctypes.sizeof(attributes))
    _checked(libc.syscall(MOUNT_SETATTR, HERE, path, flags, ctypes.byref(attributes), size), "mount_setattr")


def _write(path: str, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


def _checked(result: int, call: str) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{call}: {os.strerror(number)}")
