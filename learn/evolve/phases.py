"""The phases of a run: rollouts, their evaluation, and the choice of what is kept. Each can be killed and goes on.

They are the project's own commands, called in this process. A record names the phases that are finished; none of
these is begun again.
"""

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from evaluator.cli.options import EvaluationOptions
from evaluator.cli.run import run_evaluation
from evaluator.replay.rollouts import find_rollouts
from evaluator.report.results import ResultsFile
from interop.export.command import run_export
from interop.options import ExportOptions
from learn.evolve.settings import EvolveSetup
from learn.evolve.tasks import option_of
from rollout.cli.run import RolloutOptions, owed, run_rollouts
from rollout.folder import RolloutFolder
from skillweave.base.command import counted, one_line
from skillweave.base.errors import ArtifactError, SkillweaveError
from skillweave.base.store import Store
from skillweave.config.sections import Config
from skillweave.llm.budget import SPENDING, spending
from skillweave.schema.result import Result

FORMAT = "openai"
"""The format in which conversations are trained on: messages and tools, a conversation a line."""
SPLITS = ("train", "validation", "test")
"""The files of an export, in the order in which they are joined."""


class PhaseRecord:
    """`record.json`: what came of each finished phase."""

    def __init__(self, store: Store, place: str, what: str) -> None:
        """Read the record, if there is one.

        Args:
            store: The folder of the run.
            place: The record's own folder in it; empty: the run's.
            what: What its phases are of, for the lines that are printed.

        Raises:
            ArtifactError: The record cannot be read.
        """
        self._store, self._path, self._what = store, f"{place}/record.json".lstrip("/"), what
        self._phases: dict[str, dict[str, Any]] = self._read()

    def begins(self, phase: str) -> bool:
        """Whether a phase is still to be done; if so, say that it begins."""
        if phase in self._phases:
            return False
        print(one_line(f"{self._what}: {phase.replace('_', ' ')}"), flush=True)
        return True

    def finish(self, phase: str, **figures: Any) -> None:
        """Write down that a phase is finished, and what came of it."""
        self._phases[phase] = figures
        self._store.write(self._path, json.dumps(self._phases, indent=2).encode() + b"\n")

    def __getitem__(self, phase: str) -> Mapping[str, Any]:
        return self._phases[phase]

    def _read(self) -> dict[str, dict[str, Any]]:
        if not self._store.exists(self._path):
            return {}
        try:
            phases = from_json(self._store.read(self._path))
        except ValueError as error:
            raise ArtifactError(f"{self._path} of {str(self._store.root)!r} is not JSON: {error}") from error
        if not isinstance(phases, dict) or not all(isinstance(figures, dict) for figures in phases.values()):
            raise ArtifactError(f"{self._path} of {str(self._store.root)!r} does not hold phases; give another folder")
        return phases


@dataclass(frozen=True)
class PhaseRollouts(RolloutOptions):
    """Rollouts by a configuration that is loaded already."""

    settings: Config = field(default_factory=Config)

    def load(self) -> Config:
        """The configuration of the phase."""
        return self.settings


def budget_left(setup: EvolveSetup, place: str) -> float | None:
    """What the account of a phase's folder may spend in all, as `llm.budget_usd` is of the whole run; None: no limit.

    Raises:
        ArtifactError: An account cannot be read.
    """
    budget, root = setup.config.llm.budget_usd, setup.store.root
    if budget is None:
        return None
    accounts = {path.parents[1] for path in root.rglob(SPENDING)} - {root / place}
    spent = [account for folder in sorted(accounts) if (account := spending(folder)) is not None]
    return max(0.0, budget - sum(account.spent + account.lost for account in spent))


def hold(setup: EvolveSetup, place: str, tasks: str, ids: Sequence[str], config: Config) -> None:
    """Hold the conversations of a set of tasks.

    Args:
        setup: The run.
        place: The rollouts folder.
        tasks: Name of the set.
        ids: Its tasks.
        config: The configuration of the phase.

    Raises:
        SkillweaveError: Trajectories are owed.
        ConfigError, ArtifactError: As `run_rollouts`.
    """
    folder = setup.store.root / place
    wanted = (option_of(setup.store, tasks),)
    run_rollouts(PhaseRollouts(Path(), folder, tasks=wanted, may_move=True, settings=config))
    done = RolloutFolder(folder).held().done
    left = sum(1 for _ in owed(ids, config.rollout.trials, done))
    if left:
        raise SkillweaveError(
            f"{counted(left, 'conversation')} of {str(folder)!r} are owed; run the same command again"
        )


