"""Digests: sha256 in hexadecimal, of bytes, of files, and of values as canonical JSON.

Two values have the same digest iff their canonical JSON is the same: compact, keys sorted, nothing escaped.
"""

import hashlib
import json
from pathlib import Path

from skillweave.schema.record import Json

_CHUNK = 1 << 20


def digest_bytes(content: bytes) -> str:
    """Of the bytes themselves."""
    return hashlib.sha256(content).hexdigest()


def digest_text(text: str) -> str:
    """Of the text as UTF-8; lone surrogates are kept apart rather than refused."""
    return digest_bytes(text.encode("utf-8", "surrogatepass"))


def digest_json(value: Json) -> str:
    """Of a value, whatever the order of its keys."""
    return digest_text(json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False))


def digest_file(path: Path) -> str:
    """Of a file's bytes, read in pieces."""
    found = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            found.update(chunk)
    return found.hexdigest()
