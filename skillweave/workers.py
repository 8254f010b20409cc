"""Workers: where functions run. In processes of this machine, or on the workers of a Dask or Ray cluster.

A cluster is one on this machine that ends with the command, or one that runs already (`execution.address`). Its
machines share the file system, and run the same versions of all that decides bytes.
"""

import asyncio
import logging
import multiprocessing.util
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager
from functools import cache, partial
from importlib.util import find_spec
from multiprocessing import forkserver, resource_tracker
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from skillweave.base.code import library_versions
from skillweave.base.command import begin_work, collect_seldom, die_with_pipe, keeping_interrupts
from skillweave.base.errors import ConfigError
from skillweave.base.machine import socket_folder
from skillweave.base.progress import with_notes
from skillweave.config.sections import ExecutionConfig, Runner
from skillweave.plugins import load_plugins, loaded_plugins

R = TypeVar("R")

PACKAGES: dict[Runner, str] = {"dask": "prefect_dask", "ray": "prefect_ray"}
"""The optional package that a runner needs."""
DEATHS = 1
"""How often a call is made again elsewhere because its worker died."""
OBJECTS_BYTES = 128 << 20  # for values on their way between the workers of a Ray cluster of our own
_SOCKET_NAME = len("/pymp-12345678/listener-12345678")
"""What multiprocessing adds to the folder of its sockets."""


class Command(NamedTuple):
    """What a worker elsewhere shares with the command that it works for."""

    folder: str
    """The command's folder: relative paths mean the same on the worker."""
    plugins: tuple[str, ...]
    versions: tuple[tuple[str, str], ...]
    """Library -> version, of all that decides bytes."""

    def enter(self) -> None:
        """Prepare this process, once. Raises ConfigError if it cannot do the command's work."""
        _enter(self)


def this_command() -> Command:
    """The command that this process is."""
    return Command(str(Path.cwd()), loaded_plugins(), tuple(library_versions().items()))


@cache
def _enter(command: Command) -> None:
    own, wanted = library_versions(), dict(command.versions)
    for name in sorted({name for name in wanted if own.get(name) != wanted[name]}):
        raise ConfigError(f"a worker has {name} {own.get(name)}, and the command {wanted[name]}; give both the same")
    try:
        os.chdir(command.folder)
    except OSError as error:
        raise ConfigError(
            f"a worker cannot work in {command.folder!r}: {error.strerror}; the machines of a cluster must share it"
        ) from error
    sys.path[:0] = [] if command.folder in sys.path else [command.folder]
    load_plugins(command.plugins)


def _work(command: Command, function: Callable[[], R]) -> R | "_Raised":
    """Called on a worker of a cluster. An error that the function raises comes back as it is: clusters wrap errors."""
    try:
        command.enter()
        return function()
    except Exception as error:
        return _Raised(error)


class _Raised(NamedTuple):
    error: Exception


class Workers:
    """The workers of a command: processes of this machine, if it is given no cluster."""

    address: str | None = None
    """Of a cluster's scheduler; None where its library knows it."""

    def executor(self, most: int) -> Executor:
        """An executor of functions at the top of modules. A worker's death is a BrokenExecutor in the call's future.

        Args:
            most: Processes at once; a cluster has its own number.
        """
        return local_processes(most)


def local_processes(most: int) -> ProcessPoolExecutor:
    """New processes that end with this one, and know its plug-ins. Submit from the thread that makes them."""
    spawn = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(most, spawn, initializer=_begin, initargs=(os.getpid(), loaded_plugins()))


def _begin(parent: int, plugins: tuple[str, ...]) -> None:
    begin_work(parent)
    load_plugins(plugins)


class Cluster(Workers):
    """The workers of a cluster."""

    def __init__(self, send: "Send", deaths: tuple[type[BaseException], ...], address: str | None = None) -> None:
        """Args:
        send: Has a function called by some worker.
        deaths: What the cluster raises for calls whose workers died.
        address: The scheduler's.
        """
        self._send = send
        self._deaths = deaths
        self.address = address

    def executor(self, most: int) -> Executor:
        """As many workers as the cluster has."""
        return ClusterExecutor(self._send, self._deaths)


