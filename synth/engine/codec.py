"""Codec: the values of artifacts as bytes, and back. The same value always gives the same bytes."""

from functools import cache
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError, from_json, to_json

from skillweave.errors import ArtifactError
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
