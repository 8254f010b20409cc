"""The process pool."""

import asyncio
import os
from pathlib import Path

import pytest

from skillweave.workers import ProcessPool


def die_once(marker: str) -> int:
    """End the process, the first time."""
    if not Path(marker).exists():
        Path(marker).write_text("")
        os._exit(1)
    return os.getpid()


def fail() -> None:
    raise ValueError("as it should")


def test_a_process_that_dies_costs_one_more_try(tmp_path: Path) -> None:
    pool = ProcessPool(1, tmp_path / "temporary")
    try:
        assert asyncio.run(pool.call(die_once, str(tmp_path / "marker"))) != os.getpid()
        with pytest.raises(ValueError, match="as it should"):
            asyncio.run(pool.call(fail))
    finally:
        pool.close()
