"""Artifacts: families of files under the outputs folder, their values as bytes, and files that join many values.

The same value always gives the same bytes. The value of one key of a joined file also lies apart in the cache, so
that a change of one key is a change of one value.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError, from_json, to_json

from skillweave.base.errors import ArtifactError
from skillweave.base.manifest import ItemOutput, JoinedFile, Manifest
from skillweave.base.store import CACHE, Stamp, Store, digest_bytes, digest_file
from skillweave.schema.record import Json

T = TypeVar("T")
ArtifactKind = Literal["joined", "json", "jsonl", "text", "file"]


@dataclass(frozen=True)
class Artifact(Generic[T]):
    """A family of files with one type of value. `pattern` identifies it; `{key}` in it stands for the key."""

    pattern: str
    kind: ArtifactKind
    returns: type[T]
    """The type of one key's value."""
    listed_by: str | None = None
    """Of a joined file that is a JSON list: the field of each value that holds its key. None for a JSON object."""

    def path(self, key: str) -> str:
        """The file of a key, relative to the outputs folder."""
        return self.pattern.replace("{key}", key)

    def part_path(self, step: str, key: str) -> str:
        """Of a joined file: where the value that a step made for a key is kept apart."""
        return f"{CACHE}/items/{step}/{self.pattern}/{key}.json"

    def label(self, key: str) -> str:
        """What people call the value of a key: `policies/DentalClinic.md`, `entities.json[DentalClinic]`."""
        return f"{self.pattern}[{key}]" if self.kind == "joined" else self.path(key)


@dataclass(frozen=True)
class Every(Generic[T]):
    """A read of all keys of an artifact, by an item that has one key."""

    artifact: Artifact[T]


def every(artifact: Artifact[T]) -> Every[T]:
    """Declare that a step's item reads other keys than its own. The item then waits for all of them."""
    return Every(artifact)


def joined(pattern: str, returns: type[T], listed_by: str | None = None) -> Artifact[T]:
    """One JSON file for all keys.

    Args:
        pattern: The file, relative to the outputs folder.
        returns: The type of one key's value.
        listed_by: The field of a value that holds its key, if the file is a JSON list; else it is an object by key.
    """
    return Artifact(pattern, "joined", returns, listed_by)


def each(pattern: str, returns: type[T]) -> Artifact[T]:
    """One JSON file for each key."""
    return Artifact(pattern, "json", returns)


def jsonl(pattern: str, returns: type[T]) -> Artifact[list[T]]:
    """One file of JSON lines for each key; `returns` is the type of a line."""
    return Artifact(pattern, "jsonl", list[returns])  # type: ignore[valid-type]


def text(pattern: str) -> Artifact[str]:
    """One text file for each key."""
    return Artifact(pattern, "text", str)


def file(pattern: str) -> Artifact[Path]:
    """One file for each key, which steps use by its path."""
    return Artifact(pattern, "file", Path)


def encode(artifact: Artifact[T], value: T) -> bytes:
    """The bytes that a value is kept as. Raises ArtifactError if the value is not of the artifact's type."""
    if artifact.kind == "text":
        if not isinstance(value, str):
            raise ArtifactError(f"{artifact.pattern!r} holds text, not {type(value).__name__}")
        return value.encode("utf-8")
    adapter = _adapter(artifact)
    try:
        if artifact.kind == "jsonl":
            lines = _line_adapter(artifact)
            return b"".join(lines.dump_json(line, warnings="error") + b"\n" for line in value)  # type: ignore[attr-defined]
        if artifact.kind == "joined":
            return adapter.dump_json(value, warnings="error")
        return adapter.dump_json(value, indent=1, warnings="error") + b"\n"
    except PydanticSerializationError as error:
        raise ArtifactError(f"{artifact.pattern!r} cannot hold this value: {error}") from error


