"""`explain`: a task's whole story, and what it, or an artifact, was made from, back to the seeds.

Told from the manifest, which says what each item read, and from the task's own record.
"""

import difflib
import json
import textwrap
from collections.abc import Iterator

from pydantic import ValidationError

from skillweave.base.command import counted, one_line, plain_number
from skillweave.base.errors import ArtifactError, ConfigError
from skillweave.base.manifest import ItemOutput, ItemRecord, Manifest
from skillweave.base.store import Store
from skillweave.schema.record import Json
from skillweave.schema.task import Task
from skillweave.world.dataset import Dataset, first_fault
from synth.artifacts import BLUEPRINTS, CONTRACTS, QUERIES
from synth.cli.options import PipelineOptions
from synth.cli.task_story import story_of

OPENING_CHARS = 80
"""Characters of a first message that a list of tasks shows."""
ID_CHARS = 120
"""Characters of an unknown id that an error repeats."""
SHOWN_NAMES = 3
"""Similar names that an error offers."""
WORLD_ARTIFACTS = frozenset({BLUEPRINTS.pattern, CONTRACTS.pattern})
"""Artifacts whose keys are worlds."""

Makers = dict[str, tuple[ItemRecord, ItemOutput]]
"""Label of an artifact's value -> the item that wrote it, and the output."""


def show_lineage(options: PipelineOptions, id: str) -> None:
    """Print what something was made from: of a task its whole story first, of a world its tasks.

    Args:
        options: What the command line says; it names the outputs folder.
        id: A task's id, a world, an artifact's label or path, or `step/key` of an item.

    Raises:
        ConfigError: Nothing has that id.
    """
    store = Store(options.folder())
    manifest = Manifest(store)
    makers = {output.label: (record, output) for record in manifest.items() for output in record.outputs}
    outputs = [output for _, output in makers.values()]
    of_world = {output.key: output for output in outputs if output.artifact == QUERIES.pattern}
    if id in of_world:
        _show_tasks(store, of_world[id], options)
        return
    other_worlds = frozenset[str]()
    for output, record in _tasks(store, outputs):
        if record.get("id") == id:
            task = _show_story(store, output, record)
            id, other_worlds = output.label, _worlds(manifest) - {task.world, *task.domains}
            break
    roots = _roots(manifest, makers, id)
    if not roots:
        tasks = [str(record.get("id")) for _, record in _tasks(store, outputs)]
        raise _unknown(store, id, sorted({*makers, *tasks, *(record.name for record in manifest.items())}))
    shown: set[str] = set()
    for root in roots:
        for line in _lines(root, makers, 0, shown, other_worlds):
            print(line)


def _unknown(store: Store, id: str, known: list[str]) -> ConfigError:
    short = id[:ID_CHARS]
    longer = [name for name in known if name.startswith(short)]
    nearest = longer[:SHOWN_NAMES] or difflib.get_close_matches(short, known, n=SHOWN_NAMES, cutoff=0)
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
    """Print a line for each task of a world."""
    tasks = [task for _, task in _tasks(store, [output])]
    for task in tasks:
        faults = "faults planted" if task.get("noise") else ""
        print(
            one_line(f"{task.get('id')}  {task.get('kind'):11}  {task.get('split'):10}  {faults:14}  {_opening(task)}")
        )
    first = str(tasks[0].get("id")) if tasks else "ID"
    print(f"{counted(len(tasks), 'task')}; next, the whole story of one: {options.command('explain', first)}")


def _opening(task: dict[str, Json]) -> str:
    """The beginning of the first message, if it has one."""
    messages = task.get("messages")
    first_message = messages[0] if isinstance(messages, list) and messages else None
    content = first_message.get("content") if isinstance(first_message, dict) else None
    return textwrap.shorten(str(content or ""), OPENING_CHARS, placeholder=" ...")


def _worlds(manifest: Manifest) -> frozenset[str]:
    """The names of all worlds."""
    outputs = [output for record in manifest.items() for output in record.outputs]
    return frozenset(output.key for output in outputs if output.artifact in WORLD_ARTIFACTS)


def _tasks(store: Store, outputs: list[ItemOutput]) -> Iterator[tuple[ItemOutput, dict[str, Json]]]:
    for output in outputs:
        if output.artifact == QUERIES.pattern and store.exists(output.path):
            for number, line in enumerate(store.read(output.path).splitlines(), start=1):
                yield output, _task(f"{output.path}, line {number}", line)


def _task(label: str, line: bytes) -> dict[str, Json]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ArtifactError(f"{label!r} is not JSON: {error}; see what else changed with: verify") from error
    if not isinstance(value, dict):
        raise ArtifactError(f"{label!r} is no task, but {str(value)[:40]!r}; see what else changed with: verify")
    return value


def _roots(manifest: Manifest, makers: Makers, id: str) -> list[ItemRecord]:
    """The items that made what is called `id`: a label, a path, a joined file, or `step/key`."""
    records = [record for record, output in makers.values() if id in (output.label, output.path, output.artifact)] or [
        record for record in manifest.items() if id in (record.name, f"{record.step.partition('_')[0]}/{record.key}")
    ]
    return list({record.name: record for record in records}.values())


def _lines(
    record: ItemRecord, makers: Makers, depth: int, shown: set[str], other_worlds: frozenset[str]
) -> Iterator[str]:
    """An item and everything that it was made from, indented by depth.

    Args:
        record: The item's record.
        makers: Who made what.
        depth: How far the item is from the root.
        shown: Names of items that were shown before; they are named again, and not followed.
        other_worlds: Keys of items that are left out.
    """
    indent = "  " * (depth + 1)
    answered = {asking.author for asking in record.askings if asking.answered}
    author = ", ".join(sorted(answered or {name.partition("#")[0] for name in record.authors.values()}))
    by = f" by {author}" if author else ""
    is_repeated = record.name in shown
    yield f"{'  ' * depth}{record.name}: {record.state}{by}{' (above)' if is_repeated else _figures(record)}"
    if is_repeated:
        return
    shown.add(record.name)
    yield from (f"{indent}because {reason}" for reason in record.reasons)
    yield from (f"{indent}{label}" for label in sorted(record.reads) if label not in makers)
    sources = {makers[label][0].name: makers[label][0] for label in record.reads if label in makers}
    for _, source in sorted(sources.items()):
        if source.key not in other_worlds:
            yield from _lines(source, makers, depth + 1, shown, other_worlds)


def _figures(record: ItemRecord) -> str:
    parts = [f"{name} {plain_number(value)}" for name, value in record.figures.items()]
    parts += [f"rejected {count} x {reason}" for reason, count in record.rejected.items()]
    return f" ({'; '.join(parts)})" if parts else ""
