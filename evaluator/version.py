"""The version of the checks: a number that people raise, and the digest of the code that scores."""

from pathlib import Path

from skillweave.code import CodeIndex
from skillweave.digest import digest_json

VERSION = "1"
"""Raised where a check is meant to say something else than before."""


def checks_version(cache_file: Path | None = None) -> str:
    """`1-3f2a9c1e`: equal only where the same trajectory gets the same result. Docstrings and comments do not count."""
    index = CodeIndex(("evaluator", "skillweave"), cache_file)
    found = digest_json({**index.closure("evaluator.evaluate")})
    index.save()
    return f"{VERSION}-{found[:8]}"
