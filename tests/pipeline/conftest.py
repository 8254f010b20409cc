"""A copy of the small dataset whose artifacts may be edited."""

from pathlib import Path

import pytest

from tests.pipeline.downstream import Downstream
from tests.shared import copied


@pytest.fixture
def line(small: Path, tmp_path: Path) -> Downstream:
    """Steps that can be run again on edited artifacts."""
    return Downstream(copied(small, tmp_path / "outputs"))
