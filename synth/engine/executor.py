"""Execute an item: run the step's function, and make the record of its result; then keep the record in the manifest,
and the files in the outputs folder.

No error that a step raises leaves this module: the record holds it. A path has one writer. Files that an item no longer
writes are removed with its new record.
"""

import asyncio
import threading
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from skillweave.base.errors import AuthorError, SkillweaveError, StopError
from skillweave.base.machine import ADVICE, STOPPING, refusal
from skillweave.base.manifest import Fingerprint, ItemOutput, ItemRecord, ItemState, Manifest
from skillweave.base.progress import NOTE, noting
from skillweave.base.store import Store
from synth.engine.artifact import Artifact, JoinedFiles, is_unchanged
from synth.engine.context import Context
from synth.engine.step import JOIN, PipelineStep

INTERRUPTED = "interrupted"
STOP = "stop"
LOOK_EVERY_S = 1.0
"""Seconds between two looks whether another process has stopped the run."""


@dataclass
class ItemExecutor:
    """Runs items, each on an event loop of its thread, and can stop them."""

    signs: Path | None = None
    """The folder of what the run's processes tell each other; None: there is but this process."""
    is_spread: bool = False
    """Whether items run in other processes, which a file there stops."""
    _running: dict["asyncio.Task[None]", asyncio.AbstractEventLoop] = field(default_factory=dict)
    # Reentrant: a signal handler may interrupt its own thread while that starts an item.
    _lock: "threading.RLock" = field(default_factory=threading.RLock)
    is_stopped: bool = False
    why_stopped: str | None = None
    """What stopped the run, if it was not the user."""

    def end(self, why: str) -> None:
        """Begin no further item. Running items go on, since the answers that they wait for are paid for."""
        if not self.is_stopped:
            self.why_stopped = why
        self._note_stop()

    def stop(self) -> None:
        """Begin no further item, and cancel running items at their next wait."""
        self._note_stop()
        with self._lock:
            for task, loop in self._running.items():
                loop.call_soon_threadsafe(task.cancel)

    def _note_stop(self) -> None:
        self.is_stopped = True
        if self.signs is not None and self.is_spread:
            with suppress(OSError):
                self.signs.mkdir(parents=True, exist_ok=True)
                (self.signs / STOP).touch()

    def _look_for_stop(self) -> bool:
        if self.signs is not None and self.is_spread:
            self.is_stopped |= (self.signs / STOP).exists()
        return self.is_stopped

    async def _watch(self, item: "asyncio.Task[None]") -> None:
        """Cancel an item once another process has stopped the run."""
        while not self._look_for_stop():
            await asyncio.sleep(LOOK_EVERY_S)
        item.cancel()

    def execute(self, step: PipelineStep[Any], context: Context[Any], done_keys: Sequence[str]) -> ItemRecord:
        """Run an item to its end.

        Args:
            step: The item's step.
            context: The item's context.
            done_keys: The keys of the step's items that are done, for the join.

        Returns:
            The item's record, without its fingerprint and authors; `is_interrupted` if it did not come to its end.
        """
        started = time.perf_counter()
        state: ItemState = "done"
        reasons: list[str] = []
        question, lies_in = "", None
        try:
            with noting(self.signs and self.signs / f"{step.short}-{context.key}{NOTE}"):
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
            refused = refusal(error)
            if refused is not None and refused.errno in STOPPING:
                # A full disk would fail one item after the other.
                context.log(f"stopped: {_message(error)}")
                return interrupted(step, context.key, f"{_message(error)}; {ADVICE[refused.errno]}")
            # The engine does not know what a step may raise. The error fails this item only, and its record keeps it.
            state, reasons = "failed", [_message(error)]
            context.log("".join(traceback.format_exception(error)).rstrip())
        activity = context.activity
        spent = activity.ledger.total()
        return ItemRecord(
            step=step.name,
            key=context.key,
            state=state,
            reasons=reasons,
            question=question,
            lies_in=lies_in,
            sent_back=list(context.sent_back),
            rejected=dict(sorted(activity.rejected.items())),
            examples=dict(sorted(activity.examples.items())),
            figures=dict(sorted(activity.figures.items())),
            reads=dict(sorted(activity.reads.items())),
            outputs=[output for _, output in sorted(activity.outputs.items())],
            seconds=round(time.perf_counter() - started, 3),
            round=context.round,
            asked=spent.asked,
            input_tokens=spent.input_tokens,
            output_tokens=spent.output_tokens,
            cost_usd=spent.cost_usd,
            unpriced=spent.unpriced,
            askings=activity.ledger.askings(),
        )

    async def _run(self, step: PipelineStep[Any], context: Context[Any], done_keys: Sequence[str]) -> None:
        task = asyncio.current_task()
        assert task is not None
        with self._lock:
            if self._look_for_stop():
                raise asyncio.CancelledError
            self._running[task] = asyncio.get_running_loop()
        watch = asyncio.create_task(self._watch(task)) if self.is_spread else None
        try:
            if context.key == JOIN and step.join is not None:
                await step.join(context, sorted(done_keys))
            else:
                await step.run(context, context.key)
        except Exception:
            await _wait_for_others({task, watch})
            raise
        finally:
            with self._lock:
                del self._running[task]


async def _wait_for_others(own: "set[asyncio.Task[None] | None]") -> None:
    """Wait for the other tasks of an item that fails: their answers are paid for, and the cache has to get them."""
    others = asyncio.all_tasks() - own
    if others:
        await asyncio.wait(others)