def evaluate(setup: EvolveSetup, rollouts: str, to: str, config: Config) -> None:
    """Evaluate rollouts into `<to>/results.jsonl`.

    Raises:
        SkillweaveError: Results are owed.
        ConfigError, ArtifactError: As `run_evaluation`.
    """
    folder = setup.store.root / rollouts
    output = setup.store.root / to / "results.jsonl"
    options = EvaluationOptions(folder, output_file=output, quiet=True, loaded=config)
    run_evaluation(options)
    if any(_has_failed(result) for result in ResultsFile(output)):
        # Once more: a worker may have died. What fails again has no score, and is counted.
        run_evaluation(options)
    left = len(find_rollouts(folder).places) - sum(1 for _ in ResultsFile(output))
    if left > 0:
        raise SkillweaveError(f"{counted(left, 'result')} of {str(output)!r} are owed; run the same command again")


def _has_failed(result: Result) -> bool:
    """Whether the evaluator itself failed."""
    return result.error is not None and result.error.kind == "infrastructure"


def results_at(setup: EvolveSetup, place: str) -> list[Result]:
    """The results in a folder, by trajectory."""
    results = ResultsFile(setup.store.root / place / "results.jsonl")
    return sorted(results, key=lambda result: (result.task_id, result.trial, result.id))


def is_rewarded(result: Result) -> bool:
    """Whether a trajectory can be kept: its reward is 1, and its recorded results are those of the replay."""
    replay = result.checks.replay
    return result.reward == 1 and (replay is None or not replay.differs)


def rewarded_tasks(results: Sequence[Result]) -> set[str]:
    """The tasks with a trajectory that can be kept."""
    return {result.task_id for result in results if is_rewarded(result)}


def keep(
    setup: EvolveSetup, rollouts: str, results: str, to: str, config: Config, *, per_task: int | None = None
) -> int:
    """Write the rewarded conversations of rollouts to `<to>.jsonl`, each once, and at most so many of a task.

    Args:
        setup: The run.
        rollouts: The rollouts folder.
        results: The folder of its results.
        to: The export's folder; the conversations of all splits come to the file beside it.
        config: The configuration of the phase.
        per_task: Most conversations of a task, those with fewest calls first; None: all.

    Returns:
        How many there are.
    """
    store = setup.store
    content = b""
    if rewarded_tasks(results_at(setup, results)):
        options = ExportOptions(
            FORMAT,
            setup.outputs,
            store.root / to,
            rollouts=(store.root / rollouts,),
            results=store.root / results,
            per_task=per_task,
            workers=config.execution.workers,
            config=config,
        )
        run_export(options)
        files = [f"{to}/{split}.jsonl" for split in SPLITS]
        content = b"".join(store.read(file) for file in files if store.exists(file))
    store.write(f"{to}.jsonl", content)
    return content.count(b"\n")


def copy_rollouts(setup: EvolveSetup, source: Path, to: str, left_out: Sequence[str]) -> list[str]:
    """Copy the finished trajectories of a rollouts folder that are of the dataset's tasks.

    Args:
        setup: The run.
        source: The rollouts folder.
        to: The folder to write to.
        left_out: Tasks whose trajectories are not copied.

    Returns:
        Ids of the tasks that have trajectories now, in the dataset's order.

    Raises:
        ConfigError: The rollouts folder does not exist.
    """
    index = find_rollouts(source)
    tasks = {id: number for number, id in enumerate(setup.dataset.tasks) if id not in frozenset(left_out)}
    places = sorted(
        (tasks[place.task_id], key, place)
        for key, place in index.places.items()
        if place.task_id in tasks and not place.owed
    )
    shutil.rmtree(setup.store.path(to), ignore_errors=True)
    with setup.store.replacing(f"{to}/trajectories.jsonl") as temporary, temporary.open("wb") as stream:
        for _, _, place in places:
            with index.files[place.file].open("rb") as lines:
                lines.seek(place.offset)
                stream.write(lines.read(place.length).rstrip(b"\n") + b"\n")
    return list(dict.fromkeys(place.task_id for _, _, place in places))
