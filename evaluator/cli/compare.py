"""`compare`: two sets of results, task by task."""

import shlex
from pathlib import Path

from evaluator.compare import compare, show_comparison
from evaluator.results import results_in
from skillweave.errors import ConfigError
from skillweave.store import Store


def run_compare(a: Path, b: Path, output: Path | None) -> int:
    """The exit status. Raises ConfigError."""
    if output is not None and output.suffix != ".json":
        raise ConfigError(f"--output {str(output)!r} must end in .json: it holds the comparison, and no results")
    for path in (a, b):
        if next(iter(results_in(path)), None) is None:
            raise ConfigError(f"{str(path)!r} holds no results; give a results.jsonl, or the folder that holds it")
    found = compare(results_in(a), results_in(b))
    if not found.tasks:
        raise ConfigError(f"{str(a)!r} and {str(b)!r} have no scored task in common; compare results of one dataset")
    show_comparison(found, str(a), str(b))
    written = ""
    if output is not None:
        Store(output.parent, "evaluation").write(output.name, found.model_dump_json(indent=2).encode() + b"\n")
        written = f"wrote {shlex.quote(str(output))}; "
    print(f"{written}next: python -m evaluator show TASK --rollouts-dir ... --outputs-dir ..., for a task that flipped")
    return 0
