"""Conversations about the practice's tasks, as rollouts record them: of nine trials, six pass and three fail.

Measures the cost of each stage of an evaluation, and the number of evaluations per second of one core.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from bench._practice import SERVER
from bench._visits import golden_calls, policy_of
from evaluator.checks import CHECKS
from evaluator.explain import explain
from evaluator.replay.execution import Execution, execute_golden, execute_messages
from evaluator.replay.golden import digest_of_task, golden_execution_of, needless_calls
from evaluator.replay.rollouts import find_rollouts
from evaluator.replay.trial import ScoredTrial
from evaluator.scoring.evaluate import CheckSettings, is_failed
from evaluator.scoring.score import reward_of
from evaluator.scoring.worker_pool import DatasetEvaluator, EvaluationJob, EvaluationSetup, finished_job
from skillweave.schema.contract import CallResult
from skillweave.schema.record import Json
from skillweave.schema.score import Checks
from skillweave.schema.task import Task
from skillweave.schema.trajectory import Message, Participant, RolloutUsage, SpeakerUsage, TrajectoryRecord
from skillweave.world.tools import namespaces_of, result_text
from skillweave.world.world import World

TRIALS = 9
"""Trials of each task."""
PASSING = 6
"""Trials of each task that pass."""

Calls = list[tuple[str, dict[str, Json]]]


class AgentPlan(NamedTuple):
    """What an agent does in a conversation."""

    calls: Calls
    last: str
    """The agent's last words."""


Way = Callable[[Task, AgentPlan], AgentPlan]
"""Changes the golden plan of a task into a way of doing it."""


def conversations(world: World, tasks: Sequence[Task], dataset: str) -> Iterator[TrajectoryRecord]:
    """Make the conversations of all trials of all tasks. Their ids are `<task id>#<trial>`.

    Args:
        world: The practice.
        tasks: Its tasks.
        dataset: The dataset's digest, for the records.
    """
    policy = policy_of(world)
    for number, task in enumerate(tasks):
        execution = golden_calls(world, task.env_variables.LOGGED_IN_USER, task.golden)
        plan = AgentPlan([(step.tool, step.arguments) for step in execution.calls], _last_words(task))
        for trial in range(TRIALS):
            way = PASSES[trial % len(PASSES)] if trial < PASSING else FAILS[(number + trial) % len(FAILS)]
            messages = [Message(role="system", content=policy), *_talk(world, task, way(task, plan), execution)]
            yield _recorded(world, task, trial, messages, dataset)


def _last_words(task: Task) -> str:
    facts = [f"the {fact.noun} is {_money(fact.values[0])}" for fact in task.criteria.communicate]
    return " ".join(["All of that is done.", *(f"{fact[0].upper()}{fact[1:]}." for fact in facts)])


def _money(cents: Json) -> str:
    return f"{cents / 100:,.2f} euros" if isinstance(cents, int) else str(cents)


def _as_asked(task: Task, plan: AgentPlan) -> AgentPlan:
    return plan


def _looks_around(task: Task, plan: AgentPlan) -> AgentPlan:
    return plan._replace(calls=[*plan.calls[:-1], ("list_fees", {}), ("find_slots", {}), plan.calls[-1]])


def _stumbles(task: Task, plan: AgentPlan) -> AgentPlan:
    """Make a call that is refused, then the right one."""
    tool, arguments = plan.calls[-1]
    key = next(name for name in arguments if name.endswith("_id"))
    wrong = {**arguments, key: f"{str(arguments[key])[:4]}9999"}
    return plan._replace(calls=[*plan.calls[:-1], (tool, wrong), plan.calls[-1]])


def _leaves_out(task: Task, plan: AgentPlan) -> AgentPlan:
    return plan._replace(calls=plan.calls[:-1])


def _does_more(task: Task, plan: AgentPlan) -> AgentPlan:
    return plan._replace(calls=[*plan.calls, ("set_reminders", {"wanted": True}), ("set_reminders", {"wanted": False})])


def _errs_in_a_value(task: Task, plan: AgentPlan) -> AgentPlan:
    """Pass another enum value, or another slot."""
    tool, arguments = plan.calls[-1]
    other: dict[str, Json] = {"reason": "other"} if "reason" in arguments else {"pickup": "counter"}
    if "slot_id" in arguments:
        other = {"slot_id": "SLO-0200" if arguments["slot_id"] != "SLO-0200" else "SLO-0202"}
    return plan._replace(calls=[*plan.calls[:-1], (tool, {**arguments, **other})])


