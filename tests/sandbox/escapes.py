"""Attempts to get out of the sandbox, by name: each has to end in an error of the system, or of memory.

`aim` tells an attempt what to aim at, `call` makes a system call by name or number.
"""

FILES = {
    "read the accounts": "open('/etc/passwd').read()",
    "read a secret": "print(open(aim.SECRET).read())",
    "read a secret through a path with dots": "print(open('../' * 40 + aim.SECRET).read())",
    "read a secret by its open descriptor": "print(open(f'/proc/{aim.PID}/fd/{aim.DESCRIPTOR}').read())",
    "list our home": "print(os.listdir(aim.HOME))",
    "read the project": "print(open(aim.PROJECT + '/pyproject.toml').read())",
    "list other folders of the kind": "print(os.listdir('..'))",
    "append to a file outside": "open(aim.SECRET, 'a').write('x')",
    "truncate a file outside": "os.truncate(aim.SECRET, 0)",
    "make a file outside": "open(aim.OUTSIDE + '/new', 'w')",
    "make a folder outside": "os.mkdir(aim.OUTSIDE + '/new')",
    "delete a file outside": "os.unlink(aim.SECRET)",
    "change rights outside": "os.chmod(aim.SECRET, 0o777)",
    "change an owner outside": "os.chown(aim.SECRET, 12345, 12345)",
    "change times outside": "os.utime(aim.SECRET, (0, 0))",
    "change an attribute outside": "os.setxattr(aim.SECRET, 'user.x', b'x')",
    "move a file out": "os.rename('main.py', aim.OUTSIDE + '/main.py')",
    "move a file in": "os.rename(aim.SECRET, 'stolen')",
    "swap a file with one outside": (
        "call(316, -100, b'main.py', -100, aim.SECRET.encode(), 2) if aim.MACHINE == 'x86_64' "
        "else os.rename(aim.SECRET, 'stolen')"
    ),
    "write to the temporary folder": "open('/tmp/' + aim.MARK, 'w')",
    "write to shared memory": "open('/dev/shm/' + aim.MARK, 'w')",
    "write beside the devices": "open('/dev/' + aim.MARK, 'w')",
    "write to the root folder": "open('/' + aim.MARK, 'w')",
    "write to the interpreter's library": "open(os.path.dirname(os.__file__) + '/' + aim.MARK + '.py', 'w')",
    "write to the installed packages": "open(aim.PREFIX + '/lib/' + aim.MARK + '.pth', 'w')",
    "a symbolic link": "os.symlink(aim.SECRET, 'link')",
    "a hard link": "os.link(aim.SECRET, 'link')",
    "a hard link to a descriptor": "call('linkat', os.open('main.py', 0), b'', -100, b'link', 0x1000)",
    "a pipe with a name": "os.mkfifo('pipe')",
    "a device": "os.mknod('device', 0o20666, os.makedev(1, 1))",
    "a file handle": "call('open_by_handle_at', -100, ctypes.create_string_buffer(64), 0)",
    "the disk": "open(next(f'/dev/{n}' for n in ('vda', 'sda', 'nvme0n1', 'mem')), 'rb')",
    "the kernel's log": "open('/dev/kmsg').read(1)",
    "the terminal": "open('/dev/tty', 'w')",
    "our environment": "print(open(f'/proc/{aim.PID}/environ').read())",
    "the first process's environment": "print(open('/proc/1/environ').read())",
    "the first process's files": "print(os.listdir('/proc/1/root'))",
    "our folder by the process": "print(os.listdir(f'/proc/{aim.PID}/cwd'))",
    "own memory as a file": "open('/proc/self/mem', 'r+b')",
    "our memory as a file": "open(f'/proc/{aim.PID}/mem', 'rb')",
    "a setting of the kernel": "open('/proc/sys/kernel/core_pattern', 'w')",
    "the magic key": "open('/proc/sysrq-trigger', 'w')",
    "the system's devices": "print(open('/sys/kernel/mm/transparent_hugepage/enabled').read())",
    "a control group": "os.mkdir('/sys/fs/cgroup/' + aim.MARK)",
    "listen to changes outside": "call('inotify_init1', 0)",
}
NETWORK = {
    "tcp": "socket.create_connection(('127.0.0.1', aim.TCP), 2).send(b'x')",
    "tcp over IPv6": "socket.socket(socket.AF_INET6).connect(('::1', aim.TCP))",
    "http": "from urllib.request import urlopen; urlopen(f'http://127.0.0.1:{aim.TCP}', timeout=2)",
    "udp": "socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', aim.UDP))",
    "a unix socket": "socket.socket(socket.AF_UNIX).connect(aim.UNIX)",
    "an abstract socket": "socket.socket(socket.AF_UNIX).connect('\\0' + aim.MARK)",
    "listening": "socket.create_server(('127.0.0.1', 0))",
    "a socket in the folder": "socket.socket(socket.AF_UNIX).bind('socket')",
    "a raw socket": "socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)",
    "a packet socket": "socket.socket(socket.AF_PACKET, socket.SOCK_RAW)",
    "netlink": "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)",
    "the hypervisor's socket": "socket.socket(socket.AF_VSOCK)",
    "kernel cryptography": "socket.socket(socket.AF_ALG, socket.SOCK_SEQPACKET)",
    "a name": "socket.getaddrinfo('example.com', 80)",
    "a pair of another kind": "socket.socketpair(30, socket.SOCK_SEQPACKET)",
    "passing a descriptor": "socket.send_fds(socket.socketpair()[0], [b'x'], [0])",
    "io_uring": "call('io_uring_setup', 4, ctypes.create_string_buffer(120))",
}
PROCESSES = {
    "fork": "os.fork() or os._exit(0)",
    "fork with a terminal": "os.forkpty()[0] or os._exit(0)",
    "fork by number": "call('fork') or os._exit(0)",
    "vfork": "call('vfork') or os._exit(0)",
    "clone": "call(aim.CLONE, 17, 0, 0, 0, 0) or os._exit(0)",
    "clone that shares memory alone": "call(aim.CLONE, 0x100, 0, 0, 0, 0) or os._exit(0)",
    "clone with namespaces": "call(aim.CLONE, 0x10000000 | 17, 0, 0, 0, 0) or os._exit(0)",
    "clone3": "call(435, struct.pack('=8Q', 0, 0, 0, 0, 17, 0, 0, 0), 64) or os._exit(0)",
    "posix_spawn": "os.posix_spawn('/bin/sh', ['sh', '-c', 'true'], {})",
    "subprocess": "subprocess.run([sys.executable, '-c', '0'])",
    "a shell": "if os.system('true') != 0: raise OSError(errno.EPERM, 'no shell')",
    "a pool": "multiprocessing.get_context('fork').Process(target=print).start()",
    "another program": "os.execv('/bin/sh', ['sh', '-c', 'echo ESCAPED'])",
    "a copy of a program": "shutil.copy(sys.executable, 'copy'); os.chmod('copy', 0o755); os.execv('copy', ['copy'])",
    "a script of its own": (
        "open('x', 'w').write('#!/bin/sh\\necho ESCAPED'); os.chmod('x', 0o755); os.execv('x', ['x'])"
    ),
    "a program in memory": "os.memfd_create('program')",
    "signal the launcher": "os.kill(os.getppid(), signal.SIGKILL)",
    "signal us": "os.kill(aim.PID, signal.SIGTERM)",
    "stop us": "os.kill(aim.PID, signal.SIGSTOP)",
    "signal a bystander": "os.kill(aim.VICTIM, signal.SIGKILL)",
    "interrupt the first process": "os.kill(1, signal.SIGINT)",
    "signal everybody": "os.kill(-1, signal.SIGCONT)",
    "signal its group": "os.kill(0, signal.SIGCONT)",
    "signal a thread elsewhere": "call('tkill', aim.VICTIM, 9)",
    "queue a signal": "call('rt_sigqueueinfo', aim.VICTIM, 15, struct.pack('=iii116x', 15, 0, -1))",
    "a descriptor of a process": "os.pidfd_open(aim.VICTIM)",
    "steal a descriptor": "call('pidfd_getfd', 0, 0, 0)",
    "have the kernel signal": "fcntl.fcntl(socket.socketpair()[0], fcntl.F_SETOWN, aim.VICTIM)",
    "choose the kernel's signal": "fcntl.fcntl(socket.socketpair()[0], 10, signal.SIGKILL)",
    "limit a bystander": "resource.prlimit(aim.VICTIM, resource.RLIMIT_CPU, (0, 0))",
    "slow a bystander": "os.setpriority(os.PRIO_PROCESS, aim.VICTIM, 19)",
    "move a bystander": "os.sched_setaffinity(aim.VICTIM, [0])",
    "trace a bystander": "call('ptrace', 16, aim.VICTIM, 0, 0)",
    "be traced": "call('ptrace', 0, 0, 0, 0)",
    "read memory elsewhere": "call('process_vm_readv', aim.PID, 0, 0, 0, 0, 0)",
    "write memory elsewhere": "call('process_vm_writev', aim.PID, 0, 0, 0, 0, 0)",
    "compare descriptors": "call('kcmp', aim.PID, os.getpid(), 0, 0, 0)",
    "outlive the launcher": "call(aim.PRCTL, 1, 0, 0, 0, 0)",
    "hide from the launcher": "call(aim.PRCTL, 4, 0, 0, 0, 0)",
    "join the superuser's group": "os.setgroups([0])",
    "raise its limits": "call(aim.PRLIMIT, 0, 9, struct.pack('=QQ', 1 << 40, 1 << 40), 0)",
}
KERNEL = {
    "unshare users": "call('unshare', 0x10000000)",
    "unshare mounts": "call('unshare', 0x20000)",
    "enter a namespace": "call('setns', 0, 0)",
    "mount": "call('mount', b'x', b'.', b'tmpfs', 0, 0)",
    "mount anew to write": "call('mount', b'none', b'/', 0, 0x1020, 0)",
    "change a mount": "call('mount_setattr', -100, b'/', 0x8000, struct.pack('=4Q', 0, 1, 0, 0), 32)",
    "clone a mount": "call('open_tree', -100, b'/', 1)",
    "move a mount": "call('move_mount', -100, b'/', -100, b'.', 0)",
    "open a file system": "call('fsopen', b'tmpfs', 0)",
    "unmount": "call('umount2', b'/proc', 2)",
    "change the root": "os.chroot('.')",
    "pivot the root": "call('pivot_root', b'.', b'.')",
    "the key ring": "call('keyctl', 0, -4, 0, 0, 0)",
    "a key": "call('add_key', b'user', b'x', b'x', 1, -4)",
    "bpf": "call('bpf', 0, ctypes.create_string_buffer(64), 64)",
    "performance events": "call('perf_event_open', ctypes.create_string_buffer(128), 0, -1, -1, 0)",
    "page faults": "call('userfaultfd', 1)",
    "a kernel module": "call('init_module', 0, 0, b'')",
    "another kernel": "call('kexec_load', 0, 0, 0, 0)",
    "the log by call": "call('syslog', 3, ctypes.create_string_buffer(64), 64)",
    "another name of the machine": "call('sethostname', b'x', 1)",
    "accounting": "call('acct', 0)",
    "swap": "call('swapoff', b'/nothing')",
    "another personality": "call('personality', 0x40000)",
    "secret memory": "call('memfd_secret', 0)",
    "shared segments": "call('shmget', 0, 1 << 20, 0o1600)",
    "message queues": "call('msgget', 0, 0o1600)",
    "semaphores": "call('semget', 0, 1, 0o1600)",
    "ports": "call('ioperm', 0, 1, 1)",
    "the x32 door": "call(0x40000000 + 41, 2, 1, 0)",
    "a call of the future": "call(469, 0, 0, 0, 0)",
}
MEMORY = {
    "one large block": "bytearray(512 << 20)",
    "many blocks": "[bytearray(1 << 24) for _ in range(32)]",
    "mapped memory": "mmap.mmap(-1, 512 << 20)",
    "many mappings": "[mmap.mmap(-1, 1 << 24) for _ in range(32)]",
    "a huge number": "1 << (8 << 29)",
    "a huge text": "'x' * (512 << 20)",
    "a huge sparse file": "open('x', 'wb').truncate(1 << 40)",
    "a reserved file": "os.posix_fallocate(os.open('x', os.O_CREAT | os.O_WRONLY), 0, 1 << 30)",
    "a zip bomb": (
        "z = zipfile.ZipFile('z', 'w', zipfile.ZIP_DEFLATED); z.writestr('bomb', bytes(4 << 20)); z.close(); "
        "zipfile.ZipFile('z').extractall('out')"
    ),
    "a bomb in a compressed text": "zlib.decompress(zlib.compress(bytes(100 << 20)) , bufsize=1 << 29)",
    "more open files than allowed": "kept = [os.dup(0) for _ in range(300)]",
    "input that is written to": (
        "if fcntl.fcntl(0, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY: raise OSError(errno.EPERM, 'read only')"
    ),
}
ESCAPES = {
    f"{kind}: {name}": code
    for kind, table in (
        ("files", FILES),
        ("network", NETWORK),
        ("processes", PROCESSES),
        ("kernel", KERNEL),
        ("memory", MEMORY),
    )
    for name, code in table.items()
}
HARNESS = """
import ctypes, errno, importlib, os, re, socket, struct, sys
import aim

libc = ctypes.CDLL(None, use_errno=True)


def call(name, *arguments):
    number = aim.CALLS.get(name) if isinstance(name, str) else name
    if number is None:
        raise OSError(errno.ENOSYS, "this machine has no such call")
    given = [ctypes.c_long(value) if isinstance(value, int) else value for value in arguments]
    result = libc.syscall(ctypes.c_long(number), *given)
    if result == -1:
        raise OSError(ctypes.get_errno(), name)
    return result


attempt = open("attempt.txt").read()
for name in re.findall(r"\\b(fcntl|mmap|multiprocessing|resource|shutil|signal|subprocess|zipfile|zlib)\\.", attempt):
    globals()[name] = importlib.import_module(name)
try:
    exec(attempt)
except (OSError, MemoryError) as error:
    number = getattr(error, "errno", None)
    print("refused:", type(error).__name__, errno.errorcode.get(number, number))
else:
    print("ESCAPED")
"""
"""Runs the attempt and says how it ended."""
