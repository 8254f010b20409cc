"""The command `learn evolve`: the first set, then iteration after iteration. A killed run goes on where it was."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaluator.replay.rollouts import find_rollouts
from learn.config import LearnConfig
from learn.evolve.history import HISTORY, PAGE, history_of, write_history
from learn.evolve.iteration import IterationPlace, prepare_first, run_iteration
from learn.evolve.settings import EvolveSetup, completed, config_of, fix_settings, missing_torch
from learn.evolve.tasks import TaskSets, apart, task_sets
from learn.forecast import PlannedTalks, show_planned
from rollout.forecast import Forecast
from rollout.shards import open_source
from skillweave.base.command import command_line, counted, percent, shell_word
from skillweave.base.store import Store, locked
from skillweave.config.load import load_section
from skillweave.plugins import load_plugins
from skillweave.workers import require_runner
from skillweave.world.dataset import Dataset


@dataclass(frozen=True)
class EvolveOptions:
    """What `learn evolve` is asked for."""

    config: Path
    overrides: tuple[str, ...] = ()
    folder: Path | None = None
    """The folder of the run; None: as the configuration says."""
    is_dry: bool = False
    """Only say what would be held, and what it would take."""


def run_evolve(options: EvolveOptions) -> int:
    """Do what is left to do of a run.

    Returns:
        The exit status.

    Raises:
        ConfigError: The configuration cannot work, or the folder belongs to another one.
        ArtifactError: The dataset or the folder cannot be read.
        SkillweaveError: The trainer failed, or something is owed.
    """
    config = load_section(LearnConfig, options.config, options.overrides)
    load_plugins(config.plugins)
    require_runner(config.execution)
    config = completed(config, is_dry=options.is_dry)
    store = Store(options.folder or Path(config.evolve.folder), "evolve", option="--folder")
    store.refuse_other_than_folder()
    setup = EvolveSetup(config, store, Dataset(Path(config.outputs_dir)))
    sets = task_sets(setup.dataset, config.evolve)
    if config.evolve.first is not None:
        # A wrong name is told before the folder is fixed to it.
        find_rollouts(Path(config.evolve.first))
    if options.is_dry:
        _show_dry_run(setup, sets)
        return 0
    store.prepare()
    with locked(store):
        store.clean()
        fix_settings(setup)
        sets = prepare_first(setup, sets)
        is_apart = apart(setup.dataset, sets)
        _say_sets(sets, is_apart)
        for number in range(config.evolve.iterations + 1):
            run_iteration(setup, sets, number)
            history = history_of(setup, is_apart, number)
            write_history(setup, history, _commands(setup, number))
            _say_iteration(history[-1])
    traces = _commands(setup, config.evolve.iterations)[0]
    print(f"wrote {shell_word(store.root / HISTORY)} and {PAGE}; next: {traces}")
    return 0


def _show_dry_run(setup: EvolveSetup, sets: TaskSets) -> None:
    evolve = setup.config.evolve
    config = config_of(setup, evolve.agent)
    trained = 1 + evolve.iterations * (2 if evolve.control else 1)
    planned = [
        PlannedTalks("explore with each iteration's model", sets.explore, evolve.iterations * evolve.trials),
        PlannedTalks("evaluate each model on what is held out", sets.held_out, trained * evolve.evaluation_trials),
    ]
    source, missing_keys = open_source(config, has_model=False)
    notes = [
        f"{counted(len(sets.seed), 'task')} to begin with, held by the scripted oracle; {trained} models are trained"
    ]
    if lack := missing_torch(evolve.trainer):
        notes.append(f"before the run: {lack}")
    show_planned(Forecast(config, source), planned, notes, missing_keys)


def _say_sets(sets: TaskSets, is_apart: Mapping[str, bool]) -> None:
    new = sum(is_apart.values())
    print(
        f"{counted(len(sets.seed), 'task')} to begin with, {len(sets.explore):,} to explore, {len(sets.held_out):,} "
        f"held out; of these {new:,} in domains of which no other task is",
        flush=True,
    )


def _say_iteration(entry: Mapping[str, Any]) -> None:
    held_out, control, kept = entry["held_out"], entry["control"], entry["kept"]
    share = f"{held_out['passed']:g} of {held_out['scored']} held-out tasks passed"
    words = [f"{share} ({percent(held_out['low'])} to {percent(held_out['high'])})" if held_out["scored"] else share]
    if kept is not None:
        words.append(f"{kept['trajectories']} conversations kept, of {counted(kept['tasks'], 'task')}")
    if control is not None:
        words.append(f"the first set alone: {control['passed']:g} of {control['scored']}")
    print(f"iteration {entry['iteration']}: {'; '.join(words)}", flush=True)


def _commands(setup: EvolveSetup, last: int) -> Sequence[str]:
    """What to do next, after so many iterations."""
    root, outputs = setup.store.root, setup.outputs

    def at(number: int, name: str) -> Path:
        return root / IterationPlace(number).folder / name

    held_out, results = "held_out", "results.jsonl"
    to: list[str | Path] = ["--to", root / "traces", "--outputs", outputs]
    of_last: list[str | Path] = ["--rollouts-dir", at(last, held_out), "--outputs-dir", outputs]
    return [
        command_line("learn", "traces", at(0, held_out), at(last, held_out), *to),
        command_line("evaluator", "compare", at(0, results), at(last, results)),
        command_line("evaluator", "show", "ID", *of_last),
    ]
