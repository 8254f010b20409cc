"""Print the options of `interop export` that hold domains out: `python recipes/grpo/held_out.py OUTPUTS DOMAIN ...`.

A world of several companies is left out if one of its companies is of a domain that is held out.
"""

import shlex
import sys
from pathlib import Path

from skillweave.world.dataset import Dataset


def main() -> None:
    """Print one condition for each world that is left out."""
    outputs, held_out = Path(sys.argv[1]), {*sys.argv[2:]}
    worlds = Dataset(outputs).worlds
    unknown = held_out - {domain for world in worlds for domain in world.split("__")}
    if unknown:
        sys.exit(f"no world has the domains {', '.join(sorted(unknown))}; the worlds are {', '.join(worlds)}")
    left_out = [world for world in worlds if held_out & {*world.split("__")}]
    print(" ".join(f"--where {shlex.quote(f'world!={world}')}" for world in left_out))


if __name__ == "__main__":
    main()
