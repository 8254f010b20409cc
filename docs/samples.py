"""Draw tasks by a seed from a finished dataset and print each in full: `python -m docs.samples --outputs outputs`.

Whoever reads ten of them knows what a dataset is worth better than any table can say. Nothing is run: what is printed
is what the files hold.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from random import Random

from pydantic import TypeAdapter, ValidationError

from docs.task_page import task_section
from skillweave.errors import ArtifactError, ConfigError, SkillweaveError
from skillweave.schema.blueprint import Blueprint
from skillweave.schema.task import Task
from skillweave.store import Store

BLUEPRINTS = "blueprints.json"
QUERIES = "queries"
INTRO = """\
# Samples

Made by `python -m docs.samples`: {count} of {total} tasks, drawn with seed {seed}.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit status: 2 where there is no dataset to draw from."""
    parser = argparse.ArgumentParser(prog="python -m docs.samples", description="Print tasks of a dataset in full.")
    parser.add_argument("--outputs", "--outputs-dir", type=Path, default=Path("outputs"), help="a finished dataset")
    parser.add_argument("--seed", type=int, default=1, help="which tasks are drawn")
    parser.add_argument("--count", type=int, default=10, help="how many")
    parser.add_argument("--to", type=Path, default=Path(__file__).with_name("samples.md"), help="the page to write")
    given = parser.parse_args(arguments)
    try:
        text = samples(given.outputs, seed=given.seed, count=given.count)
    except SkillweaveError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    given.to.write_text(text, "utf-8")
    print(f"wrote {given.to}")
    return 0


def samples(outputs: Path, *, seed: int, count: int) -> str:
    """The page. Raises ConfigError where there are no tasks, ArtifactError where a file is damaged."""
    store = Store(outputs)
    places = _places(store)
    if not places:
        raise ConfigError(f"{str(outputs)!r} holds no {QUERIES}/*.jsonl; make them with: python -m synth run")
    drawn = sorted(Random(f"{seed}/samples").sample(places, min(count, len(places))))
    blueprints = {blueprint.server: blueprint for blueprint in _blueprints(store)}
    parts = [INTRO.format(count=len(drawn), total=len(places), seed=seed)]
    for number, (path, line) in enumerate(drawn, start=1):
        task = _task(store, path, line)
        parts.append(task_section(number, task, [blueprints[name] for name in task.domains if name in blueprints]))
    return "\n".join(parts)


def _places(store: Store) -> list[tuple[str, int]]:
    """Every task, by file and line, sorted."""
    folder = store.root / QUERIES
    names = sorted(path.name for path in folder.glob("*.jsonl")) if folder.is_dir() else []
    return [
        (f"{QUERIES}/{name}", line)
        for name in names
        for line in range(len(store.read(f"{QUERIES}/{name}").splitlines()))
    ]


def _task(store: Store, path: str, line: int) -> Task:
    try:
        return Task.model_validate_json(store.read(path).splitlines()[line])
    except ValidationError as error:
        raise ArtifactError(f"line {line + 1} of {path!r} is no task: {error.errors()[0]['msg']}") from error


def _blueprints(store: Store) -> list[Blueprint]:
    try:
        return TypeAdapter(list[Blueprint]).validate_json(store.read(BLUEPRINTS))
    except ValidationError as error:
        raise ArtifactError(f"{BLUEPRINTS!r} is no list of blueprints: {error.errors()[0]['msg']}") from error


if __name__ == "__main__":
    sys.exit(main())