def interrupted(step: PipelineStep[Any], key: str, why: str | None = None) -> ItemRecord:
    """The record of an item that was stopped before its end. It is not put in the manifest."""
    return ItemRecord(step=step.name, key=key, state="skipped", reasons=[INTERRUPTED, *([why] if why else [])])


def is_interrupted(record: ItemRecord) -> bool:
    """Whether the item was stopped before its end, and still has to be done."""
    return record.reasons[:1] == [INTERRUPTED]


def _message(error: Exception) -> str:
    """An error in one line."""
    text = " ".join(str(error).split())[:400]
    return text if isinstance(error, SkillweaveError) else f"{type(error).__name__}: {text}"


class ItemResults:
    """The results in one outputs folder."""

    def __init__(
        self, store: Store, manifest: Manifest, artifacts: Mapping[str, Artifact[Any]], *, read_only: bool = False
    ) -> None:
        """Open the results.

        Args:
            store: The outputs folder.
            manifest: Its manifest.
            artifacts: The artifacts of all steps by pattern.
            read_only: Change neither files nor the manifest.
        """
        self._store = store
        self._manifest = manifest
        self._artifacts = artifacts
        self._read_only = read_only
        self._joined = JoinedFiles(store, manifest, read_only=read_only)

    def keep(self, record: ItemRecord, fingerprint: Fingerprint, authors: Mapping[str, str]) -> ItemRecord:
        """Put an item's record in the manifest, and remove the files that the item no longer has.

        Args:
            record: The record as the executor made it.
            fingerprint: What the item's result follows from.
            authors: Role -> identity of the author that was asked.

        Returns:
            The record as it was kept: failed if another item wrote one of its paths; without outputs if not done.
        """
        previous = self._manifest.item(record.step, record.key)
        record = self._require_sole_writer(record)
        is_done = record.state == "done"
        self._remove_outdated(previous, record, is_kept=is_done)
        kept = {"fingerprint": fingerprint.id, "authors": authors, "outputs": record.outputs if is_done else []}
        record = record.model_copy(update=kept)
        self._manifest.put(record, fingerprint)
        return record

    def skip(self, step: PipelineStep[Any], key: str, reason: str) -> ItemRecord:
        """Record that an item cannot be done."""
        record = ItemRecord(step=step.name, key=key, state="skipped", reasons=[reason])
        previous = self._manifest.item(step.name, key)
        if record != previous and not self._read_only:
            self._remove_outdated(previous, record, is_kept=False)
            self._manifest.put(record)
        return record

    def remove(self, record: ItemRecord) -> None:
        """Remove an item's files and its record."""
        if self._read_only:
            return
        for output in record.outputs:
            self._store.remove(output.path)
        self._manifest.forget(record.step, [record.key])

    def forget(self, steps: Sequence[PipelineStep[Any]]) -> None:
        """Remove everything that steps made."""
        for step in steps:
            for record in self._manifest.items(step.name):
                self.remove(record)
            for artifact in (*step.writes, *step.join_writes):
                if artifact.kind == "joined":
                    self._joined.remove(artifact)

    def forget_other_than(self, steps: Sequence[PipelineStep[Any]]) -> None:
        """Remove everything that steps made which no longer exist."""
        known = {step.name for step in steps}
        for record in self._manifest.items():
            if record.step not in known:
                self.remove(record)

    def is_intact(self, output: ItemOutput) -> bool:
        """Whether an output is there as it was written."""
        artifact = self._artifacts.get(output.artifact)
        if artifact is not None and artifact.kind == "joined":
            return self._joined.is_intact(artifact, output)
        return is_unchanged(self._store, output)

    def write_joined(self, step: PipelineStep[Any], records: Sequence[ItemRecord]) -> None:
        """Write the joined files of a step; `records` are those of all its items."""
        if self._read_only or any(is_interrupted(record) for record in records):
            return
        for artifact, outputs in _joined_outputs(step, records):
            self._joined.write(artifact, step.name, outputs)

    def unwritten_joined(self, step: PipelineStep[Any], records: Sequence[ItemRecord]) -> list[str]:
        """The joined files of a step that `write_joined` would write, relative to the outputs folder."""
        return [
            artifact.pattern
            for artifact, outputs in _joined_outputs(step, records)
            if not self._joined.is_written(artifact, step.name, outputs)
        ]

    def _require_sole_writer(self, record: ItemRecord) -> ItemRecord:
        """The record, failed if it wrote a path of another item."""
        for output in record.outputs:
            owner = self._manifest.owner(output.label)
            if owner is not None and owner != (record.step, record.key):
                reason = f"wrote {output.label!r}, which {'/'.join(owner)} writes; a path has one writer"
                return record.model_copy(update={"state": "failed", "reasons": [reason]})
        return record

    def _remove_outdated(self, previous: ItemRecord | None, record: ItemRecord, *, is_kept: bool) -> None:
        """Remove the files that the item wrote before and not again; all its files unless the record is kept."""
        paths = {output.path for output in record.outputs} if is_kept else set()
        for output in (*(previous.outputs if previous else ()), *record.outputs):
            if output.path not in paths:
                self._store.remove(output.path)


def _joined_outputs(
    step: PipelineStep[Any], records: Sequence[ItemRecord]
) -> Iterator[tuple[Artifact[Any], list[ItemOutput]]]:
    """Each joined file of a step, with the outputs that its items made for it."""
    outputs = [output for record in records if record.state == "done" for output in record.outputs]
    for artifact in dict.fromkeys((*step.writes, *step.join_writes)):
        if artifact.kind == "joined":
            yield artifact, [output for output in outputs if output.artifact == artifact.pattern]
