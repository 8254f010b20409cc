"""A run: everything that deciding about items and running them needs, in one process.

`RunSpec` is all of it in words, so that a worker process elsewhere can open the same run on the same outputs folder.
"""

import asyncio
import threading
import time
import traceback
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from skillweave.config.models import Config
from skillweave.digest import digest_json
from skillweave.errors import AuthorError, ConfigError, SkillweaveError
from skillweave.llm.backend import Backend
from skillweave.manifest import Fingerprint, ItemRecord, Manifest, Output, State
from skillweave.store import CACHE, Store
from synth.artifacts import Artifact, Every
from synth.context import SEEDS_LABEL, Account, Context, Setting, keys_label, seeds_digest
from synth.engine.authors import Authors
from synth.engine.code import CodeIndex
from synth.engine.decide import UNCOUNTED, Decision, decide
from synth.engine.joined import JoinedFiles, is_unchanged
from synth.engine.pipeline import Pipeline, load_pipeline, step_params
from synth.engine.pool import Pool
from synth.step import JOIN, Params, Step

R = TypeVar("R")

OFFLINE_AUTHOR = "synth.offline.author:OfflineAuthor"
INTERRUPTED = "interrupted"


@dataclass(frozen=True)
class RunSpec:
    config: Config
    outputs: Path
    package: str = "synth.steps"
    author: str = OFFLINE_AUTHOR
    read_only: bool = False


