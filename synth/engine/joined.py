"""Joined files: many items' values in one file, and the parts that they are made of.

A file that is as it was last written says nothing beyond its parts. One that somebody changed counts, key by key, as
changed outputs; a missing one is joined again; and parts that are missing are taken back from an untouched file.
"""

from typing import Any

from skillweave.digest import digest_bytes, digest_file
from skillweave.errors import ArtifactError
from skillweave.manifest import JoinedFile, Manifest, Output
from skillweave.store import Stamp, Store
from synth.artifacts import Artifact
from synth.engine.codec import join_parts, split_parts


class JoinedFiles:
    def __init__(self, store: Store, manifest: Manifest, *, read_only: bool = False) -> None:
        self._store = store
        self._manifest = manifest
        self._read_only = read_only
        self._changed: dict[str, dict[str, str] | None] = {}

    def is_intact(self, artifact: Artifact[Any], output: Output) -> bool:
        """Whether a value is what its item wrote, in the file and apart; a missing part is put back."""
        changed = self._changed_values(artifact)
        if changed is not None and changed.get(output.key) != output.digest:
            return False
        return is_unchanged(self._store, output) or self._restore(artifact, output)

    def write(self, artifact: Artifact[Any], step: str, outputs: list[Output]) -> None:
        """Write the file, unless it is there and holds just these values."""
        if self.is_written(artifact, step, outputs):
            return
        values = _values(outputs)
        content = join_parts({output.key: self._store.read(output.path) for output in outputs}, artifact)
        stamp = self._store.write(artifact.pattern, content)
        self._changed[artifact.pattern] = None
        self._manifest.put_joined(
            JoinedFile(
                step=step,
                path=artifact.pattern,
                digest=digest_bytes(content),
                size=stamp.size,
                mtime_ns=stamp.mtime_ns,
                values=values,
            )
        )

    def is_written(self, artifact: Artifact[Any], step: str, outputs: list[Output]) -> bool:
        """Whether the file is there and holds just these values."""
        last = self._manifest.joined(artifact.pattern)
        return last is not None and last.values == _values(outputs) and last.step == step and self._is_untouched(last)

    def remove(self, artifact: Artifact[Any]) -> None:
        """Remove the file and what is known of it."""
        self._store.remove(artifact.pattern)
        self._manifest.forget_joined(artifact.pattern)
        self._changed.pop(artifact.pattern, None)

    def _changed_values(self, artifact: Artifact[Any]) -> dict[str, str] | None:
        """Digests of the values in a file that is not as we left it; None where it is, or is missing."""
        if artifact.pattern not in self._changed:
            self._changed[artifact.pattern] = self._look(artifact)
        return self._changed[artifact.pattern]

    def _look(self, artifact: Artifact[Any]) -> dict[str, str] | None:
        last = self._manifest.joined(artifact.pattern)
        if not self._store.exists(artifact.pattern) or (last is not None and self._is_untouched(last)):
            return None
        try:
            parts = split_parts(self._store.read(artifact.pattern), artifact)
        except ArtifactError:
            return {}
        return {key: digest_bytes(part) for key, part in parts.items()}

    def _is_untouched(self, last: JoinedFile) -> bool:
        if not self._store.exists(last.path):
            return False
        if self._store.stamp(last.path) == Stamp(last.size, last.mtime_ns):
            return True
        return digest_file(self._store.file(last.path)) == last.digest

    def _restore(self, artifact: Artifact[Any], output: Output) -> bool:
        if not self._store.exists(artifact.pattern):
            return False
        try:
            part = split_parts(self._store.read(artifact.pattern), artifact).get(output.key)
        except ArtifactError:
            return False
        if part is None or digest_bytes(part) != output.digest:
            return False
        if not self._read_only:
            self._store.write(output.path, part)
        return True


def _values(outputs: list[Output]) -> dict[str, str]:
    return {output.key: output.digest for output in sorted(outputs, key=lambda output: output.key)}


def is_unchanged(store: Store, output: Output) -> bool:
    """Whether a file is as it was written: by its stamp, else by its digest."""
    try:
        if not store.exists(output.path):
            return False
        if store.stamp(output.path) == Stamp(output.size, output.mtime_ns):
            return True
        return digest_file(store.file(output.path)) == output.digest
    except ArtifactError:
        return False
