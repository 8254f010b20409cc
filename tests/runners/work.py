"""Functions that the workers of a cluster are given."""

import os
from pathlib import Path

from skillweave.base.errors import WorldError


def place() -> tuple[str, int]:
    """Where this is called."""
    return str(Path.cwd()), os.getpid()


def refuse(why: str) -> None:
    """Raise an error of ours."""
    raise WorldError(why)


def die() -> None:
    """End the worker."""
    os._exit(1)
