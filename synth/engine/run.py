"""A run: everything that deciding about items and doing them needs, in one process.

`RunSpec` is all of it in words, so that a worker process elsewhere can open the same run on the same outputs folder.
"""

import os
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from skillweave.base.code import CodeIndex
from skillweave.base.digest import digest_json
from skillweave.base.errors import ArtifactError
from skillweave.base.manifest import Fingerprint, ItemOutput, ItemRecord, Manifest
from skillweave.base.store import CACHE, TEMPORARY, Store
from skillweave.config.sections import Config
from skillweave.llm.ask import AuthorChain
from skillweave.sandbox.limits import SandboxLimits
from skillweave.sandbox.strength import require
from synth.artifacts import Artifact
from synth.engine.artifact import JoinedFiles, is_unchanged
from synth.engine.authors import Authors
from synth.engine.context import SEEDS_LABEL, SPLITS_LABEL, Context, RunSetting, keys_label, seeds_digest, splits_digest
from synth.engine.executor import ItemExecutor, is_interrupted
from synth.engine.pipeline import VisibleOutputs, artifacts_of, blocking_reason, load_pipeline, step_params, visible_to
from synth.engine.process_pool import ProcessPool
from synth.engine.staleness import LIMIT_PARAMS, RedoDecision, decide
from synth.engine.step import PipelineStep

R = TypeVar("R")

OFFLINE_AUTHOR = "synth.offline.author:OfflineAuthor"


@dataclass(frozen=True)
class RunSpec:
    config: Config = field(hash=False)
    outputs: Path
    package: str = "synth.steps"
    author: str = OFFLINE_AUTHOR
    read_only: bool = False
    fresh: frozenset[str] = frozenset()
    """Steps whose items are to be done again in any case, by name."""
    retries_rejected: bool = False
    """Ask authors anew about what was rejected, and send back what lies in what earlier items made."""


