"""The command `interop export`: what is asked for, which examples that is, and the files that come of it."""

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pydantic_core import from_json

from interop.export.candidates import RolloutFolder, candidates_of, find_folders
from interop.export.card import CARD, ExportFigures, card_of, license_of, sections_of
from interop.export.conditions import ExportCondition, conditions_of
from interop.export.examples import ExampleSpot, ReaderSettings, TrajectorySpot
from interop.export.format import ExportFormat, Row
from interop.export.registry import format_of, module_of
from interop.export.rows import staged_lines
from interop.export.scores import Scorer, open_scorer, results_files
from interop.export.selection import (
    Candidate,
    IndexedTask,
    LeftOutCounts,
    best_of_each,
    indexed_tasks,
    pairs_of,
    spots_of,
    wanted_tasks,
    without_duplicates,
)
from interop.export.writer import StagedFile, file_of, write_rows
from interop.options import ExportOptions
from skillweave.base.code import CodeIndex
from skillweave.base.command import command_line, counted, one_line, shell_word
from skillweave.base.errors import ArtifactError, ConfigError
from skillweave.base.progress import progress
from skillweave.base.store import CACHE, Store, digest_file, digest_json, locked
from skillweave.schema.record import Json
from skillweave.schema.task import Split
from skillweave.world.dataset import Dataset

EXPORT = "export.json"
"""What a folder holds: the request, and the files that were written."""
SELECTION = f"{CACHE}/selection"
"""Digest of the examples that are being staged, and of the code that makes their rows."""
CODE = ("interop", "rollout", "evaluator", "skillweave")
SPLITS: tuple[Split, ...] = ("train", "validation", "test")
SHOWN = 120
"""Characters of a value that an error shows."""


@dataclass
class ExportRun:
    """An export under way."""

    options: ExportOptions
    format: ExportFormat
    dataset: Dataset
    store: Store
    conditions: Sequence[ExportCondition]
    rollouts: Sequence[RolloutFolder] = ()
    scorer: Scorer | None = None
    left_out: LeftOutCounts = field(default_factory=LeftOutCounts)
    figures: ExportFigures = field(default_factory=ExportFigures)
    candidates: dict[TrajectorySpot, Candidate] = field(default_factory=dict)

    @property
    def request(self) -> dict[str, Json]:
        """What decides the bytes of the export, apart from code."""
        options = self.options
        digests = sorted(place.digest.hex() for folder in self.rollouts for place in folder.rollouts.places.values())
        return {
            "format": options.format,
            "split": options.split,
            "where": [str(condition) for condition in self.conditions],
            "per_task": options.per_task,
            "keep_duplicates": options.keep_duplicates,
            "keep_reasoning": options.keep_reasoning,
            "compact": options.compact,
            "dataset": self.dataset.digest,
            "rollouts": digest_json([*digests]) if self.rollouts else None,
            "checks": self.scorer.setup.settings.version if self.scorer else None,
        }


def run_export(options: ExportOptions) -> int:
    """Write an export, or what is missing of it. Returns the exit status.

    Raises:
        ConfigError: An option does not fit, or the folder holds something else.
        ArtifactError: The dataset or the rollouts cannot be read.
    """
    format = format_of(options.format)
    _refuse_options(options, format)
    conditions = conditions_of(options.where, format.takes)
    dataset = Dataset(options.outputs)
    store = Store(options.to, "export", option="--to")
    store.refuse_other_than_folder()
    _refuse_foreign(store)
    # All that is given is looked at before anything is made.
    run = ExportRun(options, format, dataset, store, conditions)
    if options.rollouts:
        print(one_line(f"reading the trajectories in {', '.join(map(str, options.rollouts))}"), flush=True)
        run.rollouts = find_folders(options.rollouts)
        results_files(options.outputs, options.rollouts[0], options.results)
    store.prepare()
    with locked(store):
        store.clean()
        if options.rollouts:
            cache = store.root / CACHE / "code.json"
            run.scorer = open_scorer(options.outputs, options.rollouts[0], options.workers, cache, options.config)
        # The card alone changes with the licence, but it is written with the rest.
        code = digest_json([_code_digest(options.format, store), license_of(dataset.store)])
        known = _known(store)
        try:
            _refuse_other(known, run.request, store)
        except ConfigError:
            if "files" in known:
                shutil.rmtree(store.root / CACHE, ignore_errors=True)
            raise
        if _is_complete(known, code, store):
            print(f"this export is complete already; {_next(store)}")
        else:
            _export(run, known, code)
        shutil.rmtree(store.root / CACHE, ignore_errors=True)
    return 0