def _hands_over(task: Task, plan: AgentPlan) -> AgentPlan:
    transfer: dict[str, Json] = {"reason": "user_request", "summary": "The patient wants more than I can do."}
    return plan._replace(calls=[*plan.calls[:-1], ("transfer_to_human", transfer)], last="A colleague takes over.")


def _tells_wrong(task: Task, plan: AgentPlan) -> AgentPlan:
    """Tell a wrong figure; if no figure is asked for, leave out the last call."""
    if not task.criteria.communicate:
        return _leaves_out(task, plan)
    noun, cents = task.criteria.communicate[0].noun, task.criteria.communicate[0].values[0]
    return plan._replace(last=f"All done. The {noun} is {_money(cents + 700 if isinstance(cents, int) else cents)}.")


PASSES: tuple[Way, ...] = (_as_asked, _looks_around, _stumbles)
FAILS: tuple[Way, ...] = (_leaves_out, _does_more, _errs_in_a_value, _hands_over, _tells_wrong)


def _talk(world: World, task: Task, plan: AgentPlan, golden: Execution) -> Iterator[Message]:
    """The messages: the user's request, the calls with some words before each write, and the end."""
    yield from task.messages
    results = iter(golden_results(world, task, plan.calls))
    writes = {step.tool for step in golden.calls if step.writes}
    for place, (tool, arguments) in enumerate(plan.calls):
        if tool == "identify_patient":
            yield Message(role="assistant", content="Gladly. What are your e-mail address and your date of birth?")
            known = f"My e-mail address is {arguments['email']}, and I was born on {arguments['date_of_birth']}."
            yield Message(role="user", content=known)
        elif tool in writes:
            yield Message(role="assistant", content=f"I can do that for you now ({tool}). Shall I go ahead?")
            yield Message(role="user", content="Yes, please do.")
        function = {"name": tool, "arguments": arguments}
        call: dict[str, Any] = {"id": f"call_{place}", "function": function}
        content = "One moment, I am looking it up."
        yield Message.model_validate({"role": "assistant", "content": content, "tool_calls": [call]})
        yield Message(role="tool", content=result_text(next(results)), tool_call_id=f"call_{place}")
    yield Message(role="assistant", content=plan.last)
    yield Message(role="user", content="Thank you, that is all. ###STOP###")


def golden_results(world: World, task: Task, calls: Calls) -> list[CallResult]:
    """The results of calls in a fresh session of the task."""
    with world.session(task) as session:
        return [session.call(tool, arguments) for tool, arguments in calls]


def _recorded(world: World, task: Task, trial: int, messages: list[Message], dataset: str) -> TrajectoryRecord:
    usage = SpeakerUsage(input_tokens=20_000, output_tokens=400, cost_usd=0.01)
    return TrajectoryRecord(
        id=f"{task.id}#{trial}",
        task_id=task.id,
        trial=trial,
        world=SERVER,
        domains=[SERVER],
        seed=trial,
        dataset=dataset,
        task_digest=digest_of_task(task),
        messages=messages,
        tools=world.tools,
        stop_reason="user_stop",
        agent=Participant(backend="bench/agent", model="agent"),
        user=Participant(backend="bench/user", model="user"),
        usage=RolloutUsage(agent=usage, user=usage),
        started_at="2025-01-20T09:00:00+00:00",
        seconds=20.0,
    )


ROUNDS = 7
"""Rounds of each measurement; the median counts."""


