"""What the three programs stand on: the schema of all nouns, worlds, authors and the store.

`skillweave.open("outputs")` gives a dataset to Python. Importing this package loads nothing else.
"""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skillweave.world.dataset import Dataset

__all__ = ["open"]


def open(outputs: "str | Path") -> "Dataset":
    """The dataset in an outputs folder, finished or still running. ArtifactError where there is none."""
    from skillweave.world.dataset import Dataset

    return Dataset(Path(outputs))
