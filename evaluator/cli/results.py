"""`show`, `compare` and `teach`, which read results, and `run --mode prune`, which reads golden calls."""

from collections.abc import Sequence
from pathlib import Path

from evaluator.cli.options import EvaluationOptions, last_places, show_line
from evaluator.kinds import KINDS
from evaluator.replay.golden import golden_execution_of
from evaluator.replay.rollouts import find_rollouts
from evaluator.replay.trial import UnreadableTrajectoryError
from evaluator.report.compare import ResultsByAgent, compare, results_by_agent, show_comparison
from evaluator.report.conversation import conversation_of
from evaluator.report.results import ResultsFile, results_in, results_of_agent
from evaluator.report.teach import NEVER_SOLVED, TAUGHT, TAUGHT_TASKS, show_teaching, teach, write_teaching
from evaluator.report.transcript import show_conversation
from evaluator.scoring.evaluate import NotScoredError, checks_version
from evaluator.scoring.worker_pool import DatasetEvaluator, EvaluationJob
from skillweave.base.command import command_line, one_line, rollout_line, shell_word
from skillweave.base.errors import ArtifactError, ConfigError, WorldError
from skillweave.base.progress import progress
from skillweave.base.store import Store, locked
from skillweave.schema.result import AgentComparison, AgentComparisons
from skillweave.schema.score import GoldenCallNote, PrunedRecord
from skillweave.schema.task import Task
from skillweave.world.replay import spoiled_calls

SHOWN = 3
"""Most ids that an error names."""
PRUNED = "pruned.jsonl"


def run_show(options: EvaluationOptions, id: str, *, agent: str | None = None, user: str | None = None) -> int:
    """Show a trajectory, or all trajectories of a task.

    Returns:
        The exit status: 1 where one cannot be scored.

    Raises:
        ConfigError: There is no such trajectory.
        ArtifactError: The dataset or the rollouts cannot be read.
    """
    options.load_plugins()
    rollouts = find_rollouts(options.rollouts)
    named = sorted(key for key, place in rollouts.places.items() if id in (key.id, place.task_id))
    found = [key for key in named if agent in (None, key.speakers.agent) and user in (None, key.speakers.user)]
    if named and not found:
        held = one_line("; ".join(sorted({str(key.speakers) for key in named})))
        raise ConfigError(f"{id!r} is there of: {held}; choose among them with --agent and --user")
    if not named:
        such = ", ".join(sorted({key.id for key in rollouts.places})[:SHOWN]) or "none"
        raise ConfigError(f"no trajectory {id!r} in {str(options.rollouts)!r}; it holds {such}, ...")
    evaluator = DatasetEvaluator(options.setup(checks_version(options.settings)))
    status = 0
    for key in found:
        place = rollouts.places[key]
        status |= _shown(evaluator, EvaluationJob(key, rollouts.files[place.file], place, ""))
    return status


def _shown(evaluator: DatasetEvaluator, job: EvaluationJob) -> int:
    result = evaluator.result(job)
    try:
        show_conversation(conversation_of(evaluator.scored(job), result))
    except (NotScoredError, UnreadableTrajectoryError) as error:
        print(f"{one_line(job.key.id)} cannot be scored: {one_line(str(error))}")
        return 1
    return 0


def run_compare(a: Path, b: Path | None, output: Path | None, agents: Sequence[str]) -> int:
    """The exit status. Raises ConfigError."""
    if output is not None and output.suffix != ".json":
        raise ConfigError(f"--output {str(output)!r} must end in .json: it holds the comparison, and no results")
    if len(agents) > 2:
        raise ConfigError(f"--agent is given {len(agents)} times; name one agent, or the two to compare")
    first, second = _sides(a), _sides(b) if b is not None else None
    found = compare(first, second, agents=agents)
    if not found:
        held = sorted({f"{speakers}" for side in (first, second or {}) for speakers in side})
        raise ConfigError(
            f"there are no two sides to compare; the results are of: {one_line('; '.join(held))}. Name two with "
            "--agent A --agent B, or give two folders"
        )
    if not any(one.tasks for one in found):
        raise ConfigError("the two sides have no scored task in common; compare results of one dataset")
    for one in found:
        show_comparison(one, str(a), str(b))
    written = ""
    if output is not None:
        record = AgentComparisons(comparisons=found)
        Store(output.parent, "evaluation").write(output.name, record.model_dump_json(indent=2).encode() + b"\n")
        written = f"wrote {shell_word(output)}; "
    print(f"{written}next: {_after_comparison(found, a, b)}")
    return 0