Send = Callable[[Callable[[], Any]], "tuple[Future[Any], Callable[[], None]]"]
"""Takes a function to call; gives its future, and what takes the call back."""


class ClusterExecutor(Executor):
    """Has functions called by the workers of a cluster. Its end takes back what nobody waits for."""

    def __init__(self, send: Send, deaths: tuple[type[BaseException], ...]) -> None:
        self._send = send
        self._deaths = deaths
        self._command = this_command()
        self._under_way: dict[Future[Any], Callable[[], None]] = {}

    def submit(self, fn: Callable[..., R], /, *args: Any, **kwargs: Any) -> "Future[R]":
        """Have a function called with these arguments."""
        made: Future[R] = Future()
        made.set_running_or_notify_cancel()
        inner, take_back = self._send(partial(_work, self._command, partial(fn, *args, **kwargs)))
        self._under_way[made] = take_back
        inner.add_done_callback(partial(self._ended, made))
        return made

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take back all calls that are under way."""
        for take_back in list(self._under_way.values()):
            take_back()

    def _ended(self, made: "Future[Any]", inner: "Future[Any]") -> None:
        self._under_way.pop(made, None)
        error = BrokenExecutor("taken back") if inner.cancelled() else inner.exception()
        if isinstance(error, self._deaths):
            error = BrokenExecutor(f"its worker died: {type(error).__name__}")
        result = None if error else inner.result()
        error = result.error if isinstance(result, _Raised) else error
        if error is None:
            made.set_result(result)
        else:
            made.set_exception(error)


@contextmanager
def opened_workers(execution: ExecutionConfig) -> Iterator[Workers]:
    """The workers that a configuration names; a cluster of our own ends with the context.

    Raises:
        ConfigError: The runner is not installed, or nothing answers at the address.
    """
    require_runner(execution)
    if execution.runner == "threads":
        yield Workers()
        return
    opened = dask_cluster if execution.runner == "dask" else ray_cluster
    with opened(execution) as cluster:
        yield cluster


def require_runner(execution: ExecutionConfig) -> None:
    """Raise ConfigError if the package of the runner is not installed. Nothing is imported."""
    package = PACKAGES.get(execution.runner)
    if package is None and execution.address is not None:
        raise ConfigError("execution.address names a cluster; say of which kind it is: --runner dask or ray")
    if package is not None and find_spec(package) is None:
        raise ConfigError(
            f"runner {execution.runner!r} needs a package that is not installed; "
            f"install it with: pip install 'skillweave[{execution.runner}]', or use --runner threads"
        )


@contextmanager
def dask_cluster(execution: ExecutionConfig) -> Iterator[Cluster]:
    """A Dask cluster. Raises ConfigError if none answers at the address."""
    os.environ.setdefault("DASK_LOGGING__DISTRIBUTED", "error")
    import dask
    from distributed import Client, KilledWorker, LocalCluster

    dask.config.set({"distributed.scheduler.allowed-failures": DEATHS})
    with ExitStack() as stack:
        address = execution.address
        if address is None:
            # No limit of memory: a worker that nears one would be paused or killed.
            own = LocalCluster(
                n_workers=execution.workers, threads_per_worker=1, memory_limit=0, dashboard_address=None
            )
            address = stack.enter_context(own).scheduler_address
        try:
            client = stack.enter_context(Client(address, set_as_default=False))
        except (OSError, ValueError) as error:
            raise _no_answer("Dask", execution.address, error) from error

        def send(function: Callable[[], Any]) -> tuple[Future[Any], Callable[[], None]]:
            future = client.get_executor(pure=False).submit(function)
            return future, future.cancel

        yield Cluster(send, (KilledWorker,), address)


@contextmanager
def ray_cluster(execution: ExecutionConfig) -> Iterator[Cluster]:
    """A Ray cluster; names of its sockets must be short. Raises ConfigError if none answers at the address."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import ray

    with tempfile.TemporaryDirectory(prefix="skillweave-", dir="/tmp", ignore_cleanup_errors=True) as folder:
        own = {"num_cpus": execution.workers, "object_store_memory": OBJECTS_BYTES, "_temp_dir": folder}
        quiet = {"include_dashboard": False, "log_to_driver": False, "logging_level": logging.ERROR}
        try:
            ray.init(execution.address or "local", **(quiet if execution.address else {**quiet, **own}))
        except (OSError, ValueError, ray.exceptions.RayError) as error:
            raise _no_answer("Ray", execution.address, error) from error

        call = ray.remote(max_retries=DEATHS)(_called)

        def send(function: Callable[[], Any]) -> tuple[Future[Any], Callable[[], None]]:
            reference = call.remote(function)
            return reference.future(), partial(ray.cancel, reference, force=True)

        deaths = (ray.exceptions.WorkerCrashedError, ray.exceptions.NodeDiedError, ray.exceptions.OutOfMemoryError)
        try:
            yield Cluster(send, deaths)
        finally:
            ray.shutdown()


