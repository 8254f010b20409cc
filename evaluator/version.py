"""The version of the checks: a number that people raise, and the digest of the code that scores."""

from collections.abc import Sequence
from pathlib import Path

from skillweave.code import CodeIndex
from skillweave.digest import digest_json

VERSION = "1"
"""Raised where a check is meant to say something else than before."""


def checks_version(settings: Sequence[str] = (), cache_file: Path | None = None) -> str:
    """`1-3f2a9c1e`, and the settings that change scores: equal only where the same trajectory gets the same result.

    Docstrings and comments do not count.
    """
    index = CodeIndex(("evaluator", "skillweave"), cache_file)
    found = digest_json({**index.closure("evaluator.evaluate")})
    index.save()
    return "+".join([f"{VERSION}-{found[:8]}", *settings])
