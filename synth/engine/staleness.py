"""Staleness: whether an item has to be redone, and the reason in words.

An item is up to date if its step's code, parameters and prompts, its authors, and everything that it read are as they
were, and if its outputs are as it wrote them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from threading import RLock
from typing import Any

from skillweave.base.code import CodeIndex
from skillweave.base.manifest import Fingerprint, ItemOutput, ItemRecord, Manifest
from skillweave.base.store import digest_json
from synth.engine.authors import Authors
from synth.engine.context import SETTINGS, RunSetting, keys_label
from synth.engine.pipeline import Pipeline, VisibleOutputs, blocking_reason, visible_to
from synth.engine.step import Params, PipelineStep

LIMIT_PARAMS = frozenset({"max_rejected"})
"""Parameters that say when a step counts as failed. They change no item."""

COMPLAINT_CHARS = 300
"""Most characters of complaints that a reason shows."""


@dataclass(frozen=True)
class RedoDecision:
    redo: bool
    reason: str = "up to date"
    blocked_by: str | None = None
    """Why the item cannot be done: something that it needs was not made. None if it can."""
    round: int = 0
    """The round in which the item's authors are asked."""
    sent_back: tuple[str, ...] = ()
    """Reasons of later rejections that the item's authors are told."""


class StalenessCheck:
    """Decides about the items of one run."""

    def __init__(
        self,
        pipeline: Pipeline,
        params: Mapping[str, Params],
        setting: RunSetting,
        manifest: Manifest,
        authors: Authors,
        code: CodeIndex,
        is_intact: Callable[[ItemOutput], bool],
        *,
        fresh: frozenset[str] = frozenset(),
        retries_rejected: bool = False,
    ) -> None:
        """Make the check.

        Args:
            pipeline: The steps that the run has.
            params: The parameters of each step by name.
            setting: What the configuration says to every item.
            manifest: The records of earlier runs.
            authors: Who answers questions now.
            code: The digests of the project's modules and of plug-ins.
            is_intact: Whether an output is there as it was written.
            fresh: Names of steps whose items are redone in any case.
            retries_rejected: Redo rejected items, and send complaints back to the items that they lie in.
        """
        self._pipeline = pipeline
        self._params = params
        self._setting = setting
        self._manifest = manifest
        self._authors = authors
        self._code = code
        self._is_intact = is_intact
        self._fresh = fresh
        self._retries_rejected = retries_rejected
        self._fingerprints: dict[str, Fingerprint] = {}
        self._lock = RLock()

    def decide(self, step: PipelineStep[Any], key: str, upstream: Sequence[ItemRecord]) -> RedoDecision:
        """Whether an item has to be redone. `upstream` are the records of all items that it waits for."""
        visible = visible_to(step, key, upstream)
        blocked = blocking_reason(step, key, self._pipeline, upstream, visible)
        if blocked:
            return RedoDecision(True, blocked_by=blocked)
        if step.name in self._fresh:
            return RedoDecision(True, "asked for")
        previous = self._manifest.item(step.name, key)
        digests = {output.label: output.digest for output in visible.values()}
        return decide(
            previous,
            self._manifest.fingerprint(previous.fingerprint) if previous else None,
            self.fingerprint(step),
            self.authors_of(step, key),
            lambda label: digests.get(label) or _other_digest(label, visible, self._setting, step),
            self._is_intact,
            retries=self._retries_rejected,
            complaints=self._sent_back.get((step.name, key), ()),
        )

    def fingerprint(self, step: PipelineStep[Any]) -> Fingerprint:
        """What the items of a step follow from, beside their authors and what they read."""
        with self._lock:
            if step.name not in self._fingerprints:
                self._fingerprints[step.name] = Fingerprint(
                    code=self._code_of(step),
                    params=self._params[step.name].model_dump(mode="json", exclude=set(LIMIT_PARAMS)),
                    prompts={question.name: question.digest for question in step.questions},
                    libraries=self._code.libraries(step.module),
                    seed=self._setting.seed,
                    now=self._setting.now,
                )
            return self._fingerprints[step.name]

    def authors_of(self, step: PipelineStep[Any], key: str) -> dict[str, str]:
        """Role -> identity of the authors whom an item asks; roles without an author are left out."""
        questions: dict[str, list[str]] = {}
        for question in step.questions:
            questions.setdefault(question.role, []).append(question.name)
        identities = {
            role: self._authors.identity(step.name, role, key, names) for role, names in sorted(questions.items())
        }
        return {role: identity for role, identity in identities.items() if identity}

    def complaints(self) -> dict[tuple[str, str], list[str]]:
        """(step, key) of an item that is done -> why later items were rejected for a fault that lies in it.

        A rejection that this run would look at again in any case counts as none.
        """
        reasons: dict[tuple[str, str], list[str]] = {}
        for step in self._pipeline.steps:
            for record in self._manifest.items(step.name):
                at_fault = self._manifest.item(record.lies_in, record.key) if record.lies_in else None
                if at_fault is not None and at_fault.state == "done" and self._stands(step, record):
                    reasons.setdefault((at_fault.step, at_fault.key), []).extend(record.reasons)
        return reasons

    @cached_property
    def _sent_back(self) -> dict[tuple[str, str], list[str]]:
        """The complaints that the run began with. Complaints that arise in it are for the next run."""
        return self.complaints() if self._retries_rejected else {}

    def _stands(self, step: PipelineStep[Any], record: ItemRecord) -> bool:
        """Whether the step and its authors are still those that rejected the item."""
        same = record.fingerprint == self.fingerprint(step).id
        return record.state == "rejected" and same and record.authors == self.authors_of(step, record.key)

    def _code_of(self, step: PipelineStep[Any]) -> dict[str, str]:
        """Module -> digest, for the step's modules and those of the plug-in parts that it uses."""
        plugins = {module for registry in step.registries for module in registry.own.values()}
        digests = self._code.closure(step.module)
        for module in sorted(plugins):
            digests |= self._code.closure(module)
        return dict(sorted(digests.items()))