class Bench:
    """A dataset and its rollouts, to be evaluated in this process."""

    def __init__(self, outputs: Path, rollouts: Path, most: int) -> None:
        """Select the trajectories.

        Args:
            outputs: The dataset.
            rollouts: The folder of trajectories.
            most: The most trajectories to take, evenly spread over all.
        """
        self._outputs = outputs
        index = find_rollouts(rollouts)
        places = sorted(index.places.items())[:: -(-len(index.places) // most)]
        self._jobs = [EvaluationJob(id, index.files[place.file], place, "") for id, place in places]

    def evaluator(self, *, cache: bool, prune: bool = True) -> DatasetEvaluator:
        """Create an evaluator.

        Args:
            cache: Keep golden executions, or make each anew.
            prune: Search for needless golden calls.
        """
        return DatasetEvaluator(EvaluationSetup(self._outputs, self._outputs, CheckSettings(cache=cache, prune=prune)))

    def per_second(self) -> dict[str, float]:
        """Rates per second of CPU time. An evaluation goes from a place in a file to a line of results."""
        return {
            "golden_replays": _rate(self._replays()),
            "evaluations_golden_anew": _rate(self._evaluations(self.evaluator(cache=False, prune=False))),
            "evaluations_golden_anew_and_pruned": _rate(self._evaluations(self.evaluator(cache=False))),
            "evaluations_golden_cached": _rate(self._evaluations(self.evaluator(cache=True))),
        }

    def outcomes(self) -> dict[str, int]:
        """The number of passed and failed trajectories, and of each class of failure and kind of error."""
        evaluator = self.evaluator(cache=True)
        results = [evaluator.result(job) for job in self._jobs]
        counts = Counter("passed" if result.passed else "failed" for result in results if result.error is None)
        counts.update(f"failed: {result.failure.class_}" for result in results if result.failure)
        counts.update(f"error: {result.error.kind}" for result in results if result.error)
        return dict(sorted(counts.items()))

    def stages(self) -> dict[str, float]:
        """Mean microseconds of each stage of an evaluation with a new golden execution, and of the whole evaluation.

        `rest` is the time outside the stages: lookups, and the result as a record and as a line.
        """
        stages = self._median(_stages, self.evaluator(cache=True))
        whole = self._median(_whole, self.evaluator(cache=False))["whole"]
        return {**stages, "rest": round(whole - sum(stages.values()), 1), "whole": whole}

    def _median(
        self, run: Callable[[DatasetEvaluator, Sequence[EvaluationJob]], Counter[str]], evaluator: DatasetEvaluator
    ) -> dict[str, float]:
        rounds = [run(evaluator, self._jobs) for _ in range(ROUNDS + 1)][1:]
        return {name: round(median(spent[name] for spent in rounds) / 1e3 / len(self._jobs), 1) for name in rounds[0]}

    def _replays(self) -> Callable[[], int]:
        dataset = self.evaluator(cache=False).tasks
        tasks = [(dataset.world(task), task) for task in dataset.tasks.values()]

        def run() -> int:
            for world, task in tasks:
                with world.session(task) as session:
                    execute_golden(session, task.golden)
            return len(tasks)

        return run

    def _evaluations(self, evaluator: DatasetEvaluator) -> Callable[[], int]:
        def run() -> int:
            for job in self._jobs:
                finished_job(job, evaluator.result(job))
            return len(self._jobs)

        return run


def _rate(run: Callable[[], int]) -> float:
    run()
    rates = []
    for _ in range(ROUNDS):
        begun = time.process_time()
        count = run()
        rates.append(count / (time.process_time() - begun))
    return round(median(rates), 1)


class _Clock:
    """Nanoseconds of CPU time by stage."""

    def __init__(self) -> None:
        self.spent: Counter[str] = Counter()

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        begun = time.process_time_ns()
        yield
        self.spent[name] += time.process_time_ns() - begun


def _whole(evaluator: DatasetEvaluator, jobs: Sequence[EvaluationJob]) -> Counter[str]:
    clock = _Clock()
    with clock.stage("whole"):
        for job in jobs:
            finished_job(job, evaluator.result(job))
    return clock.spent


def _stages(evaluator: DatasetEvaluator, jobs: Sequence[EvaluationJob]) -> Counter[str]:
    """Time each stage by itself. Results of earlier stages come from the cache."""
    clock = _Clock()
    for job in jobs:
        with clock.stage("read"):
            recorded = evaluator.recorded(job)
        trial = evaluator.evaluator.trial(recorded)
        task, world = trial.task, trial.world
        with clock.stage("golden"):
            golden_execution_of(world, task, prune=False)
        with clock.stage("pruning"):
            needless_calls(world, task, trial.golden.execution)
        with clock.stage("made"), world.session(task) as session:
            execute_messages(session, recorded.messages, namespaces_of(task))
        records: dict[str, Any] = {}
        for name, check in CHECKS.items():
            if not check.needs_judge:
                with clock.stage(f"check_{name}"):
                    records[name] = check.record(trial)
        scored = ScoredTrial(trial, Checks(**records), reward_of(task, Checks(**records)))
        with clock.stage("explain"):
            if is_failed(scored):
                explain(scored)
    return clock.spent
