"""Judging: results on their way to the file get what the judge says of their conversations, many at once.

The judge works on an event loop in a thread of its own, while processes go on scoring.
"""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager

from evaluator.desk import Desk
from evaluator.judge.judge import Judge, Judged
from evaluator.judge.merge import with_judgement
from evaluator.trial import replayed
from evaluator.workers import Done, done_of
from skillweave.schema.message import Message
from skillweave.schema.result import Result
from skillweave.schema.task import Task

MOST_WAITING = 256
"""Conversations that wait for their judgement."""


class Judging:
    """Adds judgements to results."""

    def __init__(self, judge: Judge, desk: Desk, loop: asyncio.AbstractEventLoop) -> None:
        self._judge = judge
        self._desk = desk
        self._loop = loop
        self.faults = 0
        """Conversations of which no usable answer came."""

    def added(self, results: Iterator[Done]) -> Iterator[Done]:
        """The results with their judgements, as these come in. Raises StopError, ProviderError."""
        waiting: dict[Future[Judged], tuple[Done, Task]] = {}
        for done in results:
            if done.is_error:
                yield done
                continue
            task = self._desk.tasks.tasks[done.job.place.task_id]
            work = self._judge.judge(task, self._messages(done))
            waiting[asyncio.run_coroutine_threadsafe(work, self._loop)] = done, task
            ended = wait(waiting, return_when=FIRST_COMPLETED).done if len(waiting) >= MOST_WAITING else ()
            for future in ended or [future for future in waiting if future.done()]:
                yield self._with(future.result(), *waiting.pop(future))
        while waiting:
            for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                yield self._with(future.result(), *waiting.pop(future))

    def _messages(self, done: Done) -> list[Message]:
        """The conversation, with the results that the replay gave: what is recorded of results is no evidence."""
        return replayed(self._desk.evaluator.trial(self._desk.recorded(done.job)))

    def _with(self, judged: Judged, done: Done, task: Task) -> Done:
        self.faults += judged.fault is not None
        result = with_judgement(Result.model_validate_json(done.line), task, judged)
        # A judgement that failed is asked for again by the next run.
        digest = "" if judged.fault is not None else result.trajectory_digest
        return done_of(done.job, result.model_copy(update={"trajectory_digest": digest}))


@contextmanager
def judging(judge: Judge, desk: Desk) -> Iterator[Judging]:
    """The stage, with its loop; the judge is closed on leaving."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="judge", daemon=True)
    thread.start()
    try:
        yield Judging(judge, desk, loop)
    finally:
        asyncio.run_coroutine_threadsafe(judge.close(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