def _other_digest(label: str, visible: VisibleOutputs, setting: RunSetting, step: PipelineStep[Any]) -> str | None:
    """The digest of what a read of a label that is no output's would see now; None if there is no such thing."""
    if label in SETTINGS:
        return digest_json(SETTINGS[label](setting))
    for artifact in step.artifacts:
        if label == keys_label(artifact.pattern):
            return digest_json([key for pattern, key in sorted(visible) if pattern == artifact.pattern])
    return None


def decide(
    previous: ItemRecord | None,
    before: Fingerprint | None,
    now: Fingerprint,
    authors: Mapping[str, str],
    digest_of: Callable[[str], str | None],
    is_intact: Callable[[ItemOutput], bool],
    *,
    retries: bool = False,
    complaints: Sequence[str] = (),
) -> RedoDecision:
    """Whether an item has to be redone. A pure function of its arguments.

    Args:
        previous: The item's last record; None if there is none.
        before: The fingerprint of that record; None if it is unknown.
        now: The fingerprint of the step as it is.
        authors: Role -> identity of the authors as they are.
        digest_of: The digest of what a read of a label would see now; None if it is gone.
        is_intact: Whether an output is there as it was written.
        retries: A rejection does not stand.
        complaints: Reasons of later items that are sent back to this one.
    """
    if previous is None or previous.state == "skipped":
        return RedoDecision(True, "new")
    if previous.state == "rejected" and retries:
        return RedoDecision(True, "rejected last time", round=previous.round + 1)
    sent_back = tuple(previous.sent_back)
    reason = "what it was made from is not known" if before is None else _fingerprint_change(before, now)
    reason = reason or _author_change(previous.authors, authors) or _read_change(previous.reads, digest_of)
    if reason:
        # Earlier complaints were about a result of other inputs.
        return RedoDecision(True, reason, round=previous.round)
    if complaints and set(complaints) <= set(sent_back):
        return RedoDecision(True, "mended in vain", round=previous.round + 1)
    if complaints:
        sent_back = tuple(dict.fromkeys((*sent_back, *complaints)))
        return RedoDecision(
            True, f"sent back, {'; '.join(complaints)[:COMPLAINT_CHARS]}", round=previous.round, sent_back=sent_back
        )
    if previous.state == "failed":
        return RedoDecision(True, "failed last time", round=previous.round, sent_back=sent_back)
    for output in previous.outputs:
        if not is_intact(output):
            changed = f"output {output.label} changed or missing"
            return RedoDecision(True, changed, round=previous.round, sent_back=sent_back)
    return RedoDecision(False)


def _fingerprint_change(before: Fingerprint, now: Fingerprint) -> str | None:
    if before == now:
        return None
    for name in sorted(before.prompts.keys() | now.prompts.keys()):
        if before.prompts.get(name) != now.prompts.get(name):
            return f"prompt {name} changed"
    for name in sorted(before.params.keys() | now.params.keys()):
        if before.params.get(name) != now.params.get(name):
            return f"parameter {name} changed {before.params.get(name)!r} -> {now.params.get(name)!r}"
    if before.seed != now.seed:
        return f"seed changed {before.seed} -> {now.seed}"
    if before.now != now.now:
        return f"simulation_time changed {before.now} -> {now.now}"
    for name in sorted(before.libraries.keys() | now.libraries.keys()):
        if before.libraries.get(name) != now.libraries.get(name):
            return f"library {name} changed {before.libraries.get(name)} -> {now.libraries.get(name)}"
    changed = sorted(
        name for name in before.code.keys() | now.code.keys() if before.code.get(name) != now.code.get(name)
    )
    return f"code of {changed[0]} changed" + (f" (and {len(changed) - 1} more modules)" if len(changed) > 1 else "")


def _author_change(before: Mapping[str, str], now: Mapping[str, str]) -> str | None:
    for role in sorted(before.keys() | now.keys()):
        old, new = before.get(role, "none"), now.get(role, "none")
        if old != new:
            names = old.partition("#")[0], new.partition("#")[0]
            return f"author of {role} changed" + (f" {names[0]} -> {names[1]}" if names[0] != names[1] else "")
    return None


def _read_change(before: Mapping[str, str], digest_of: Callable[[str], str | None]) -> str | None:
    for label, digest in sorted(before.items()):
        seen = digest_of(label)
        if seen != digest:
            return f"input {label} {'changed' if seen else 'is gone'}"
    return None
