"""Print pass@k of each world before and after training: `python recipes/grpo/by_world.py BEFORE AFTER [DOMAIN ...]`.

BEFORE and AFTER are folders with the evaluator's `summary.json`; worlds of the named domains are marked as held out.
"""

import json
import sys
from pathlib import Path
from typing import Any


def main() -> None:
    """Print a table in Markdown, for the largest k that both have."""
    before, after = (_worlds(Path(folder)) for folder in sys.argv[1:3])
    held_out = {*sys.argv[3:]}
    print("| world | trained on | k | before | after |\n| --- | --- | --- | --- | --- |")
    for world in sorted(before.keys() & after.keys()):
        ks = before[world].keys() & after[world].keys()
        if ks:
            k = max(ks, key=int)
            trained = "no" if held_out & {*world.split("__")} else "yes"
            print(f"| {world} | {trained} | {k} | {_shown(before[world][k])} | {_shown(after[world][k])} |")


def _worlds(folder: Path) -> dict[str, dict[str, Any]]:
    """pass@k of each world. A summary of several agents says nothing of one, so it is refused."""
    agents = json.loads((folder / "summary.json").read_text("utf-8"))["by_agent"]
    if len(agents) != 1:
        sys.exit(f"{folder} has results of {len(agents)} agents; evaluate the rollouts of one")
    return {world: group["pass_at_k"] for world, group in agents[0]["by"]["world"].items()}


def _shown(estimate: dict[str, float]) -> str:
    return f"{estimate['estimate']:.2f} ({estimate['low']:.2f} to {estimate['high']:.2f})"


if __name__ == "__main__":
    main()
