"""Execute an item: run the step's function, and make the record of its result.

No error that a step raises leaves this module: the record holds it.
"""

import asyncio
import threading
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from skillweave.base.errors import AuthorError, SkillweaveError, StopError
from skillweave.base.manifest import ItemRecord, ItemState
from synth.engine.context import Context
from synth.engine.step import JOIN, PipelineStep

INTERRUPTED = "interrupted"


@dataclass
class ItemExecutor:
    """Runs items on event loops of their own, one a thread, and can stop them."""

    _running: dict["asyncio.Task[None]", asyncio.AbstractEventLoop] = field(default_factory=dict)
    # Reentrant: a signal handler stops what its own thread may be starting.
    _lock: "threading.RLock" = field(default_factory=threading.RLock)
    is_stopped: bool = False
    why_stopped: str | None = None
    """What ended it, if it was not the user."""

    def end(self, why: str) -> None:
        """Begin nothing more; what runs goes on, since what it has asked for is paid for."""
        if not self.is_stopped:
            self.why_stopped = why
        self.is_stopped = True

    def stop(self) -> None:
        """Begin nothing more, and cancel what runs at its next wait."""
        self.is_stopped = True
        with self._lock:
            for task, loop in self._running.items():
                loop.call_soon_threadsafe(task.cancel)

    def perform(self, step: PipelineStep[Any], context: Context[Any], done_keys: Sequence[str]) -> ItemRecord:
        """The record of an item, without what it stands on. `done_keys` are the step's items, for the join."""
        started = time.perf_counter()
        state: ItemState = "done"
        reasons: list[str] = []
        question, lies_in = "", None
        try:
            asyncio.run(self._run(step, context, done_keys))
        except AuthorError as error:
            state, reasons = "rejected", list(error.reasons) or [str(error)]
            question, lies_in = error.question, error.lies_in
            context.log(f"rejected: {error}")
        except StopError as error:
            context.log(f"stopped: {error}")
            return interrupted(step, context.key, str(error))
        except asyncio.CancelledError:
            return interrupted(step, context.key)
        except Exception as error:
            # A step is foreign to the engine: what it raises costs its item, and is kept.
            state, reasons = "failed", [_said(error)]
            context.log("".join(traceback.format_exception(error)).rstrip())
        account = context.account
        spent = account.ledger.total()
        return ItemRecord(
            step=step.name,
            key=context.key,
            state=state,
            reasons=reasons,
            question=question,
            lies_in=lies_in,
            sent_back=list(context.sent_back),
            rejected=dict(sorted(account.rejected.items())),
            figures=dict(sorted(account.figures.items())),
            reads=dict(sorted(account.reads.items())),
            outputs=[output for _, output in sorted(account.outputs.items())],
            seconds=round(time.perf_counter() - started, 3),
            round=context.round,
            asked=spent.asked,
            input_tokens=spent.input_tokens,
            output_tokens=spent.output_tokens,
            cost_usd=spent.cost_usd,
            unpriced=spent.unpriced,
            askings=account.ledger.askings(),
        )

    async def _run(self, step: PipelineStep[Any], context: Context[Any], done_keys: Sequence[str]) -> None:
        task = asyncio.current_task()
        assert task is not None
        with self._lock:
            if self.is_stopped:
                raise asyncio.CancelledError
            self._running[task] = asyncio.get_running_loop()
        try:
            if context.key == JOIN and step.join is not None:
                await step.join(context, sorted(done_keys))
            else:
                await step.run(context, context.key)
        except Exception:
            await _others(task)
            raise
        finally:
            with self._lock:
                del self._running[task]


async def _others(task: "asyncio.Task[None]") -> None:
    """Wait for what else an item that fails is doing: the answers that it asked for are paid for, and to be kept."""
    others = asyncio.all_tasks() - {task}
    if others:
        await asyncio.wait(others)


def interrupted(step: PipelineStep[Any], key: str, why: str | None = None) -> ItemRecord:
    """What an item comes to that was not let run to its end; it is not put in the manifest."""
    return ItemRecord(step=step.name, key=key, state="skipped", reasons=[INTERRUPTED, *([why] if why else [])])


def is_interrupted(record: ItemRecord) -> bool:
    """Whether the item is still to be done."""
    return record.reasons[:1] == [INTERRUPTED]


def _said(error: Exception) -> str:
    """An error in one line."""
    text = " ".join(str(error).split())[:400]
    return text if isinstance(error, SkillweaveError) else f"{type(error).__name__}: {text}"
