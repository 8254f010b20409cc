"""`explain`: what a task or an artifact was made from, back to the seeds.

Told from the manifest, which says what each item read, and from the task's own record.
"""

import json
from collections.abc import Iterator
from pathlib import Path

from skillweave.config.load import nearest
from skillweave.errors import ConfigError
from skillweave.manifest import ItemRecord, Manifest, Output
from skillweave.schema.record import Json
from skillweave.store import Store
from synth.artifacts import QUERIES
from synth.cli.place import Options, Place

TOLD = ("kind", "world", "domains", "split", "lineage", "gates", "difficulty")
"""Fields of a task that say where it comes from and what was proven."""


def show_lineage(place: Place, options: Options, id: str) -> None:
    """Print it. Raises ConfigError where nothing has that id."""
    store = Store(Path(options.load().outputs_dir))
    manifest = Manifest(store)
    made = {output.label: (record, output) for record in manifest.items() for output in record.outputs}
    for output, task in _tasks(store, [output for _, output in made.values()]):
        if task.get("id") == id:
            print(f"task {id}")
            for name in TOLD:
                print(f"  {name}: {json.dumps(task.get(name), ensure_ascii=False)}")
            id = output.label
            break
    roots = _roots(manifest, made, id)
    if not roots:
        known = [*made, *(record.name for record in manifest.items())]
        raise ConfigError(
            f"nothing in {str(store.root)!r} is called {id!r}; {nearest(id, known) if known else 'it is empty'}"
        )
    told: set[str] = set()
    for root in roots:
        for line in _lines(root, made, 0, told):
            print(line)


def _tasks(store: Store, outputs: list[Output]) -> Iterator[tuple[Output, dict[str, Json]]]:
    for output in outputs:
        if output.artifact == QUERIES.pattern and store.exists(output.path):
            for line in store.read(output.path).splitlines():
                yield output, json.loads(line)


def _roots(manifest: Manifest, made: dict[str, tuple[ItemRecord, Output]], id: str) -> list[ItemRecord]:
    """Items that made what is called `id`: a label, a path, a joined file, or `step/key`."""
    found = [record for record, output in made.values() if id in (output.label, output.path, output.artifact)] or [
        record for record in manifest.items() if id in (record.name, f"{record.step.partition('_')[0]}/{record.key}")
    ]
    return list({record.name: record for record in found}.values())


def _lines(record: ItemRecord, made: dict[str, tuple[ItemRecord, Output]], depth: int, told: set[str]) -> Iterator[str]:
    author = ", ".join(sorted({name.partition("#")[0] for name in record.authors.values()}))
    by = f" by {author}" if author else ""
    seen = record.name in told
    yield f"{'  ' * depth}{record.name}: {record.state}{by}{' (above)' if seen else _figures(record)}"
    if seen:
        return
    told.add(record.name)
    for reason in record.reasons:
        yield f"{'  ' * (depth + 1)}because {reason}"
    sources = {made[label][0].name: made[label][0] for label in record.reads if label in made}
    for label in sorted(record.reads):
        if label in made:
            continue
        yield f"{'  ' * (depth + 1)}{label}"
    for _, source in sorted(sources.items()):
        yield from _lines(source, made, depth + 1, told)


def _figures(record: ItemRecord) -> str:
    parts = [f"{name} {value:g}" for name, value in record.figures.items()]
    parts += [f"rejected {count} x {reason}" for reason, count in record.rejected.items()]
    return f" ({'; '.join(parts)})" if parts else ""
