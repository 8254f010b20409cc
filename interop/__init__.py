"""What leaves the project: datasets that trainers load, and environments that trainers and agents connect to.

`interop.environment("outputs")` is the environment on which all servers and framework classes stand. Importing this
package loads nothing else.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from interop.in_process import Environment

__all__ = ["environment"]


def environment(outputs: "str | Path", **options: Any) -> "Environment":
    """An environment on the tasks of an outputs folder. For the options see `interop.in_process.Environment`."""
    from interop.in_process import Environment

    return Environment(Path(outputs), **options)
