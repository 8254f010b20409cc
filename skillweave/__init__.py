"""The base of the three programs: the schema of all nouns, worlds, authors and the store.

`skillweave.open("outputs")` gives a dataset to Python. Importing this package loads nothing else.
"""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skillweave.world.dataset import Dataset

__all__ = ["open"]
__version__ = "0.1.0"


def open(outputs: "str | Path") -> "Dataset":
    """Open the dataset in an outputs folder, finished or still running. Raises ArtifactError if there is none."""
    # Every import of a module in this package runs this file, so it must not load worlds and their libraries.
    from skillweave.world.dataset import Dataset

    return Dataset(Path(outputs))
