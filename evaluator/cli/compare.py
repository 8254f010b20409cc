"""`compare`: agents against each other, task by task."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from evaluator.compare import Sides, compare, show_comparison, sides_of
from evaluator.results import results_in
from skillweave.command import one_line
from skillweave.errors import ConfigError
from skillweave.schema.comparison import Comparisons
from skillweave.store import Store


def run_compare(a: Path, b: Path | None, output: Path | None, agents: Sequence[str]) -> int:
    """The exit status. Raises ConfigError."""
    if output is not None and output.suffix != ".json":
        raise ConfigError(f"--output {str(output)!r} must end in .json: it holds the comparison, and no results")
    if len(agents) > 2:
        raise ConfigError(f"--agent is given {len(agents)} times; name one agent, or the two to compare")
    first, second = _sides(a), _sides(b) if b is not None else None
    found = compare(first, second, agents=agents)
    if not found:
        held = sorted({f"{speakers}" for side in (first, second or {}) for speakers in side})
        raise ConfigError(
            f"there are no two sides to compare; the results are of: {one_line('; '.join(held))}. Name two with "
            "--agent A --agent B, or give two folders"
        )
    if not any(one.tasks for one in found):
        raise ConfigError("the two sides have no scored task in common; compare results of one dataset")
    for one in found:
        show_comparison(one, str(a), str(b))
    written = ""
    if output is not None:
        record = Comparisons(comparisons=found)
        Store(output.parent, "evaluation").write(output.name, record.model_dump_json(indent=2).encode() + b"\n")
        written = f"wrote {shlex.quote(str(output))}; "
    print(f"{written}next: python -m evaluator show TASK --rollouts-dir ... --outputs-dir ..., for a task that flipped")
    return 0


def _sides(path: Path) -> Sides:
    found = sides_of(results_in(path))
    if not found:
        raise ConfigError(f"{str(path)!r} holds no results; give a results.jsonl, or the folder that holds it")
    return found