def _refuse_options(options: ExportOptions, format: ExportFormat) -> None:
    name = options.format
    if format.takes == "tasks":
        for given, option in (
            (options.rollouts or None, "--rollouts"),
            (options.results, "--results"),
            (options.per_task, "--per-task"),
        ):
            if given is not None:
                raise ConfigError(f"{option} does not fit {name!r}: it is a format of tasks, without trajectories")
    elif not options.rollouts:
        made_by = command_line("rollout", "run", "--outputs-dir", options.outputs, "--rollouts-dir", "rollouts")
        raise ConfigError(
            f"{name!r} is a format of trajectories; give a folder with --rollouts; make one with: {made_by}"
        )


def _refuse_foreign(store: Store) -> None:
    """Raise ConfigError if the folder holds something and is no export."""
    if store.root.is_dir() and not store.exists(EXPORT):
        others = sorted(path.name for path in store.root.iterdir() if path.name != CACHE)
        if others:
            raise ConfigError(
                f"--to {str(store.root)!r} holds {others[0]!r} and no {EXPORT}; give a folder that is new or empty"
            )


def _code_digest(name: str, store: Store) -> str:
    """Digest of the code that makes rows."""
    index = CodeIndex(CODE, store.root / CACHE / "code.json")
    return digest_json({**index.closure("interop.export.command"), **index.closure(module_of(name))})


def _known(store: Store) -> dict[str, Json]:
    """What `export.json` says; empty if there is none."""
    if not store.exists(EXPORT):
        return {}
    try:
        known = from_json(store.read(EXPORT))
    except ValueError as error:
        raise ArtifactError(f"{EXPORT} of {str(store.root)!r} is not JSON; give another folder with --to") from error
    if not isinstance(known, dict) or not isinstance(known.get("request"), dict):
        raise ArtifactError(f"{EXPORT} of {str(store.root)!r} holds no request; give another folder with --to")
    return known


def _refuse_other(known: Mapping[str, Json], request: Mapping[str, Json], store: Store) -> None:
    """Raise ConfigError if the folder holds another export."""
    before = known.get("request")
    for key in request if isinstance(before, dict) else ():
        assert isinstance(before, dict)
        if before.get(key) != request[key]:
            raise ConfigError(
                f"--to {str(store.root)!r} holds another export: {key} is {_short(before.get(key))} there and "
                f"{_short(request[key])} now; give another folder"
            )


