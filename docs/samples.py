"""Draw tasks by a seed from a finished dataset and print each in full: `python -m docs.samples --outputs outputs`.

Whoever reads ten of them knows what a dataset is worth better than any table can say. Nothing is run: what is printed
is what the files hold.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from random import Random

import skillweave
from docs.task_page import task_section
from skillweave.dataset import Dataset
from skillweave.errors import ConfigError, SkillweaveError

INTRO = """\
# Samples

Made by `python -m docs.samples`: {count} of {total} tasks, drawn with seed {seed}: first tasks of one domain, then
tasks that need several.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit status: 2 where there is no dataset to draw from."""
    parser = argparse.ArgumentParser(prog="python -m docs.samples", description="Print tasks of a dataset in full.")
    parser.add_argument("--outputs", "--outputs-dir", type=Path, default=Path("outputs"), help="a finished dataset")
    parser.add_argument("--seed", type=int, default=1, help="which tasks are drawn")
    parser.add_argument("--count", type=int, default=10, help="how many of one domain")
    parser.add_argument("--cross", type=int, default=5, help="how many of several domains")
    parser.add_argument("--to", type=Path, default=Path(__file__).with_name("samples.md"), help="the page to write")
    given = parser.parse_args(arguments)
    try:
        text = samples(given.outputs, seed=given.seed, count=given.count, cross=given.cross)
    except SkillweaveError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    given.to.write_text(text, "utf-8")
    print(f"wrote {given.to}")
    return 0


def samples(outputs: Path, *, seed: int, count: int, cross: int = 0) -> str:
    """The page. Raises ConfigError where there are no tasks, ArtifactError where a file is missing or damaged."""
    dataset = skillweave.open(outputs)
    ids = sorted(dataset.tasks)
    if not ids:
        raise ConfigError(f"{str(outputs)!r} holds no tasks yet; make them with: python -m synth run")
    fused = {id for world in dataset.tasks.worlds for id in _ids_across(dataset, world)}
    alone = [id for id in ids if id not in fused]
    drawn = sorted(Random(f"{seed}/samples").sample(alone, min(count, len(alone))))
    drawn += sorted(Random(f"{seed}/samples across").sample(sorted(fused), min(cross, len(fused))))
    parts = [INTRO.format(count=len(drawn), total=len(ids), seed=seed)]
    for number, id in enumerate(drawn, start=1):
        task = dataset.tasks[id]
        parts.append(task_section(number, task, [dataset.blueprint(task.world)]))
    return "\n".join(parts)


def _ids_across(dataset: Dataset, world: str) -> list[str]:
    """Ids of a world's tasks, where it is of several domains."""
    tasks = list(dataset.tasks.of(world))
    return [task.id for task in tasks if len(task.domains) > 1]


if __name__ == "__main__":
    sys.exit(main())
