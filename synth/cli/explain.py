"""`explain`: what a task or an artifact was made from, back to the seeds.

Told from the manifest, which says what each item read, and from the task's own record.
"""

import difflib
import json
from collections.abc import Iterator

from skillweave.errors import ArtifactError, ConfigError
from skillweave.manifest import ItemRecord, Manifest, Output
from skillweave.schema.record import Json
from skillweave.store import Store
from synth.artifacts import QUERIES
from synth.cli.place import Options, Place

NEAREST = 3
"""Names that are offered where there is none of that name."""
TOLD = ("kind", "world", "domains", "split", "lineage", "gates", "difficulty")
"""Fields of a task that say where it comes from and what was proven."""


def show_lineage(place: Place, options: Options, id: str) -> None:
    """Print it. Raises ConfigError where nothing has that id."""
    store = Store(options.folder())
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
        tasks = [str(task.get("id")) for _, task in _tasks(store, [output for _, output in made.values()])]
        known = sorted({*made, *tasks, *(record.name for record in manifest.items())})
        near = ", ".join(map(repr, difflib.get_close_matches(id, known, n=NEAREST, cutoff=0)))
        raise ConfigError(
            f"nothing in {str(store.root)!r} is called {id!r}; {f'the nearest are {near}' if near else 'it is empty'}"
        )
    told: set[str] = set()
    for root in roots:
        for line in _lines(root, made, 0, told):
            print(line)


def _tasks(store: Store, outputs: list[Output]) -> Iterator[tuple[Output, dict[str, Json]]]:
    for output in outputs:
        if output.artifact == QUERIES.pattern and store.exists(output.path):
            for number, line in enumerate(store.read(output.path).splitlines(), start=1):
                yield output, _task(f"{output.path}, line {number}", line)


def _task(label: str, line: bytes) -> dict[str, Json]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ArtifactError(f"{label!r} is not JSON: {error}; see what else changed with: verify") from error
    if not isinstance(found, dict):
        raise ArtifactError(f"{label!r} is no task, but {str(found)[:40]!r}; see what else changed with: verify")
    return found


def _roots(manifest: Manifest, made: dict[str, tuple[ItemRecord, Output]], id: str) -> list[ItemRecord]:
    """Items that made what is called `id`: a label, a path, a joined file, or `step/key`."""
    found = [record for record, output in made.values() if id in (output.label, output.path, output.artifact)] or [
        record for record in manifest.items() if id in (record.name, f"{record.step.partition('_')[0]}/{record.key}")
    ]
    return list({record.name: record for record in found}.values())


def _lines(record: ItemRecord, made: dict[str, tuple[ItemRecord, Output]], depth: int, told: set[str]) -> Iterator[str]:
    answered = {asking.author for asking in record.askings if asking.answered}
    author = ", ".join(sorted(answered or {name.partition("#")[0] for name in record.authors.values()}))
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
