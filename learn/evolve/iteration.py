"""One iteration: explore with the last model, keep what is rewarded, train anew from the base, evaluate.

Beside it stands its control: a model that is trained on the first set alone, with the same seed, and evaluated alike.
What tells the two apart is what was explored.
"""

from dataclasses import dataclass
from pathlib import Path

from learn.evolve.phases import (
    PhaseRecord,
    budget_left,
    copy_rollouts,
    evaluate,
    hold,
    is_rewarded,
    keep,
    results_at,
    rewarded_tasks,
)
from learn.evolve.settings import EvolveSetup, agent_of, config_of, oracle_config
from learn.evolve.tasks import EXPLORE, HELD_OUT, SEED, TaskSets, read_ids, write_ids
from learn.evolve.training import train
from skillweave.base.errors import ArtifactError, ConfigError
from skillweave.config.llm import SpeakerConfig

FIRST = "first"
FIRST_RESULTS = "first_results"
FIRST_KEPT = "first_kept"


@dataclass(frozen=True)
class IterationPlace:
    """Where an iteration keeps its files, relative to the run's folder."""

    number: int

    @property
    def folder(self) -> str:
        """The iteration's folder."""
        return f"iterations/{self.number:02}"

    @property
    def control(self) -> str:
        """The folder of its control."""
        return f"{self.folder}/control"

    @property
    def explored(self) -> str:
        """The folder of the results of what it explored."""
        return f"{self.folder}/explore_results"


def prepare_first(setup: EvolveSetup, sets: TaskSets) -> TaskSets:
    """Make the first set: trajectories, their results, and the rewarded conversations in `first_kept.jsonl`.

    Args:
        setup: The run.
        sets: The sets of tasks.

    Returns:
        The sets, with the tasks of the first trajectories.

    Raises:
        ConfigError: No trajectory is rewarded.
        SkillweaveError: Something is owed.
    """
    record = PhaseRecord(setup.store, "", "first set")
    if record.begins("tasks"):
        source = setup.config.evolve.first
        seed = sets.seed if source is None else copy_rollouts(setup, Path(source), FIRST, sets.held_out)
        for name, ids in ((SEED, seed), (EXPLORE, sets.explore), (HELD_OUT, sets.held_out)):
            write_ids(setup.store, name, ids)
        record.finish("tasks", seed=len(seed), explore=len(sets.explore), held_out=len(sets.held_out))
    sets = TaskSets(read_ids(setup.store, SEED), sets.explore, sets.held_out)
    if setup.config.evolve.first is None and record.begins("rollouts"):
        hold(setup, FIRST, SEED, sets.seed, oracle_config(setup, budget_left(setup, FIRST)))
        record.finish("rollouts")
    if record.begins("kept"):
        config = oracle_config(setup, budget_left(setup, FIRST_RESULTS))
        evaluate(setup, FIRST, FIRST_RESULTS, config)
        lines = keep(setup, FIRST, FIRST_RESULTS, FIRST_KEPT, config)
        if not lines:
            raise ConfigError(
                f"no trajectory of the first set has reward 1, of {len(sets.seed)} tasks that are not held out; "
                "give other ones with evolve.first"
            )
        record.finish("kept", trajectories=lines, tasks=len(rewarded_tasks(results_at(setup, FIRST_RESULTS))))
    return sets


def run_iteration(setup: EvolveSetup, sets: TaskSets, number: int) -> None:
    """Do what is left to do of an iteration, and of its control.

    Raises:
        SkillweaveError: The trainer failed, or something is owed.
    """
    place, first = IterationPlace(number), setup.store.read(f"{FIRST_KEPT}.jsonl")
    record = PhaseRecord(setup.store, place.folder, f"iteration {number}")
    if number:
        _explore(setup, sets, place, record)
    if record.begins("data"):
        kept = setup.store.read(f"{place.folder}/kept.jsonl") if number else b""
        lines = [*dict.fromkeys([*first.splitlines(True), *kept.splitlines(True)])]
        setup.store.write(f"{place.folder}/train.jsonl", b"".join(lines))
        record.finish("data", lines=len(lines))
    _train_and_evaluate(setup, sets, place.folder, number, record)
    if number and setup.config.evolve.control:
        control = PhaseRecord(setup.store, place.control, f"iteration {number}, control")
        if control.begins("data"):
            setup.store.write(f"{place.control}/train.jsonl", first)
            control.finish("data", lines=first.count(b"\n"))
        _train_and_evaluate(setup, sets, place.control, number, control)


def _explore(setup: EvolveSetup, sets: TaskSets, place: IterationPlace, record: PhaseRecord) -> None:
    """Explore with the last iteration's model, and keep what is rewarded."""
    evolve, explore = setup.config.evolve, f"{place.folder}/explore"
    agent = _trained(setup, IterationPlace(place.number - 1).folder) if record.begins("explore") else None
    if agent is not None:
        # A seed of its own would make all conversations of a task the same.
        agent = agent.model_copy(update={"temperature": evolve.temperature, "seed": None})
        config = config_of(
            setup,
            agent,
            trials=evolve.trials,
            seed=setup.seed_of(place.number),
            budget=budget_left(setup, explore),
        )
        hold(setup, explore, EXPLORE, sets.explore, config)
        record.finish("explore")
    if record.begins("kept"):
        config = config_of(setup, evolve.agent, budget=budget_left(setup, place.explored))
        evaluate(setup, explore, place.explored, config)
        kept = keep(setup, explore, place.explored, f"{place.folder}/kept", config, per_task=evolve.per_task)
        results = results_at(setup, place.explored)
        tasks = rewarded_tasks(results)
        record.finish(
            "kept",
            explored=len(results),
            explored_tasks=len({result.task_id for result in results}),
            rewarded=sum(map(is_rewarded, results)),
            kept=kept,
            tasks=len(tasks),
            new_tasks=len(tasks - rewarded_tasks(results_at(setup, FIRST_RESULTS))),
        )


def _train_and_evaluate(setup: EvolveSetup, sets: TaskSets, place: str, number: int, record: PhaseRecord) -> None:
    evolve = setup.config.evolve
    if record.begins("training"):
        train(setup, place, number)
        record.finish("training", seed=setup.seed_of(number))
    if record.begins("held_out"):
        rollouts = f"{place}/held_out"
        budget = budget_left(setup, rollouts)
        config = config_of(setup, _trained(setup, place), trials=evolve.evaluation_trials, budget=budget)
        hold(setup, rollouts, HELD_OUT, sets.held_out, config)
        record.finish("held_out")
    if record.begins("results"):
        evaluate(setup, f"{place}/held_out", place, config_of(setup, evolve.agent, budget=budget_left(setup, place)))
        record.finish("results")


def _trained(setup: EvolveSetup, place: str) -> SpeakerConfig:
    """The agent that the model of an iteration is. Raises ArtifactError if the model is gone."""
    model = setup.path(f"{place}/model")
    if not model.is_dir():
        raise ArtifactError(
            f"the model {str(model)!r} is gone, and is needed; to train it again, remove "
            f"'training' from {str(setup.store.root / place / 'record.json')!r}"
        )
    return agent_of(setup, model)