class PipelineRun:
    def __init__(self, spec: RunSpec) -> None:
        config = spec.config
        everything = load_pipeline(spec.package)
        self.spec = spec
        self.store = Store(spec.outputs)
        self.pipeline = everything.restricted(config.task_mode)
        self.params = step_params(everything.steps, config.steps)
        self.setting = RunSetting(
            config.seed,
            config.simulation_time,
            tuple(config.domains.seeds),
            SandboxLimits.of(config.sandbox),
            config.splits,
        )
        self.manifest = Manifest(self.store)
        self.joined = JoinedFiles(self.store, self.manifest, read_only=spec.read_only)
        self.authors = Authors(config, spec.author, spec.outputs)
        self._code = CodeIndex(
            sorted({"skillweave", "synth", "evaluator", spec.package.partition(".")[0]}),
            spec.outputs / CACHE / "code.json",
        )
        self._pool = ProcessPool(config.execution.workers, spec.outputs / TEMPORARY / str(os.getpid()))
        self._performer = ItemExecutor()
        self._artifacts = {found.pattern: found for step in everything.steps for found in artifacts_of(step)}
        self._fingerprints: dict[str, Fingerprint] = {}
        self._lock = threading.RLock()

    def artifact(self, pattern: str) -> Artifact[Any] | None:
        """The artifact of that pattern, if a step has to do with it."""
        return self._artifacts.get(pattern)

    def fingerprint(self, step: PipelineStep[Any]) -> Fingerprint:
        """What the items of a step follow from."""
        with self._lock:
            if step.name not in self._fingerprints:
                self._fingerprints[step.name] = Fingerprint(
                    code=self._code.closure(step.module),
                    params=self.params[step.name].model_dump(mode="json", exclude=set(LIMIT_PARAMS)),
                    prompts={question.name: question.digest for question in step.questions},
                    libraries=self._code.libraries(step.module),
                    seed=self.setting.seed,
                    now=self.setting.now,
                )
            return self._fingerprints[step.name]

    def complaints(self) -> dict[tuple[str, str], list[str]]:
        """(step, key) of an item that is done -> why later items were rejected whose fault lies in it.

        A rejection that would be looked at again in any case is none.
        """
        found: dict[tuple[str, str], list[str]] = {}
        for step in self.pipeline.steps:
            for record in self.manifest.items(step.name):
                at_fault = self.manifest.item(record.lies_in, record.key) if record.lies_in else None
                if at_fault is not None and at_fault.state == "done" and self._stands(step, record):
                    found.setdefault((at_fault.step, at_fault.key), []).extend(record.reasons)
        return found

    def decide(self, step: PipelineStep[Any], key: str, upstream: Sequence[ItemRecord]) -> RedoDecision:
        """Whether an item is to be redone, all that it waits for being settled."""
        blocked = blocking_reason(step, key, self.pipeline, upstream)
        if blocked:
            return RedoDecision(True, blocked_by=blocked)
        if step.name in self.spec.fresh:
            return RedoDecision(True, "asked for")
        previous = self.manifest.item(step.name, key)
        visible = visible_to(step, key, upstream)
        return decide(
            previous,
            self.manifest.fingerprint(previous.fingerprint) if previous else None,
            self.fingerprint(step),
            self._authors_of(step, key),
            lambda label: self._digest_of(label, visible),
            self.is_intact,
            retries=self.spec.retries_rejected,
            complaints=self._sent_back.get((step.name, key), ()),
        )

    def do(
        self,
        step: PipelineStep[Any],
        key: str,
        upstream: Sequence[ItemRecord],
        *,
        round: int = 0,
        sent_back: tuple[str, ...] = (),
    ) -> ItemRecord:
        """Do an item, and put what it came to in the manifest, unless it was interrupted."""
        previous = self.manifest.item(step.name, key)
        context: Context[Any] = Context(
            step,
            key,
            params=self.params[step.name],
            setting=self.setting,
            store=self.store,
            visible=visible_to(step, key, upstream),
            services=self,
            round=round,
            sent_back=sent_back,
        )
        done = [record.key for record in upstream if record.step == step.name and record.state == "done"]
        record = self._sole_writer(self._performer.perform(step, context, done))
        if is_interrupted(record):
            return record
        self._clear(previous, record, kept=record.state == "done")
        fingerprint = self.fingerprint(step)
        record = record.model_copy(
            update={
                "fingerprint": fingerprint.id,
                "authors": self._authors_of(step, key),
                "outputs": record.outputs if record.state == "done" else [],
            }
        )
        self.manifest.put(record, fingerprint)
        return record

    @cached_property
    def _sent_back(self) -> dict[tuple[str, str], list[str]]:
        """The complaints that the run found; those that arise in it are for the next."""
        return self.complaints() if self.spec.retries_rejected else {}

    def _stands(self, step: PipelineStep[Any], record: ItemRecord) -> bool:
        """Whether a rejection is by the step and the authors as they are."""
        same = record.fingerprint == self.fingerprint(step).id
        return record.state == "rejected" and same and record.authors == self._authors_of(step, record.key)

    def skip(self, step: PipelineStep[Any], key: str, reason: str) -> ItemRecord:
        """Record that an item cannot be done."""
        record = ItemRecord(step=step.name, key=key, state="skipped", reasons=[reason])
        previous = self.manifest.item(step.name, key)
        if record != previous and not self.spec.read_only:
            self._clear(previous, record, kept=False)
            self.manifest.put(record)
        return record

    def is_intact(self, output: ItemOutput) -> bool:
        """Whether an output is there as it was written."""
        artifact = self.artifact(output.artifact)
        if artifact is not None and artifact.kind == "joined":
            return self.joined.is_intact(artifact, output)
        return is_unchanged(self.store, output)

    def finish(self, step: PipelineStep[Any], records: Sequence[ItemRecord]) -> None:
        """Write the joined files of a step, all its items being settled."""
        if self.spec.read_only or any(is_interrupted(record) for record in records):
            return
        for artifact, made in _joined_values(step, records):
            self.joined.write(artifact, step.name, made)

    def owed(self, step: PipelineStep[Any], records: Sequence[ItemRecord]) -> list[str]:
        """Paths of the joined files of a step that `finish` would write."""
        return [
            artifact.pattern
            for artifact, made in _joined_values(step, records)
            if not self.joined.is_written(artifact, step.name, made)
        ]

    def forget(self, steps: Sequence[PipelineStep[Any]]) -> None:
        """Remove all that steps produced."""
        for step in steps:
            for record in self.manifest.items(step.name):
                self.remove(record)
            for artifact in (*step.writes, *step.join_writes):
                if artifact.kind == "joined":
                    self.joined.remove(artifact)

    def drop_unknown_steps(self) -> None:
        """Remove what steps made that there are no longer."""
        known = {step.name for step in load_pipeline(self.spec.package).steps}
        for record in self.manifest.items():
            if record.step not in known:
                self.remove(record)

    def remove(self, record: ItemRecord) -> None:
        """Remove what an item wrote, and its record."""
        if self.spec.read_only:
            return
        for output in record.outputs:
            self.store.remove(output.path)
        self.manifest.forget(record.step, [record.key])

    def check_authors(self, steps: Sequence[PipelineStep[Any]]) -> None:
        """Raise ConfigError where an author that steps ask cannot be had: an unknown name, a missing key."""
        for step in steps:
            for question in step.questions:
                self.authors.line(step.name, question.role)

    def check_sandbox(self) -> None:
        """Raise ConfigError where this machine confines generated code less than the configuration asks for."""
        require(self.setting.sandbox.minimum)

    @property
    def is_stopped(self) -> bool:
        """Whether the run was told to stop."""
        return self._performer.is_stopped

    @property
    def why_stopped(self) -> str | None:
        """What ended the run before its end, if it was not the user."""
        return self._performer.why_stopped

    def end(self, why: str) -> None:
        """Begin no further item; those that run go on."""
        self._performer.end(why)

    def stop(self) -> None:
        """Begin no further item, and cancel those that run at their next wait."""
        self._performer.stop()

    def close(self) -> None:
        """Let go of processes and connections."""
        self._pool.close()
        with suppress(OSError):
            # A connection that does not close in time must not hide what ended the run.
            self.authors.close()
        if not self.spec.read_only:
            self._code.save()

    def line(self, step: str, role: str) -> AuthorChain | None:
        """Who is asked for a role in a step; None where nobody is named."""
        return self.authors.line(step, role)

    def offload(self, function: Callable[..., R], *arguments: object) -> Awaitable[R]:
        """Run a function in the process pool."""
        return self._pool.call(function, *arguments)

    def log(self, step: str, key: str, message: str) -> None:
        """Add a line to the step's log."""
        with self._lock, suppress(ArtifactError):
            # What cannot be logged costs nobody an item; what the item came to is in its record.
            self.store.append(f"logs/{step}.log", f"{key}: {message}\n".encode("utf-8", "backslashreplace"))

    def _authors_of(self, step: PipelineStep[Any], key: str) -> dict[str, str]:
        roles = sorted({question.role for question in step.questions})
        asked = {role: [found.name for found in step.questions if found.role == role] for role in roles}
        found = {role: self.authors.identity(step.name, role, key, asked[role]) for role in roles}
        return {role: identity for role, identity in found.items() if identity}

    def _digest_of(self, label: str, visible: VisibleOutputs) -> str | None:
        if label == SEEDS_LABEL:
            return seeds_digest(self.setting)
        if label == SPLITS_LABEL:
            return splits_digest(self.setting)
        for pattern in self._artifacts:
            if label == keys_label(pattern):
                return digest_json([key for found, key in sorted(visible) if found == pattern])
        return next((output.digest for output in visible.values() if output.label == label), None)

    def _sole_writer(self, record: ItemRecord) -> ItemRecord:
        """The record, failed where it wrote what another item has written: a path has one writer."""
        for output in record.outputs:
            owner = self.manifest.owner(output.label)
            if owner is not None and owner != (record.step, record.key):
                reason = f"wrote {output.label!r}, which {'/'.join(owner)} writes; a path has one writer"
                return record.model_copy(update={"state": "failed", "reasons": [reason]})
        return record

    def _clear(self, previous: ItemRecord | None, record: ItemRecord, *, kept: bool) -> None:
        """Remove what the item wrote before and not again; all that it wrote, if nothing of it is kept."""
        paths = {output.path for output in record.outputs} if kept else set()
        for output in (*(previous.outputs if previous else ()), *record.outputs):
            if output.path not in paths:
                self.store.remove(output.path)


def _joined_values(
    step: PipelineStep[Any], records: Sequence[ItemRecord]
) -> Iterator[tuple[Artifact[Any], list[ItemOutput]]]:
    """Each joined file of a step, with the values that its items made for it."""
    outputs = [output for record in records if record.state == "done" for output in record.outputs]
    for artifact in dict.fromkeys((*step.writes, *step.join_writes)):
        if artifact.kind == "joined":
            yield artifact, [output for output in outputs if output.artifact == artifact.pattern]
