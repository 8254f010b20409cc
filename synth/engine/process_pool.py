"""The process pool of a run, for work that keeps a core busy. Its processes end with the run.

They are forked from a server process that has loaded the steps' modules, so that no process loads them again.
"""

import asyncio
import multiprocessing
import multiprocessing.util
import os
import tempfile
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TypeVar

from skillweave.base.command import die_with_pipe
from skillweave.plugins import load_plugins, loaded_plugins

R = TypeVar("R")

_SOCKET_CHARS = 75
"""Room that a socket's name leaves for its folder: the system allows 107 bytes in all."""


class ProcessPool:
    """A pool of processes that starts with the first call, or earlier with `warm_up`."""

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
        # The writing end is held for as long as the run is.
        self._reader, self._writer = multiprocessing.Pipe(duplex=False)

    def warm_up(self) -> None:
        """Start the server process, which then loads its modules while others work."""
        with self._lock:
            self._serve()

    async def call(self, function: Callable[..., R], *arguments: object) -> R:
        """The result of a function. If a process dies, all running calls are lost; each runs again, on a new pool."""
        executor = self._started()
        try:
            return await asyncio.wrap_future(executor.submit(function, *arguments))
        except BrokenProcessPool:
            self._discard(executor)
            return await asyncio.wrap_future(self._started().submit(function, *arguments))

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
        forkserver.ensure_running()


def _initialize(reader: "Connection[None, None]", plugins: tuple[str, ...]) -> None:
    """Prepare a process of the pool: it ends with the run, and knows the same plug-ins."""
    die_with_pipe(reader)
    load_plugins(plugins)


def _put_temporary_files_in(folder: Path) -> None:
    """Have multiprocessing make its folder here, unless it has one. If the path is too long, the system's is used."""
    if len(os.fsencode(folder.resolve())) > _SOCKET_CHARS:
        return
    folder.mkdir(parents=True, exist_ok=True)
    before, tempfile.tempdir = tempfile.tempdir, str(folder.resolve())
    try:
        multiprocessing.util.get_temp_dir()
    finally:
        tempfile.tempdir = before