def _after_comparison(found: Sequence[AgentComparison], a: Path, b: Path | None) -> str:
    """The command that shows a task that flipped, on the side that did worse; if none can be shown, what A teaches."""
    for one in found:
        for task in one.flipped:
            if places := last_places(results_in(b if b is not None and task.gain < 0 else a).store):
                return show_line(task.task_id, places)
    first = next(one for one in found if one.tasks)
    return command_line("evaluator", "teach", a, "--agent", first.agent_a, "--user", first.user_a)


def _sides(path: Path) -> ResultsByAgent:
    found = results_by_agent(results_in(path))
    if not found:
        raise ConfigError(f"{str(path)!r} holds no results; give a results.jsonl, or the folder that holds it")
    return found


def run_teach(path: Path, min_passes: int, max_rate: float, *, agent: str | None, user: str | None) -> int:
    """The exit status. Raises ConfigError, ArtifactError."""
    results = results_in(path)
    teaching = teach(results_of_agent(results, agent, user))
    if not teaching.taught:
        raise ConfigError(
            f"{str(path)!r} holds no scored results to teach from; score first: {command_line('evaluator', 'run')}"
        )
    write_teaching(results.store, teaching, min_passes=min_passes, max_rate=max_rate)
    show_teaching(teaching, min_passes=min_passes, max_rate=max_rate)
    folder = results.store.root
    places = last_places(results.store)
    if places and teaching.never_solved:
        print(f"to audit what was never solved: {show_line(teaching.never_solved[0].task_id, places)}")
    if places and teaching.task_ids(min_passes=min_passes, max_rate=max_rate):
        rollouts = places["--rollouts-dir"].parent / "rollouts-taught"
        tasks = ["--tasks", f"@{folder / TAUGHT_TASKS}"]
        config = places.get("--config")
        following = rollout_line(places["--outputs-dir"], rollouts, *tasks, config=config)
    else:
        following = f"cat {shell_word(folder / NEVER_SOLVED)}"
    print(f"wrote {TAUGHT}, {TAUGHT_TASKS}, {NEVER_SOLVED} in {shell_word(folder)}; next: {following}")
    return 0


def run_prune(options: EvaluationOptions) -> int:
    """The exit status. Raises ConfigError, ArtifactError."""
    evaluator = DatasetEvaluator(options.setup(""))
    store = ResultsFile(options.output).store
    store.prepare()
    counts = {"calls": 0, "pruned": 0, "tasks": 0, "faults": 0}
    with locked(store), store.replacing(PRUNED) as temporary, temporary.open("wb") as stream:
        tasks = evaluator.tasks.tasks
        with progress("tasks", len(tasks), quiet=options.quiet) as shown:
            for record in (_pruned(evaluator, tasks[id]) for id in tasks):
                stream.write(record.model_dump_json().encode() + b"\n")
                _count(counts, record)
                if record.fault is not None:
                    print(f"{one_line(record.task_id)}: the golden calls do not replay: {one_line(record.fault)}")
                shown.advance(counts["tasks"], f"{counts['pruned']} calls pruned")
    print(
        f"{counts['pruned']} of {counts['calls']} golden calls of {counts['tasks']} tasks are needless; "
        f"{counts['faults']} tasks do not replay"
    )
    if options.rollouts.exists():
        given = (word for name, path in options.places.items() for word in (name, Path(path)))
        following = command_line("evaluator", "run", *given, "--output", options.output)
    else:
        following = rollout_line(options.outputs, options.rollouts, config=options.config_file)
    print(f"wrote {shell_word(store.root / PRUNED)}; to score rollouts without them, next: {following}")
    return 1 if counts["faults"] else 0


def _pruned(evaluator: DatasetEvaluator, task: Task) -> PrunedRecord:
    try:
        golden = golden_execution_of(evaluator.worlds.world(task), task)
    except (ArtifactError, WorldError) as error:
        return PrunedRecord(task_id=task.id, world=task.world, kept=_all(task), pruned=[], fault=str(error))
    needless = golden.pruned - spoiled_calls(task.golden)
    notes = [
        GoldenCallNote(golden=step.position, tool=step.tool, arguments=step.arguments)
        for step in golden.execution.calls
        if step.position in needless
    ]
    kept = [position for position in _all(task) if position not in needless]
    return PrunedRecord(
        task_id=task.id,
        world=task.world,
        kept=kept,
        pruned=notes,
        fault=KINDS[task.kind].task_fault(task) or golden.fault,
    )


def _all(task: Task) -> list[int]:
    return list(range(len(task.golden)))


def _count(counts: dict[str, int], record: PrunedRecord) -> None:
    counts["tasks"] += 1
    counts["pruned"] += len(record.pruned)
    counts["calls"] += len(record.kept) + len(record.pruned)
    counts["faults"] += record.fault is not None
