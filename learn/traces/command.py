"""The command `learn traces`: score two rollouts folders, write what changed, and say it in a few lines."""

import shutil
from collections.abc import Iterator
from pathlib import Path

from interop.export.scores import OWN_RESULTS, open_scorer
from learn.traces.change import by_class, figures_of, groups_of
from learn.traces.figures import PASSED, TraceFigures, TraceSide
from learn.traces.page import measures_of, traces_page
from learn.traces.side import require_one_run, scored_folder
from skillweave.base.command import counted, one_line, percent, shell_word
from skillweave.base.errors import ConfigError
from skillweave.base.store import CACHE, Store, locked
from skillweave.config.sections import Config
from skillweave.schema.task import Split

FIGURES = "traces.json"
PAGE = "traces.html"
CODE = f"{CACHE}/code.json"
OWN_CACHE = {"code.json", "lock", "results.jsonl", "tmp"}
"""Names in the cache that an analysis makes."""
MOST_NAMED = 3
"""Tools, classes and groups that one line names."""
LONGEST_LINE = 220
"""Characters of a printed line."""


def run_traces(before: Path, after: Path, outputs: Path, to: Path, split: Split | None = None) -> int:
    """Compare two rollouts folders, print the summary, and return the exit status.

    Raises:
        ConfigError: A folder is empty, holds several agents, or has no scored task in common with the other.
        ArtifactError: The dataset or a file cannot be read or written.
    """
    figures = write_traces(before, after, outputs, to, split=split)
    for line in summary_lines(figures):
        shown = one_line(line)
        print(shown if len(shown) <= LONGEST_LINE else f"{shown[: LONGEST_LINE - 1]}…")
    print(f"wrote {PAGE}, for a browser, and {FIGURES} in {shell_word(to)}; next: cat {shell_word(to / FIGURES)}")
    return 0


def write_traces(
    before: Path,
    after: Path,
    outputs: Path,
    to: Path,
    *,
    title_before: str = "before",
    title_after: str = "after",
    split: Split | None = None,
    seed: int = 0,
    config: Config | None = None,
) -> TraceFigures:
    """Score the trajectories of two rollouts folders of one dataset, and write `traces.json` and `traces.html`.

    Args:
        before: The rollouts folder of before.
        after: The rollouts folder of after.
        outputs: The dataset.
        to: The folder to write to.
        title_before: What the page calls the first side.
        title_after: What the page calls the second side.
        split: Only tasks of this split; None: all.
        seed: Seeds the resamples of the interval.
        config: The configuration, with `outputs` in it; None: `config.yaml`, if it is there.

    Raises:
        ConfigError: A folder is empty, holds several agents, or has no scored task in common with the other.
        ArtifactError: The dataset or a file cannot be read or written.
    """
    store = Store(to, "traces", option="--to")
    store.refuse_other_than_folder()
    for rollouts in (before, after):
        require_one_run(rollouts)
    _refuse_others_folder(to)
    store.prepare()
    with locked(store):
        store.clean()
        scorer = open_scorer(outputs, before, None, store.path(CODE), config)
        first = scored_folder(title_before, before, scorer, store, split)
        second = scored_folder(title_after, after, scorer, store, split)
        figures = figures_of(first, second, seed=seed)
        store.write(PAGE, traces_page(figures, first, second))
        store.write(FIGURES, figures.model_dump_json(indent=2).encode() + b"\n")
        _tidy(store)
    return figures


def _refuse_others_folder(to: Path) -> None:
    """Raise ConfigError if the folder to write to holds something else already."""
    others = [] if not to.is_dir() else sorted(path.name for path in to.iterdir() if not path.name.startswith("."))
    if others and not {FIGURES, PAGE} & {*others}:
        raise ConfigError(f"{str(to)!r} holds {others[0]!r} and no traces; give a new or empty folder with --to")


def _tidy(store: Store) -> None:
    """Remove what was kept for a killed analysis. What others keep in the folder stays: `to` may be that of a run."""
    if {path.name for path in (store.root / CACHE).iterdir()} <= OWN_CACHE:
        shutil.rmtree(store.root / CACHE, ignore_errors=True)
    else:
        for name in (OWN_RESULTS, CODE):
            store.path(name).unlink(missing_ok=True)


def summary_lines(figures: TraceFigures) -> Iterator[str]:
    """What changed, in a few lines for the terminal."""
    passes, tasks = figures.passes, figures.tasks
    yield f"{_name(figures.before)}; {_name(figures.after)}"
    if passes.rate_a is not None and passes.rate_b is not None and passes.p is not None:
        yield (
            f"{counted(passes.tasks, 'task')}: {percent(passes.rate_a)} -> {percent(passes.rate_b)} passed; difference "
            f"{_points(passes.difference)} points [{_points(passes.low)}, {_points(passes.high)}], p = {passes.p:.2g}"
        )
    yield f"{len(tasks.gained)} gained, {len(tasks.lost)} lost, {tasks.kept} kept, {tasks.failing} still failing"
    measures = measures_of(figures.before.calls, figures.after.calls)
    named = ("calls", "messages of the agent", "calls that failed", "malformed calls")
    yield "; ".join(f"{words} {measures[words].before} -> {measures[words].after}" for words in named)
    tools = [f"{one.tool} {one.before:.2f} -> {one.after:.2f}" for one in figures.tools if one.difference]
    yield f"calls a trajectory: {_some(tools)}"
    yield f"failures: {_some(_failures(figures))}"
    yield f"tasks passed: {_some(_groups(figures))}"
    left_out = [*_left_out(figures)]
    if left_out:
        yield f"left out: {'; '.join(left_out)}"


def _name(side: TraceSide) -> str:
    return f"{side.title}: {side.agent} with {side.user}, {side.scored:,} of {side.trajectories:,} trajectories scored"


def _points(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:+.1f}"


def _some(notes: list[str]) -> str:
    more = len(notes) - MOST_NAMED
    return "; ".join([*notes[:MOST_NAMED], *([f"{more} more changed"] if more > 0 else [])]) or "nothing changed"


def _failures(figures: TraceFigures) -> list[str]:
    """The classes whose number changed, the largest changes first."""
    classes = [(name, *counts) for name, counts in by_class(figures.outcomes).items() if name != PASSED]
    changed = [one for one in classes if one[1] != one[2]]
    return [f"{name} {a} -> {b}" for name, a, b in sorted(changed, key=lambda one: (-abs(one[2] - one[1]), one[0]))]


def _groups(figures: TraceFigures) -> list[str]:
    """The worlds, kinds, forms and levels whose rate changed, the largest changes first."""
    every = [(trait, value, group) for trait, values in groups_of(figures).items() for value, group in values.items()]
    changed = [one for one in every if one[2].rate_a != one[2].rate_b]
    ordered = sorted(changed, key=lambda one: -abs(one[2].rate_b - one[2].rate_a))
    return [f"{trait} {value} {percent(group.rate_a)} -> {percent(group.rate_b)}" for trait, value, group in ordered]


def _left_out(figures: TraceFigures) -> Iterator[str]:
    for side, only in ((figures.before, figures.passes.only_a), (figures.after, figures.passes.only_b)):
        if only:
            yield f"{counted(only, 'task')} only {side.title}"
        for kind, count in side.not_scored.items():
            yield f"{count} of {side.title} not scored ({kind})"
        if side.unreadable_lines:
            yield f"{counted(side.unreadable_lines, 'line')} of {side.title}: {side.unreadable[0]}"
