"""`status` and `list-steps`: what there is, from the manifest and the steps' declarations."""

from collections import Counter
from typing import Any

from skillweave.config.models import TaskMode
from skillweave.manifest import ItemRecord, Manifest
from skillweave.store import Store
from synth.artifacts import Every
from synth.cli.place import Options, Place
from synth.cli.table import show_table
from synth.engine.pipeline import load_pipeline
from synth.step import Step


def show_status(place: Place, options: Options) -> None:
    """Print a row for each step."""
    config = options.load()
    manifest = Manifest(Store(options.folder()))
    steps = load_pipeline(place.package).restricted(config.task_mode).steps
    header = ["step", "state", "done", "rejected", "failed", "skipped", "seconds", "tokens", "cost"]
    show_table(header, [_row(step, manifest.items(step.name)) for step in steps])
    print(f"read from {config.outputs_dir}; next: {options.command('run', '--dry-run')}")


def show_steps(place: Place, mode: TaskMode) -> None:
    """Print each step with what it reads and writes."""
    steps = load_pipeline(place.package).restricted(mode).steps
    for step in steps:
        print(f"{step.name}: {step.title}")
        print(f"    reads  {', '.join(_reads(step)) or 'domains.seeds'}")
        print(f"    writes {', '.join(artifact.pattern for artifact in (*step.writes, *step.join_writes))}")


def _row(step: Step[Any], records: list[ItemRecord]) -> list[str]:
    states = Counter(record.state for record in records)
    tokens = sum(record.input_tokens + record.output_tokens for record in records)
    cost = sum(record.cost_usd for record in records)
    return [
        step.name,
        _state(states),
        *(str(states[state]) for state in ("done", "rejected", "failed", "skipped")),
        f"{sum(record.seconds for record in records):.1f}",
        str(tokens),
        f"${cost:.2f}",
    ]


def _state(states: "Counter[Any]") -> str:
    if not states:
        return "not run"
    return "failed" if states["failed"] else "done" if states["done"] else "nothing made"


def _reads(step: Step[Any]) -> list[str]:
    reads = [read.artifact if isinstance(read, Every) else read for read in step.reads]
    return list(dict.fromkeys(artifact.pattern for artifact in [*step.listed, *reads]))
