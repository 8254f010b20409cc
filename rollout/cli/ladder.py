"""The ladder of scripted agents: an agent that knows more must pass more of the same tasks.

If the order does not hold, an agent can pass tasks without understanding them, or cannot pass them by doing them right.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import zip_longest
from pathlib import Path
from random import Random
from typing import NamedTuple

from evaluator.replay.trial import read_trajectory
from evaluator.report.results import LADDER, write_ladder
from evaluator.report.terminal import print_table, show_ladder
from evaluator.scoring.evaluate import CheckSettings, Evaluator
from rollout.cli.run import RolloutOptions
from rollout.conversation import RolloutLimits
from rollout.dispatcher import AgentRunner, BatchDispatcher, Width
from rollout.offline.agents import offline_agent
from rollout.offline.user import offline_user
from rollout.trajectory import RolloutSettings
from rollout.world.source import ContractOpener, WorldTasks
from skillweave.base.command import command_line, percent, rollout_line, shell_word
from skillweave.base.errors import ConfigError
from skillweave.base.manifest import MANIFEST
from skillweave.base.progress import progress
from skillweave.base.store import Store, digest_bytes
from skillweave.config.sections import Config
from skillweave.schema.evaluation import Ladder, PassCount, Rung
from skillweave.schema.task import Kind, Task
from skillweave.schema.trajectory import TrajectoryRecord
from skillweave.workers import local_processes
from skillweave.world.dataset import Dataset

AGENTS = ("nothing", "random", "careless", "policy_blind", "oracle")
"""The agents, from the lowest rung to the highest."""
ORDER = (
    ("nothing", "<=", "random"),
    ("random", "<=", "careless"),
    ("careless", "<", "oracle"),
    ("policy_blind", "<", "oracle"),
)
SHARD = 50
"""Conversations that a process gets at a time."""
PLAIN = "plain"
"""Stands for the form of a request that has none."""
SHOWN = 5
"""Ids that a message names."""


class LadderScore(NamedTuple):
    agent: str
    task: str
    kind: Kind
    forms: tuple[str, ...]
    level: str
    passed: bool | None
    """None if the conversation was not scored."""
    reward: float
    error: str | None


def tasks_for_ladder(config: Config, sample: int | None) -> list[Task]:
    """The tasks that every agent gets.

    Args:
        config: The configuration, with the outputs folder and the seed.
        sample: The most tasks of each world; None for all.

    Raises:
        ConfigError: There are no tasks.
        ArtifactError: The dataset cannot be read.
    """
    dataset = Dataset(Path(config.outputs_dir))
    tasks = sampled(dataset, sample, config.seed)
    if not tasks:
        raise ConfigError(
            f"there are no tasks in {config.outputs_dir!r}; write some with: {command_line('synth', 'run')}"
        )
    return tasks


def ladder_of(
    config: Config, tasks: Sequence[Task], sample: int | None, workers: int, advanced: Callable[[int, str], None]
) -> Ladder:
    """Hold and score all conversations of all agents.

    Args:
        config: The configuration, with the outputs folder, the seed and the limits.
        tasks: The tasks that every agent gets.
        sample: The most tasks of each world, for the record; None for all.
        workers: The number of processes.
        advanced: Called after each shard with the number of finished conversations and the agent's name.
    """
    dataset = Dataset(Path(config.outputs_dir))
    decided = sorted(task.id for task in tasks if is_decided(dataset, task))
    ids = [task.id for task in tasks]
    shards = [(config, agent, ids[at : at + SHARD]) for agent in AGENTS for at in range(0, len(ids), SHARD)]
    scores: list[LadderScore] = []
    for shard_scores in _all_held(shards, workers):
        scores.extend(shard_scores)
        advanced(len(scores), shard_scores[-1].agent)
    rungs = [_rung(agent, [score for score in scores if score.agent == agent]) for agent in AGENTS]
    return Ladder(
        dataset=dataset.digest,
        seed=config.seed,
        sample=sample,
        tasks=len(ids),
        rungs=rungs,
        decided=decided,
        oracle_failed=sorted(score.task for score in scores if score.agent == "oracle" and not score.passed),
        wrong=[*_lost(scores), *out_of_order(rungs, bool(decided)), *_blind_passes(scores, decided)],
    )


def sampled(dataset: Dataset, sample: int | None, seed: int) -> list[Task]:
    """Draw at most `sample` tasks of each world by the seed. Kinds, each with its forms, take turns; each world starts
    with another one."""
    drawn: list[Task] = []
    for place, world in enumerate(dataset.tasks.worlds):
        by_kind: dict[str, list[Task]] = {}
        for task in dataset.tasks.of(world):
            by_kind.setdefault("/".join([task.kind, *(form.name for form in task.forms)]), []).append(task)
        for kind, tasks in sorted(by_kind.items()):
            Random(f"{seed}/ladder/{world}/{kind}").shuffle(tasks)
        kinds = sorted(by_kind)
        start = place % len(kinds)
        by_turns = zip_longest(*(by_kind[kind] for kind in [*kinds[start:], *kinds[:start]]))
        turns = [task for turn in by_turns for task in turn if task]
        drawn.extend(turns[:sample])
    return drawn


def is_decided(dataset: Dataset, task: Task) -> bool:
    """Whether the request is forbidden by a rule that only the agent holds, or a bridge rule demands a golden call."""
    asked, banned = task.criteria.asked, {ban.rule for ban in task.criteria.must_not}
    if task.criteria.declined is not None and asked is not None:
        guards = dataset.blueprint(task.world).tool(asked.tool).guards
        return any(guard.rule in banned and guard.enforced_by == "agent" for guard in guards)
    return bool(task.gates.interlock.get("demanded"))


def out_of_order(rungs: Sequence[Rung], is_any_decided: bool) -> list[str]:
    """One message for each pair that breaks `ORDER`.

    If no rule decides any task, `policy_blind` may equal `oracle`, since ignoring the policy costs nothing.
    """
    by_agent = {rung.agent: rung.overall for rung in rungs}
    messages = []
    for low, sign, high in ORDER:
        left, right = by_agent[low], by_agent[high]
        is_strict = sign == "<" and (low != "policy_blind" or is_any_decided)
        if left.rate > right.rate or (is_strict and left.rate == right.rate):
            passed = f"{left.passed} of {left.tasks} passed, and {right.passed} of {right.tasks}"
            messages.append(f"{low} {sign} {high} does not hold: {passed}")
    return messages


def _blind_passes(scores: Iterable[LadderScore], decided: Sequence[str]) -> list[str]:
    ids = frozenset(decided)
    passed = sorted(score.task for score in scores if score.agent == "policy_blind" and score.passed)
    wrong = [id for id in passed if id in ids]
    return (
        [f"policy_blind passes {len(wrong)} of {len(ids)} tasks that a rule decides: {_some(wrong)}"] if wrong else []
    )


def _lost(scores: Iterable[LadderScore]) -> Iterator[str]:
    lost: dict[str, list[LadderScore]] = {}
    for score in scores:
        if score.passed is None:
            lost.setdefault(score.agent, []).append(score)
    for agent, unscored in sorted(lost.items()):
        tasks = _some(sorted(score.task for score in unscored))
        yield f"{len(unscored)} conversations of {agent} could not be scored: {tasks}; the first: {unscored[0].error}"


def _some(ids: Sequence[str]) -> str:
    return ", ".join(ids[:SHOWN]) + (f" and {len(ids) - SHOWN} more" if len(ids) > SHOWN else "")


def _rung(agent: str, scores: Sequence[LadderScore]) -> Rung:
    known = [score for score in scores if score.passed is not None]
    return Rung(
        agent=agent,
        overall=_step(known),
        reward=sum(score.reward for score in known) / len(known) if known else 0.0,
        by_kind=_steps(known, lambda score: [score.kind]),
        by_form=_steps(known, lambda score: score.forms),
        by_level=_steps(known, lambda score: [score.level]),
        lost=len(scores) - len(known),
    )


def _steps(scores: Sequence[LadderScore], groups: Callable[[LadderScore], Iterable[str]]) -> dict[str, PassCount]:
    """The scores of each group, sorted; a score may be in several groups."""
    by_group: dict[str, list[LadderScore]] = {}
    for score in scores:
        for group in groups(score):
            by_group.setdefault(group, []).append(score)
    return {group: _step(by_group[group]) for group in sorted(by_group)}


def _step(scores: Sequence[LadderScore]) -> PassCount:
    return PassCount(tasks=len(scores), passed=sum(score.passed is True for score in scores))


def _all_held(shards: Sequence[tuple[Config, str, list[str]]], workers: int) -> Iterator[list[LadderScore]]:
    """The scores of each shard, in order."""
    if workers < 2 or len(shards) < 2:
        for shard in shards:
            yield _held(*shard)
        return
    with local_processes(min(workers, len(shards))) as pool:
        yield from pool.map(_held, *zip(*shards, strict=True))


def _held(config: Config, agent: str, ids: Sequence[str]) -> list[LadderScore]:
    """Hold and score one agent's conversations."""
    dataset, evaluator = _opened(config.outputs_dir)
    rollout = config.rollout
    user = offline_user(config.seed)
    source = WorldTasks(dataset, opener=ContractOpener(dataset), user=user, seed=config.seed)
    setting = RolloutSettings(
        backend=offline_agent(agent, dataset, config.seed),
        dataset=source.digest,
        limits=RolloutLimits(max_turns=rollout.max_turns, max_calls=rollout.max_calls, timeout_s=rollout.timeout_s),
    )
    runner = AgentRunner(setting, BatchDispatcher(Width(1, 1, 1)), seed=config.seed)
    scores: list[LadderScore] = []

    def scored(record: TrajectoryRecord) -> None:
        line = record.model_dump_json().encode()
        result = evaluator.evaluate(read_trajectory(line), digest_bytes(line))
        task = dataset.tasks[record.task_id]
        scores.append(
            LadderScore(
                agent=agent,
                task=task.id,
                kind=task.kind,
                forms=tuple(form.name for form in task.forms) or (PLAIN,),
                level=str(task.difficulty.level),
                passed=result.passed,
                reward=result.reward or 0.0,
                error=result.error.message if result.error else None,
            )
        )

    asyncio.run(runner.stream(((source.task(id, 0), 0) for id in ids), scored))
    return scores


