"""The process pool of a run, for work that keeps a core busy. Its processes end with the run.

They are forked from a server process that has loaded what most work needs, so that the first call is fast.
"""

import asyncio
import multiprocessing
import multiprocessing.util
import os
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import TypeVar

from skillweave.base.processes import die_with_pipe

R = TypeVar("R")

_SOCKET_CHARS = 75
"""Room that a socket's name leaves for its folder: the system allows 107 bytes in all."""
PRELOADED = ["skillweave.schema.task", "sqlglot"]


class ProcessPool:
    """Started with the first call."""

    def __init__(self, workers: int, folder: Path) -> None:
        """`folder` is for temporary files, which a killed process leaves behind."""
        self._workers = workers
        self._folder = folder
        self._executor: ProcessPoolExecutor | None = None
        self._lock = threading.Lock()
        # The writing end is held for as long as the run is.
        self._reader, self._writer = multiprocessing.Pipe(duplex=False)

    async def call(self, function: Callable[..., R], *arguments: object) -> R:
        """The result. Where a process dies all calls under way are lost: each is made again, once, on a new pool."""
        executor = self._started()
        try:
            return await asyncio.wrap_future(executor.submit(function, *arguments))
        except BrokenProcessPool:
            self._replace(executor)
            return await asyncio.wrap_future(self._started().submit(function, *arguments))

    def close(self) -> None:
        """Drop what is waiting, and end the processes."""
        with self._lock:
            if self._executor is not None:
                self._executor.shutdown(wait=False, cancel_futures=True)
                self._executor = None
            self._writer.close()
            self._reader.close()

    def _replace(self, broken: ProcessPoolExecutor) -> None:
        with self._lock:
            if self._executor is broken:
                broken.shutdown(wait=False)
                self._executor = None

    def _started(self) -> ProcessPoolExecutor:
        with self._lock:
            if self._executor is None:
                # Neither `fork`, which copies locks that other threads hold, nor `spawn`, whose start is slow.
                method = multiprocessing.get_context("forkserver")
                method.set_forkserver_preload(PRELOADED)
                _put_temporary_files_in(self._folder)
                self._executor = ProcessPoolExecutor(
                    self._workers, mp_context=method, initializer=die_with_pipe, initargs=(self._reader,)
                )
            return self._executor


def _put_temporary_files_in(folder: Path) -> None:
    """Have multiprocessing make its folder here, unless it has one. Where the path is too long it is the system's."""
    if len(os.fsencode(folder.resolve())) > _SOCKET_CHARS:
        return
    folder.mkdir(parents=True, exist_ok=True)
    before, tempfile.tempdir = tempfile.tempdir, str(folder.resolve())
    try:
        multiprocessing.util.get_temp_dir()
    finally:
        tempfile.tempdir = before