def decode(artifact: Artifact[T], content: bytes, label: str) -> T:
    """The value that bytes hold.

    Args:
        artifact: The artifact that the bytes belong to.
        content: What `encode` gave.
        label: What an error calls the value.

    Raises:
        ArtifactError: The bytes hold no value of the artifact's type.
    """
    try:
        if artifact.kind == "text":
            return content.decode("utf-8")  # type: ignore[return-value]
        if artifact.kind == "jsonl":
            adapter = _line_adapter(artifact)
            return [adapter.validate_json(line) for line in content.splitlines()]  # type: ignore[return-value]
        return _adapter(artifact).validate_json(content)  # type: ignore[no-any-return]
    except UnicodeDecodeError as error:
        raise ArtifactError(f"{label!r} is no text: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise ArtifactError(f"{label!r} does not hold what it should: {where}: {first['msg']}") from error


def join_parts(parts: dict[str, bytes], artifact: Artifact[Any]) -> bytes:
    """The content of a joined file, with its keys sorted; `parts` are the encoded values by key."""
    values = {key: from_json(part) for key, part in sorted(parts.items())}
    return to_json(list(values.values()) if artifact.listed_by else values, indent=1) + b"\n"


def split_parts(content: bytes, artifact: Artifact[Any]) -> dict[str, bytes]:
    """The encoded values of a joined file by key. Raises ArtifactError if the content is no such file."""
    try:
        value: Json = from_json(content)
    except ValueError as error:
        raise ArtifactError(f"{artifact.pattern!r} is not JSON: {error}") from error
    if artifact.listed_by and isinstance(value, list):
        rows = [row for row in value if isinstance(row, dict)]
        return {str(row.get(artifact.listed_by)): to_json(row) for row in rows}
    if artifact.listed_by or not isinstance(value, dict):
        raise ArtifactError(f"{artifact.pattern!r} should be a JSON {'list' if artifact.listed_by else 'object'}")
    return {key: to_json(part) for key, part in value.items()}


@cache
def _adapter(artifact: Artifact[Any]) -> TypeAdapter[Any]:
    return TypeAdapter(artifact.returns)


@cache
def _line_adapter(artifact: Artifact[Any]) -> TypeAdapter[Any]:
    (line,) = artifact.returns.__args__
    return TypeAdapter(line)


class JoinedFiles:
    """The joined files of one outputs folder.

    A file that is as it was last written adds nothing to its parts. If somebody changed the file, each changed key
    counts as a changed output. A missing file is joined again, and a missing part is taken from an unchanged file.
    """

    def __init__(self, store: Store, manifest: Manifest, *, read_only: bool = False) -> None:
        self._store = store
        self._manifest = manifest
        self._read_only = read_only
        self._edited: dict[str, dict[str, str] | None] = {}

    def is_intact(self, artifact: Artifact[Any], output: ItemOutput) -> bool:
        """Whether a value is what its item wrote, in the file and apart. A missing part is restored."""
        edited = self._edited_values(artifact)
        if edited is not None and edited.get(output.key) != output.digest:
            return False
        return is_unchanged(self._store, output) or self._restore(artifact, output)

    def write(self, artifact: Artifact[Any], step: str, outputs: list[ItemOutput]) -> None:
        """Write the file, unless it exists and holds just these values."""
        if self.is_written(artifact, step, outputs):
            return
        content = join_parts({output.key: self._store.read(output.path) for output in outputs}, artifact)
        stamp = self._store.write(artifact.pattern, content)
        self._edited[artifact.pattern] = None
        self._manifest.put_joined(
            JoinedFile(
                step=step,
                path=artifact.pattern,
                digest=digest_bytes(content),
                size=stamp.size,
                mtime_ns=stamp.mtime_ns,
                values=_digests(outputs),
            )
        )

    def is_written(self, artifact: Artifact[Any], step: str, outputs: list[ItemOutput]) -> bool:
        """Whether the file exists and holds just these values."""
        last = self._manifest.joined(artifact.pattern)
        return last is not None and last.values == _digests(outputs) and last.step == step and self._is_untouched(last)

    def remove(self, artifact: Artifact[Any]) -> None:
        """Remove the file and its record."""
        self._store.remove(artifact.pattern)
        self._manifest.forget_joined(artifact.pattern)
        self._edited.pop(artifact.pattern, None)

    def _edited_values(self, artifact: Artifact[Any]) -> dict[str, str] | None:
        """The digests of the values, by key, in a file that somebody changed. None for an unchanged or missing file."""
        if artifact.pattern not in self._edited:
            self._edited[artifact.pattern] = self._read_edited(artifact)
        return self._edited[artifact.pattern]

    def _read_edited(self, artifact: Artifact[Any]) -> dict[str, str] | None:
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


def _digests(outputs: list[ItemOutput]) -> dict[str, str]:
    return {output.key: output.digest for output in sorted(outputs, key=lambda output: output.key)}


def is_unchanged(store: Store, output: ItemOutput) -> bool:
    """Whether a file is as it was written: by its size and time of change, else by its digest."""
    try:
        if store.stamp(output.path) == Stamp(output.size, output.mtime_ns):
            return True
        return digest_file(store.file(output.path)) == output.digest
    except ArtifactError:
        return False