def _called(function: Callable[[], R]) -> R:
    return function()


def _no_answer(kind: str, address: str | None, error: Exception) -> ConfigError:
    what = f"no {kind} cluster answers at execution.address {address!r}" if address else f"{kind} does not start here"
    return ConfigError(f"{what}: {' '.join(str(error).split())[:200]}")


class ProcessPool:
    """A run's processes on this machine, for work that keeps a core busy. They are forked from a server process that
    has loaded the steps' modules, so that no process loads them again. It starts with `warm_up` or the first call."""

    def __init__(self, workers: int, folder: Path, modules: Iterable[str] = ()) -> None:
        """Nothing is started yet.

        Args:
            workers: Processes at once.
            folder: For temporary files, which a killed process leaves behind.
            modules: What the server process loads before it forks the others.
        """
        self._workers = workers
        self._folder = folder
        self._modules = list(modules)
        self._executor: ProcessPoolExecutor | None = None
        self._lock = threading.Lock()
        self._reader, self._writer = multiprocessing.Pipe(duplex=False)  # The writing end is held while the run lasts.

    def warm_up(self) -> None:
        """Start the server process, which then loads its modules while others work."""
        with self._lock:
            self._serve()

    async def call(self, function: Callable[..., R], *arguments: object) -> R:
        """The result of a function. If a process dies, all running calls are lost; each runs again, on a new pool."""
        executor, work = self._started(), with_notes(function, *arguments)
        try:
            return await asyncio.wrap_future(executor.submit(work))
        except BrokenProcessPool:
            self._discard(executor)
            return await asyncio.wrap_future(self._started().submit(work))

    def close(self) -> None:
        """Drop waiting calls, and end the processes."""
        with self._lock:
            if self._executor is not None:
                self._executor.shutdown(wait=False, cancel_futures=True)
                self._executor = None
            self._writer.close()
            self._reader.close()

    def _discard(self, broken: ProcessPoolExecutor) -> None:
        with self._lock:
            if self._executor is broken:
                broken.shutdown(wait=False)
                self._executor = None

    def _started(self) -> ProcessPoolExecutor:
        with self._lock:
            if self._executor is None:
                self._serve()
                # `fork` copies locks that other threads hold, and `spawn` is slow to start.
                method = multiprocessing.get_context("forkserver")
                given = (self._reader, loaded_plugins())
                self._executor = ProcessPoolExecutor(
                    self._workers, mp_context=method, initializer=_initialize, initargs=given
                )
            return self._executor

    def _serve(self) -> None:
        _put_temporary_files_in(self._folder)
        forkserver.set_forkserver_preload(self._modules)
        resource_tracker.ensure_running()  # Its start lets interrupts through again, so it comes first.
        with keeping_interrupts():
            forkserver.ensure_running()


def _initialize(reader: "Connection[None, None]", plugins: tuple[str, ...]) -> None:
    """Prepare a process of the pool: it ends with the run, and knows the same plug-ins."""
    collect_seldom()
    die_with_pipe(reader)
    load_plugins(plugins)


def _put_temporary_files_in(folder: Path) -> None:
    """Have multiprocessing make its folder here, unless it has one; one of the system's, if the path is too long.

    Raises:
        ConfigError: The paths of all are too long for a socket.
    """
    before, tempfile.tempdir = tempfile.tempdir, str(socket_folder([folder], _SOCKET_NAME))
    try:
        multiprocessing.util.get_temp_dir()
    finally:
        tempfile.tempdir = before