@cache
def _opened(outputs: str) -> tuple[Dataset, Evaluator]:
    dataset = Dataset(Path(outputs))
    return dataset, Evaluator(dataset, dataset, CheckSettings(floors=False))


def _show_groups(what: str, rungs: Sequence[Mapping[str, PassCount]]) -> None:
    """Print how each agent does in each group, if there are several."""
    most = {group: max(rung[group].tasks for rung in rungs if group in rung) for rung in rungs for group in rung}
    if len(most) < 2:
        return
    rows = [
        (agent, *(percent(rung[group].rate) if group in rung else "-" for group in sorted(most)))
        for agent, rung in zip(AGENTS, rungs, strict=True)
    ]
    named = [f"{group} ({most[group]})" for group in sorted(most)]
    print_table(f"Scripted agents by {what}", ("agent", *named), rows)


def run_ladder(options: RolloutOptions, sample: int | None) -> int:
    """Run the ladder, write it and print it.

    Args:
        options: The command line's options.
        sample: The most tasks of each world; None for all.

    Returns:
        The exit status: 1 if the ladder found something wrong.

    Raises:
        ConfigError: The configuration is wrong, or there are no tasks.
        ArtifactError: The dataset cannot be read.
    """
    config = options.load()
    tasks = tasks_for_ladder(config, sample)
    evaluation = Path(config.outputs_dir, "evaluation")
    store = Store(evaluation, "evaluation", option="--outputs-dir")
    store.prepare()
    with progress("conversations", len(tasks) * len(AGENTS)) as shown:
        ladder = ladder_of(config, tasks, sample, config.execution.workers, shown.advance)
    write_ladder(store, ladder)
    show_ladder(ladder)
    _show_groups("form", [rung.by_form for rung in ladder.rungs])
    _show_groups("level", [rung.by_level for rung in ladder.rungs])
    outputs = Path(config.outputs_dir)
    if ladder.oracle_failed:
        # Where the oracle fails, its conversation shows why. It goes to a folder of its own, which is no other run's.
        oracle = evaluation / "oracle"
        at: list[str | Path] = ["--outputs-dir", outputs, "--rollouts-dir", oracle]
        if options.config is not None:
            at += ["--config", options.config]
        given = ["--agent", "offline/oracle", "--user", "offline/user", "--tasks", ladder.oracle_failed[0]]
        following = command_line("rollout", "run", *at, *given)
    elif (outputs / MANIFEST).is_file():
        following = command_line("synth", "verify", outputs)
    else:
        following = rollout_line(outputs, options.rollouts, config=options.config)
    print(f"wrote {shell_word(evaluation / LADDER)}; next: {following}")
    return 1 if ladder.wrong else 0
