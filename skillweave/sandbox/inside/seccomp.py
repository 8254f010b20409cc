"""Seccomp: refuse system calls that generated code does not need: sockets, new processes, mounts, tracing.

The filter is a classic BPF program over the architecture, the number and one argument. Threads are allowed, processes
are not, and the code can send signals only to itself. A filter cannot see the flags of clone3, so that answers ENOSYS,
and C libraries then use clone.

Numbers are of x86-64 and of aarch64; a call that a machine does not have is None. From 424 on they are the same
everywhere.
"""

import ctypes
import errno
import os
import struct

MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""Machine -> audit architecture; the columns below are in this order."""
NEWEST = 456
"""Calls with higher numbers are newer than this list; they are refused as if the kernel did not know them."""

Numbers = tuple[int | None, int | None]

NETWORK: dict[str, Numbers] = {
    "socket": (41, 198),
    # Passing descriptors would hide open files from those who count them.
    "sendmsg": (46, 211),
    "sendmmsg": (307, 269),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
}
PROCESSES: dict[str, Numbers] = {
    "fork": (57, None),
    "vfork": (58, None),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "kcmp": (312, 272),
    "pidfd_open": (434, 434),
    "pidfd_getfd": (438, 438),
    "pidfd_send_signal": (424, 424),
    "tkill": (200, 130),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "setpriority": (141, 140),
    "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119),
    "sched_setattr": (314, 274),
    "sched_setaffinity": (203, 122),
    "ioprio_set": (251, 30),
    "migrate_pages": (256, 238),
    "move_pages": (279, 239),
    "personality": (135, 92),
}
MOUNTS: dict[str, Numbers] = {
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "unshare": (272, 97),
    "setns": (308, 268),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "sysfs": (139, None),
}
FILES: dict[str, Numbers] = {
    "symlink": (88, None),
    "symlinkat": (266, 36),
    "link": (86, None),
    "linkat": (265, 37),
    "mknod": (133, None),
    "mknodat": (259, 33),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "inotify_init": (253, None),
    "inotify_init1": (294, 26),
    "fanotify_init": (300, 262),
    "fanotify_mark": (301, 263),
}
MEMORY: dict[str, Numbers] = {
    # Memory that counts for no process, and stays when it is unmapped.
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "shmctl": (31, 195),
    "shmat": (30, 196),
    "semget": (64, 190),
    "msgget": (68, 186),
    "mq_open": (240, 180),
    "userfaultfd": (323, 282),
}
KERNEL: dict[str, Numbers] = {
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "syslog": (103, 116),
    "acct": (163, 89),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "reboot": (169, 142),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "adjtimex": (159, 171),
    "clock_adjtime": (305, 266),
    "vhangup": (153, 58),
    "lookup_dcookie": (212, 18),
    "iopl": (172, None),
    "ioperm": (173, None),
    "modify_ldt": (154, None),
    "uselib": (134, None),
}
REFUSED = {**NETWORK, **PROCESSES, **MOUNTS, **FILES, **MEMORY, **KERNEL}
JUDGED: dict[str, Numbers] = {
    "clone": (56, 220),
    "clone3": (435, 435),
    "kill": (62, 129),
    "tgkill": (234, 131),
    "prlimit64": (302, 261),
    "prctl": (157, 167),
    "socketpair": (53, 199),
    "fcntl": (72, 25),
    "ioctl": (16, 29),
}
"""Calls whose arguments the filter checks."""


def numbers(table: dict[str, Numbers], machine: str) -> dict[str, int]:
    """Name -> number of the calls that a machine has."""
    column = list(MACHINES).index(machine)
    return {name: number for name, row in table.items() if (number := row[column]) is not None}


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