class Run:
    def __init__(self, spec: RunSpec) -> None:
        config = spec.config
        self.spec = spec
        self.store = Store(spec.outputs)
        self.pipeline = load_pipeline(spec.package).restricted(config.task_mode)
        self.params: dict[str, Params] = step_params(load_pipeline(spec.package).steps, config.steps)
        self.setting = Setting(config.seed, config.simulation_time, tuple(config.domains.seeds))
        self.manifest = Manifest(self.store)
        self.joined = JoinedFiles(self.store, self.manifest, read_only=spec.read_only)
        self.authors = Authors(config, spec.author, spec.outputs / CACHE / "replies.sqlite")
        self._pool = Pool(config.execution.workers)
        self._artifacts = {found.pattern: found for step in self.pipeline.steps for found in _artifacts(step)}
        self._fingerprints: dict[str, Fingerprint] = {}
        self._running: dict[asyncio.Task[None], asyncio.AbstractEventLoop] = {}
        self._lock = threading.RLock()
        self._stopped = threading.Event()

    @cached_property
    def code(self) -> CodeIndex:
        """The project's modules."""
        roots = {"skillweave", "synth", "evaluator", self.spec.package.partition(".")[0]}
        cache = None if self.spec.read_only else self.spec.outputs / CACHE / "code.json"
        return CodeIndex(sorted(roots), cache)

    def artifact(self, pattern: str) -> Artifact[Any]:
        """The artifact of that pattern."""
        return self._artifacts[pattern]

    def fingerprint(self, step: Step[Any]) -> Fingerprint:
        """What the items of a step follow from."""
        with self._lock:
            if step.name not in self._fingerprints:
                self._fingerprints[step.name] = Fingerprint(
                    code=self.code.closure(step.module),
                    params=self.params[step.name].model_dump(mode="json", exclude=set(UNCOUNTED)),
                    prompts={question.name: question.digest for question in step.questions},
                    libraries=self.code.libraries(step.module),
                    seed=self.setting.seed,
                    now=self.setting.now,
                )
            return self._fingerprints[step.name]

    def decide(self, step: Step[Any], key: str, upstream: Sequence[ItemRecord]) -> Decision:
        """Whether an item is to be redone, all that it waits for being settled."""
        previous = self.manifest.item(step.name, key)
        if obstacle(step, key, self.pipeline, upstream):
            same = previous is not None and previous.state == "skipped"
            return Decision(not same, "to be skipped")
        visible = visible_to(step, key, upstream)
        return decide(
            previous,
            self.manifest.fingerprint(previous.fingerprint) if previous else None,
            self.fingerprint(step),
            self._authors_of(step, key),
            lambda label: self._digest_of(label, visible),
            self.is_intact,
        )

    def settle(self, step: Step[Any], key: str, upstream: Sequence[ItemRecord]) -> ItemRecord:
        """What an item comes to: its last record if it is up to date, else that of doing it now, put in the manifest."""
        if self._stopped.is_set():
            return ItemRecord(step=step.name, key=key, state="skipped", reasons=[INTERRUPTED])
        previous = self.manifest.item(step.name, key)
        blocked = obstacle(step, key, self.pipeline, upstream)
        if blocked:
            record = ItemRecord(step=step.name, key=key, state="skipped", reasons=[blocked])
        elif previous is not None and not self.decide(step, key, upstream).redo:
            return previous
        else:
            record = self._do(step, key, visible_to(step, key, upstream))
        if record.reasons == [INTERRUPTED]:
            return record
        self._clear(previous, record)
        self.manifest.put(record, self.fingerprint(step) if record.fingerprint else None)
        return record

    def is_intact(self, output: Output) -> bool:
        """Whether an output is there as it was written."""
        artifact = self._artifacts.get(output.artifact)
        if artifact is not None and artifact.kind == "joined":
            return self.joined.is_intact(artifact, output)
        return is_unchanged(self.store, output)

    def remove(self, record: ItemRecord) -> None:
        """Remove what an item wrote, and its record."""
        for output in record.outputs:
            self.store.remove(output.path)
        self.manifest.forget(record.step, [record.key])

    def stop(self) -> None:
        """Begin no further item, and cancel those that run at their next wait."""
        self._stopped.set()
        with self._lock:
            for task, loop in self._running.items():
                loop.call_soon_threadsafe(task.cancel)

    def close(self) -> None:
        """Let go of processes and connections."""
        self._pool.close()
        self.authors.close()
        if not self.spec.read_only:
            self.code.save()

    def backend(self, step: str, role: str) -> Backend:
        """The author of a role."""
        return self.authors.backend(step, role)

    def offload(self, function: Callable[..., R], *arguments: object) -> Awaitable[R]:
        """Run a function in the process pool."""
        return self._pool.submit(function, *arguments)

    def log(self, step: str, key: str, message: str) -> None:
        """Add a line to the step's log."""
        path = self.store.path(f"logs/{step}.log")
        path.parent.mkdir(parents=True, exist_ok=True)
        with self._lock, path.open("a", encoding="utf-8", errors="backslashreplace") as stream:
            stream.write(f"{key}: {message}\n")

    def _authors_of(self, step: Step[Any], key: str) -> dict[str, str]:
        roles = sorted({question.role for question in step.questions})
        return {role: self.authors.identity(step.name, role, key) for role in roles}

    def _digest_of(self, label: str, visible: Mapping[tuple[str, str], Output]) -> str | None:
        if label == SEEDS_LABEL:
            return seeds_digest(self.setting)
        for pattern in self._artifacts:
            if label == keys_label(pattern):
                return digest_json(sorted(key for found, key in visible if found == pattern))
        return next((output.digest for output in visible.values() if output.label == label), None)

    def _do(self, step: Step[Any], key: str, visible: Mapping[tuple[str, str], Output]) -> ItemRecord:
        started = time.perf_counter()
        context: Context[Any] = Context(
            step,
            key,
            params=self.params[step.name],
            setting=self.setting,
            store=self.store,
            visible=visible,
            services=self,
        )
        state: State = "done"
        reasons: list[str] = []
        try:
            asyncio.run(self._work(step, key, context, visible))
        except AuthorError as error:
            state, reasons = "rejected", list(error.reasons) or [str(error)]
        except asyncio.CancelledError:
            return ItemRecord(step=step.name, key=key, state="skipped", reasons=[INTERRUPTED])
        except Exception as error:
            # A step is foreign to the engine: whatever it raises costs its item, and is kept.
            state, reasons = "failed", [_said(error)]
            self.log(step.name, key, "".join(traceback.format_exception(error)).rstrip())
        return _record(
            step, key, state, reasons, context.account, self._authors_of(step, key), self.fingerprint(step).id, started
        )

    async def _work(
        self, step: Step[Any], key: str, context: Context[Any], visible: Mapping[tuple[str, str], Output]
    ) -> None:
        task = asyncio.current_task()
        assert task is not None
        with self._lock:
            self._running[task] = asyncio.get_running_loop()
        try:
            if self._stopped.is_set():
                raise asyncio.CancelledError
            if key == JOIN and step.join is not None:
                await step.join(context, sorted({output for output in _done_keys(step, visible, self)}))
            else:
                await step.run(context, key)
        finally:
            with self._lock:
                del self._running[task]

    def _clear(self, previous: ItemRecord | None, record: ItemRecord) -> None:
        """Remove what the item wrote before and not again, and what an item wrote that did not come to its end."""
        kept = {output.path for output in record.outputs} if record.state == "done" else set()
        for output in (*(previous.outputs if previous else ()), *record.outputs):
            if output.path not in kept:
                self.store.remove(output.path)
