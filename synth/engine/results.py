"""The results of items: their records in the manifest, and their files in the outputs folder.

A path has one writer. Files that an item no longer writes are removed with its new record.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from skillweave.base.manifest import Fingerprint, ItemOutput, ItemRecord, Manifest
from skillweave.base.store import Store
from synth.engine.artifact import Artifact, JoinedFiles, is_unchanged
from synth.engine.executor import is_interrupted
from synth.engine.step import PipelineStep


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
