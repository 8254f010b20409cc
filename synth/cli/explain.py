"""`explain`: a task's whole story, and what it, or an artifact, was made from, back to the seeds.

Told from the manifest, which says what each item read, and from the task's own record.
"""

import difflib
import json
import textwrap
from collections.abc import Iterator

from pydantic import ValidationError

from skillweave.base.command import one_line
from skillweave.base.errors import ArtifactError, ConfigError
from skillweave.base.manifest import ItemOutput, ItemRecord, Manifest
from skillweave.base.store import Store
from skillweave.schema.record import Json
from skillweave.schema.task import Task
from skillweave.world.dataset import Dataset, first_fault
from synth.artifacts import BLUEPRINTS, CONTRACTS, QUERIES
from synth.cli.options import PipelineOptions
from synth.cli.task_story import story_of

OPENING = 80
"""Characters of a first message that a list of tasks shows."""
LONGEST = 120
"""Characters of a wrong name that an error repeats."""
NEAREST = 3
"""Names that are offered where there is none of that name."""
OWN = frozenset({BLUEPRINTS.pattern, CONTRACTS.pattern})
"""Artifacts whose keys are worlds."""


def show_lineage(options: PipelineOptions, id: str) -> None:
    """Print it; of a task its whole story first, of a world its tasks. Raises ConfigError where nothing has that id."""
    store = Store(options.folder())
    manifest = Manifest(store)
    tasks_of = {
        one.key: one for record in manifest.items() for one in record.outputs if one.artifact == QUERIES.pattern
    }
    if id in tasks_of:
        _show_tasks(store, tasks_of[id], options)
        return
    made = {output.label: (record, output) for record in manifest.items() for output in record.outputs}
    of_others = frozenset[str]()
    for output, task in _tasks(store, [output for _, output in made.values()]):
        if task.get("id") == id:
            found = _show_story(store, output, task)
            id, of_others = output.label, _worlds(manifest) - {found.world, *found.domains}
            break
    roots = _roots(manifest, made, id)
    if not roots:
        tasks = [str(task.get("id")) for _, task in _tasks(store, [output for _, output in made.values()])]
        raise _unknown(store, id, sorted({*made, *tasks, *(record.name for record in manifest.items())}))
    told: set[str] = set()
    for root in roots:
        for line in _lines(root, made, 0, told, of_others):
            print(line)


def _unknown(store: Store, id: str, known: list[str]) -> ConfigError:
    short = id[:LONGEST]
    alike = [name for name in known if name.startswith(short)]
    nearest = alike[:NEAREST] or difflib.get_close_matches(short, known, n=NEAREST, cutoff=0)
    near = f"the nearest are {', '.join(map(repr, nearest))}" if nearest else "it is empty"
    return ConfigError(f"nothing in {str(store.root)!r} is called {short!r}; {near}")


def _show_story(store: Store, output: ItemOutput, record: dict[str, Json]) -> Task:
    try:
        task = Task.model_validate(record)
    except ValidationError as error:
        raise ArtifactError(f"{output.path!r} holds no such task: {first_fault(error)}; see also: verify") from error
    dataset = Dataset(store.root)
    for line in story_of(task, dataset.blueprint(task.world)):
        print(line)
    print("\nMade by")
    return task


def _show_tasks(store: Store, output: ItemOutput, options: PipelineOptions) -> None:
    """A line for each task of a world."""
    tasks = [task for _, task in _tasks(store, [output])]
    for task in tasks:
        faults = "faults planted" if task.get("noise") else ""
        print(
            one_line(f"{task.get('id')}  {task.get('kind'):11}  {task.get('split'):10}  {faults:14}  {_opening(task)}")
        )
    print(f"{len(tasks)} tasks; the whole story of one: {options.command('explain', 'ID')}")


def _opening(task: dict[str, Json]) -> str:
    """The beginning of the first message, if it has one."""
    messages = task.get("messages")
    first_message = messages[0] if isinstance(messages, list) and messages else None
    content = first_message.get("content") if isinstance(first_message, dict) else None
    return textwrap.shorten(str(content or ""), OPENING, placeholder=" ...")


def _worlds(manifest: Manifest) -> frozenset[str]:
    """Keys of all that is made world by world."""
    return frozenset(output.key for record in manifest.items() for output in record.outputs if output.artifact in OWN)


def _tasks(store: Store, outputs: list[ItemOutput]) -> Iterator[tuple[ItemOutput, dict[str, Json]]]:
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


def _roots(manifest: Manifest, made: dict[str, tuple[ItemRecord, ItemOutput]], id: str) -> list[ItemRecord]:
    """Items that made what is called `id`: a label, a path, a joined file, or `step/key`."""
    found = [record for record, output in made.values() if id in (output.label, output.path, output.artifact)] or [
        record for record in manifest.items() if id in (record.name, f"{record.step.partition('_')[0]}/{record.key}")
    ]
    return list({record.name: record for record in found}.values())


def _lines(
    record: ItemRecord,
    made: dict[str, tuple[ItemRecord, ItemOutput]],
    depth: int,
    told: set[str],
    of_others: frozenset[str] = frozenset(),
) -> Iterator[str]:
    """The item and all that it was made from, but for what is of other worlds."""
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
        if source.key not in of_others:
            yield from _lines(source, made, depth + 1, told, of_others)


def _figures(record: ItemRecord) -> str:
    parts = [f"{name} {value:g}" for name, value in record.figures.items()]
    parts += [f"rejected {count} x {reason}" for reason, count in record.rejected.items()]
    return f" ({'; '.join(parts)})" if parts else ""
