"""`decontaminate`: hold a dataset against files of benchmarks, and write down what they have in common."""

import json
from collections.abc import Sequence
from pathlib import Path

from skillweave.command import one_line
from skillweave.dataset import Dataset
from skillweave.errors import ArtifactError, ConfigError
from skillweave.schema.call import SESSION_TOOLS
from skillweave.schema.diversity import Decontamination
from skillweave.store import Store
from synth.cli.table import show_table
from synth.cli.wording import counted
from synth.diversity.benchmark import Schema, read_benchmark, within
from synth.diversity.decontamination import SHOWN, Comparison

RESULT = "decontamination.json"
FEW = 5
"""Leaks and pairs of tools that are printed."""


def decontaminate(outputs: Path, files: Sequence[Path]) -> int:
    """Print what is in common, and write it to the folder; 0. Raises ConfigError where a file cannot be read."""
    dataset = Dataset(outputs)
    tasks = [task for world in dataset.tasks.worlds for task in dataset.tasks.of(world)]
    if not tasks:
        raise ConfigError(f"{str(outputs)!r} holds no tasks; write some with: python -m synth run")
    comparison = Comparison(tasks, _tools(dataset.store, dataset.tasks.worlds))
    for file in files:
        comparison.add(str(file).encode("utf-8", "backslashreplace").decode(), read_benchmark(file))
    found = comparison.result()
    dataset.store.write(RESULT, f"{found.model_dump_json(indent=2)}\n".encode())
    _show(found)
    print(f"wrote {outputs / RESULT}")
    return 0


def _tools(store: Store, worlds: Sequence[str]) -> dict[str, Schema]:
    """The tools of the single domains, by world and name; that which every world has is left out."""
    found: dict[str, Schema] = {}
    for world in worlds:
        path = f"tool_lists/{world}.json"
        if not store.exists(path):
            continue
        try:
            value = json.loads(store.read(path))
        except (ValueError, RecursionError) as error:
            raise ArtifactError(f"{path!r} is not JSON: {str(error)[:200]}") from error
        schemas = [one for one in within(value) if isinstance(one, Schema)]
        own = (schema for schema in schemas if "__" not in schema.name and schema.name not in SESSION_TOOLS)
        found.update({f"{world}/{schema.name}": schema for schema in own})
    return found


def _show(found: Decontamination) -> None:
    rows = [
        [f"tasks with {length} words in a row in common", str(count), f"{count / found.tasks:.1%}"]
        for length, count in found.shared.items()
    ]
    rows += [
        ["people of the dataset in the files", str(len(found.people)), ""],
        ["email addresses of the dataset in the files", str(len(found.emails)), ""],
    ]
    show_table(["in common", "found", f"of {counted(found.tasks, 'task')}"], rows)
    for path, file in found.files.items():
        print(one_line(f"{path}: {counted(file.texts, 'text')}, {counted(file.tools, 'tool')}"))
    for leak in found.leaks[:FEW]:
        print(one_line(f"{leak.task}: {leak.words!r}, in {leak.file}"))
    for twin in found.twins[:FEW]:
        print(one_line(f"{twin.tool} is nearest to {twin.other}: {twin.similarity:.2f}"))
    hidden = len(found.leaks) - FEW
    if hidden > 0:
        print(f"{hidden}{' or more' if len(found.leaks) == SHOWN else ''} further tasks are in {RESULT}")
