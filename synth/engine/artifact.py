"""Artifacts: families of files under the outputs folder, their values as bytes, and files that join many values.

The same value always gives the same bytes. The value of one key of a joined file also lies apart in the cache, so
that a change of one key is a change of one value.
"""

from functools import cache
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError, from_json, to_json

from skillweave.base.digest import digest_bytes, digest_file
from skillweave.base.errors import ArtifactError
from skillweave.base.manifest import ItemOutput, JoinedFile, Manifest
from skillweave.base.store import Stamp, Store
from skillweave.schema.record import Json
from synth.artifacts import Artifact

T = TypeVar("T")


def encode(artifact: Artifact[T], value: T) -> bytes:
    """What is kept on disk. Raises ArtifactError where the value is not of the artifact's type."""
    if artifact.kind == "text":
        if not isinstance(value, str):
            raise ArtifactError(f"{artifact.pattern!r} holds text, not {type(value).__name__}")
        return value.encode("utf-8")
    adapter = _adapter(artifact)
    try:
        if artifact.kind == "jsonl":
            return b"".join(_line_adapter(artifact).dump_json(line, warnings="error") + b"\n" for line in value)  # type: ignore[attr-defined]
        if artifact.kind == "joined":
            return adapter.dump_json(value, warnings="error")
        return adapter.dump_json(value, indent=1, warnings="error") + b"\n"
    except PydanticSerializationError as error:
        raise ArtifactError(f"{artifact.pattern!r} cannot hold this value: {error}") from error


def decode(artifact: Artifact[T], content: bytes, label: str) -> T:
    """The value. Raises ArtifactError where the bytes hold none of the artifact's type."""
    try:
        if artifact.kind == "text":
            return content.decode("utf-8")  # type: ignore[return-value]
        if artifact.kind == "jsonl":
            adapter = _line_adapter(artifact)
            return [adapter.validate_json(line) for line in content.splitlines()]  # type: ignore[return-value]
        return _adapter(artifact).validate_json(content)
    except UnicodeDecodeError as error:
        raise ArtifactError(f"{label!r} is no text: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise ArtifactError(f"{label!r} does not hold what it should: {where}: {first['msg']}") from error


def join_parts(parts: dict[str, bytes], artifact: Artifact[Any]) -> bytes:
    """The one file of a joined artifact, keys sorted."""
    values = {key: from_json(part) for key, part in sorted(parts.items())}
    return to_json(list(values.values()) if artifact.listed_by else values, indent=1) + b"\n"


def split_parts(content: bytes, artifact: Artifact[Any]) -> dict[str, bytes]:
    """The values of a joined file, as they were kept before. Raises ArtifactError where it is no such file."""
    try:
        found: Json = from_json(content)
    except ValueError as error:
        raise ArtifactError(f"{artifact.pattern!r} is not JSON: {error}") from error
    if artifact.listed_by and isinstance(found, list):
        rows = [row for row in found if isinstance(row, dict)]
        return {str(row.get(artifact.listed_by)): to_json(row) for row in rows}
    if artifact.listed_by or not isinstance(found, dict):
        raise ArtifactError(f"{artifact.pattern!r} should be a JSON {'list' if artifact.listed_by else 'object'}")
    return {key: to_json(value) for key, value in found.items()}


def _adapter(artifact: Artifact[T]) -> TypeAdapter[T]:
    return _adapter_of(artifact)


@cache
def _adapter_of(artifact: Artifact[Any]) -> TypeAdapter[Any]:
    return TypeAdapter(artifact.returns)


@cache
def _line_adapter(artifact: Artifact[Any]) -> TypeAdapter[Any]:
    (line,) = artifact.returns.__args__
    return TypeAdapter(line)


class JoinedFiles:
    def __init__(self, store: Store, manifest: Manifest, *, read_only: bool = False) -> None:
        self._store = store
        self._manifest = manifest
        self._read_only = read_only
        self._changed: dict[str, dict[str, str] | None] = {}

    def is_intact(self, artifact: Artifact[Any], output: ItemOutput) -> bool:
        """Whether a value is what its item wrote, in the file and apart; a missing part is put back."""
        changed = self._changed_values(artifact)
        if changed is not None and changed.get(output.key) != output.digest:
            return False
        return is_unchanged(self._store, output) or self._restore(artifact, output)

    def write(self, artifact: Artifact[Any], step: str, outputs: list[ItemOutput]) -> None:
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

    def is_written(self, artifact: Artifact[Any], step: str, outputs: list[ItemOutput]) -> bool:
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

    def _restore(self, artifact: Artifact[Any], output: ItemOutput) -> bool:
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


def _values(outputs: list[ItemOutput]) -> dict[str, str]:
    return {output.key: output.digest for output in sorted(outputs, key=lambda output: output.key)}


def is_unchanged(store: Store, output: ItemOutput) -> bool:
    """Whether a file is as it was written: by its stamp, else by its digest."""
    try:
        if not store.exists(output.path):
            return False
        if store.stamp(output.path) == Stamp(output.size, output.mtime_ns):
            return True
        return digest_file(store.file(output.path)) == output.digest
    except ArtifactError:
        return False
