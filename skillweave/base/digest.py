"""Digests: sha256 in hexadecimal, of bytes, of files, and of values as canonical JSON.

Two values have the same digest if and only if their canonical JSON is the same: compact, keys sorted, nothing escaped.
"""

import hashlib
import json
from pathlib import Path

from skillweave.schema.record import Json

_CHUNK = 1 << 20


def digest_bytes(content: bytes) -> str:
    """sha256 of bytes, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def digest_text(text: str) -> str:
    """sha256 of a text as UTF-8. Lone surrogates are encoded, not refused."""
    return digest_bytes(text.encode("utf-8", "surrogatepass"))


def digest_json(value: Json) -> str:
    """sha256 of a value as canonical JSON, whatever the order of its keys."""
    return digest_text(json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False))


def digest_file(path: Path) -> str:
    """sha256 of a file's bytes, which are read in pieces."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
