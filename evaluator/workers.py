"""Workers: processes that evaluate trajectories, a batch at a time.

A worker that dies costs what it worked on: its batch is tried again line by line, and a line that ends a worker by
itself gets a result that says so.
"""

import multiprocessing
import os
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from functools import cache
from typing import NamedTuple

from evaluator.desk import Desk, Job, Office, failed
from skillweave.schema.result import Result
from skillweave.workers import begin_work

AHEAD = 3
"""Batches that wait for each worker."""


class Done(NamedTuple):
    """One result, as a line, and whether it could not be scored."""

    job: Job
    line: bytes
    is_error: bool


def evaluate_all(office: Office, batches: Iterable[Sequence[Job]], workers: int) -> Iterator[Done]:
    """Results in the order in which they are made."""
    waiting = deque(batches)
    suspects: deque[Sequence[Job]] = deque()
    while waiting or suspects:
        alone = not waiting
        source, count = (suspects, 1) if alone else (waiting, workers)
        with _pool(office, count) as pool:
            lost = yield from _drained(pool, source, count * AHEAD if not alone else 1)
        if len(lost) == 1 and alone:
            yield _died(office, lost[0])
        else:
            suspects.extend([job] for job in lost)


def _drained(pool: ProcessPoolExecutor, batches: deque[Sequence[Job]], ahead: int) -> Generator[Done, None, list[Job]]:
    """Work the batches off; what is returned are the jobs that were under way when a worker died."""
    under_way: dict[Future[list[Done]], Sequence[Job]] = {}
    try:
        while batches or under_way:
            while batches and len(under_way) < ahead:
                under_way[pool.submit(_evaluated, batches[0])] = batches[0]
                batches.popleft()
            ended, _ = wait(under_way, return_when=FIRST_COMPLETED)
            for future in ended:
                found = future.result()
                del under_way[future]
                yield from found
    except BrokenProcessPool:
        return [job for batch in under_way.values() for job in batch]
    return []


def _pool(office: Office, workers: int) -> ProcessPoolExecutor:
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(workers, context, initializer=_begin, initargs=(office, os.getpid()))


_here: list[Office] = []
"""What this process was told to work with."""


def _begin(office: Office, parent: int) -> None:
    """Called once in each worker."""
    begin_work(parent)
    _here[:] = [office]


@cache
def _desk() -> Desk:
    return Desk(_here[0])


def _evaluated(batch: Sequence[Job]) -> list[Done]:
    """Called in a worker."""
    return [done_of(job, _desk().result(job)) for job in batch]


def done_of(job: Job, result: Result) -> Done:
    """A result, ready to be written."""
    line = result.model_dump_json(by_alias=True).encode()
    return Done(job, line, result.error is not None)


def _died(office: Office, job: Job) -> Done:
    error = failed("the process that evaluated it died; run the same command again")
    return done_of(job, Desk(office).unscored(job, error))