def _short(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def _is_complete(known: Mapping[str, Json], code: str, store: Store) -> bool:
    """Whether the same code has finished it, and all files are as they were."""
    files = known.get("files")
    if known.get("code") != code or not isinstance(files, dict):
        return False
    return all(store.exists(name) and digest_file(store.file(name)) == digest for name, digest in files.items())


def _export(run: ExportRun, known: Mapping[str, Json], code: str) -> None:
    """Stage all rows, then write the files. The old files of an export by other code go away."""
    store, before = run.store, known.get("files")
    spots = _spots(run)
    _write_state(store, {"format": "skillweave/1", "request": run.request})
    if isinstance(before, dict):
        for name in before:
            store.remove(name)
    chosen = digest_json(
        [code, {split: [_identity(run, spot) for spot in of_split] for split, of_split in spots.items()}]
    )
    _begin_staging(store, chosen)
    _stage(run, spots)
    digests: dict[str, Json] = {}
    files: dict[str, str] = {}
    for split, of_split in spots.items():
        name = file_of(run.format, split)
        rows, digest = write_rows(store, name, run.format, _rows(run, split, of_split))
        if rows:
            files[split], digests[name] = name, digest
        else:
            store.remove(name)
    if not files:
        raise ConfigError(f"no example fits the format {run.options.format!r}: {_reasons(run.left_out)}")
    for name, text in _companions(run, files).items():
        store.write(name, text.encode())
        digests[name] = digest_file(store.file(name))
    _write_state(store, {"format": "skillweave/1", "request": run.request, "code": code, "files": digests})
    _say(run, files)


def _spots(run: ExportRun) -> dict[Split, list[ExampleSpot]]:
    """The examples of each split, in their order. Raises ConfigError if there are none."""
    tasks = indexed_tasks(run.dataset)
    wanted = wanted_tasks(tasks, run.conditions, run.options.split)
    spots: dict[Split, list[ExampleSpot]] = {}
    for split, spot in _chosen(run, tasks, wanted):
        spots.setdefault(split, []).append(spot)
    if not spots:
        raise ConfigError(
            f"nothing is left to export: {_reasons(run.left_out) or 'no task fulfils --split and --where'}"
        )
    return {split: spots[split] for split in SPLITS if split in spots}


def _chosen(
    run: ExportRun, tasks: Sequence[IndexedTask], wanted: Sequence[IndexedTask]
) -> Iterator[tuple[Split, ExampleSpot]]:
    options = run.options
    if run.scorer is None:
        run.left_out.add("--split or --where", len(tasks) - len(wanted))
        yield from ((task.split, ExampleSpot(task.id, task.index)) for task in wanted)
        return
    candidates = candidates_of(
        run.scorer,
        run.rollouts,
        {task.id: task for task in wanted},
        run.conditions,
        known=frozenset(task.id for task in tasks),
        results=options.results,
        store=run.store,
        left_out=run.left_out,
    )
    if not options.keep_duplicates:
        candidates = without_duplicates(candidates, run.left_out)
    run.candidates = {candidate.spot: candidate for candidate in candidates}
    if run.format.takes == "pairs":
        yield from pairs_of(candidates, options.per_task, run.left_out)
        return
    if options.per_task is not None:
        candidates = best_of_each(candidates, options.per_task, run.left_out)
    yield from spots_of(candidates)


def _identity(run: ExportRun, spot: ExampleSpot) -> Json:
    """What an example is made of, wherever it stands."""
    of = [run.candidates[trajectory] for trajectory in spot.trajectories]
    return [spot.task_id, *(f"{one.id} {one.speakers} {one.reward} {one.digests.hex()}" for one in of)]


def _begin_staging(store: Store, chosen: str) -> None:
    """Keep what is staged only if it is of the same examples and the same code."""
    same = store.exists(SELECTION) and store.read(SELECTION) == chosen.encode()
    if not same:
        for path in (store.root / CACHE).glob("*.partial"):
            path.unlink()
        store.write(SELECTION, chosen.encode())


def _stage(run: ExportRun, spots: Mapping[Split, Sequence[ExampleSpot]]) -> None:
    options = run.options
    settings = ReaderSettings(options.outputs, options.compact, options.keep_reasoning)
    workers = options.workers or (run.scorer.options.execution.workers if run.scorer else 1)
    staged = {split: StagedFile(run.store, split) for split in spots}
    owed = sum(len(of_split) - staged[split].count for split, of_split in spots.items())
    done = 0
    with progress("examples", owed) as bar:
        for split, of_split in spots.items():
            rest = of_split[staged[split].count :]
            for lines in staged_lines(settings, options.format, rest, workers):
                staged[split].append(lines)
                done += len(lines)
                bar.advance(done, split)


def _rows(run: ExportRun, split: Split, spots: Sequence[ExampleSpot]) -> Iterator[Row]:
    """The rows of a split; counts what they are made of."""
    for spot, staged in zip(spots, StagedFile(run.store, split), strict=True):
        if staged.left_out is not None:
            run.left_out.add(staged.left_out)
            continue
        of = [run.candidates[trajectory] for trajectory in spot.trajectories]
        run.figures.add(split, spot.task_id.rpartition("-")[0], spot.task_id, staged, of)
        yield from staged.rows


def _companions(run: ExportRun, files: Mapping[str, str]) -> dict[str, str]:
    """The card, and what the format has beside its data; a format may have a card of its own."""
    license = license_of(run.dataset.store)
    name = run.options.format
    sections = sections_of(name, run.format, run.figures, run.left_out, run.request, files, license)
    card = {CARD: card_of(sections, {} if run.format.under else files, license)}
    return card | dict(run.format.companions([*files], sections) if run.format.companions else {})


def _write_state(store: Store, state: dict[str, Json]) -> None:
    store.write(EXPORT, json.dumps(state, indent=2, ensure_ascii=False).encode() + b"\n")


def _reasons(left_out: LeftOutCounts) -> str:
    return "; ".join(f"{count:,} {reason}" for reason, count in sorted(left_out.by.items()))


def _say(run: ExportRun, files: Mapping[str, str]) -> None:
    for reason, count in sorted(run.left_out.by.items()):
        print(f"  left out: {count:,} ({one_line(reason)})")
    written = ", ".join(f"{file} ({counted(run.figures.rows[split], 'row')})" for split, file in files.items())
    if run.format.use:
        split, file = next(iter(files.items()))
        places = {"folder": run.store.root, "file": run.store.root / file, "outputs": run.options.outputs}
        words = {
            "split": split,
            "interop": command_line("interop"),
            **{name: shell_word(at) for name, at in places.items()},
        }
        print(f"to use it: {run.format.use.format(**words)}")
    print(f"wrote {one_line(written)} and {CARD}, which says how to load it; {_next(run.store)}")


def _next(store: Store) -> str:
    """The command to give next. Trainers load an export, and none of them needs to be installed here."""
    return f"next: cat {shell_word(store.root / CARD)}"
