"""Evaluates one trajectory: both replays, every check, the reward, and why it failed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from evaluator.checks import CHECKS, basis_fault, make_checks
from evaluator.explain import explain
from evaluator.kinds import KINDS
from evaluator.replay.execution import execute_messages
from evaluator.replay.golden import CACHED_EXECUTIONS, GoldenCache, digest_of_task
from evaluator.replay.trial import RecordedTrajectory, ReplayedTrial, ScoredTrial, replayed_trial
from evaluator.scoring.score import floor_nothing, floor_random, reward_of
from skillweave.base.code import CodeIndex
from skillweave.base.errors import ArtifactError, ConfigError, WorldError
from skillweave.base.store import digest_json
from skillweave.schema.result import Result, ResultError, ResultErrorKind
from skillweave.schema.score import Checks
from skillweave.schema.task import Task
from skillweave.schema.trajectory import until_end
from skillweave.world.dataset import UnknownTaskError
from skillweave.world.states import StateTree
from skillweave.world.tools import namespaces_of
from skillweave.world.world import World

NOT_THE_AGENTS: tuple[ResultErrorKind, ...] = ("provider", "world", "user", "infrastructure")
"""Errors in a trajectory for which the agent is not responsible."""
VERSION = "1"
"""Raised when a check is changed on purpose."""


@dataclass(frozen=True)
class CheckSettings:
    checks: tuple[str, ...] = ()
    """Names of the checks to make; empty: all that need no judge."""
    prune: bool = True
    """Leave needless golden calls out of what `actions` demands."""
    cache: bool = True
    """Keep golden executions."""
    confirmation_in_reward: bool = False
    """Whether a write without the user's agreement breaks the policy."""
    floors: bool = True
    """Whether results hold the floors: what doing nothing and what chance would earn."""
    version: str = ""
    """Version of the checks."""


class EvaluationSource(Protocol):
    """Where an evaluator takes tasks and worlds from: a dataset, or a task that is not in one yet."""

    @property
    def tasks(self) -> Mapping[str, Task]:
        """The tasks by id."""

    @property
    def digest(self) -> str:
        """Digest of everything that trajectories depend on."""

    def world(self, which: Task) -> World:
        """The world of a task. Raises ArtifactError where it is not the world on which the task was proven."""


class NotScoredError(Exception):
    """A trajectory cannot be scored; `kind` says who is responsible."""

    def __init__(self, kind: ResultErrorKind, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Evaluator:
    """Evaluates trajectories of one dataset, one at a time."""

    def __init__(self, tasks: EvaluationSource, worlds: EvaluationSource, settings: CheckSettings) -> None:
        """Args:
        tasks: Where the tasks come from.
        worlds: Where their worlds come from; it may be the same.
        """
        self._tasks = tasks
        self._worlds = worlds
        self._settings = settings
        self._golden = GoldenCache(prune=settings.prune, keeps=CACHED_EXECUTIONS if settings.cache else 0)
        self._states: tuple[str, World | None, StateTree] = "", None, StateTree()
        """The task evaluated last, its world, and what sessions of it have found out."""
        self._task = cache(self._task_of)
        self._floors = cache(self._floors_of)

    def evaluate(self, recorded: RecordedTrajectory, digest: str) -> Result:
        """Evaluate a trajectory. A trajectory that cannot be scored gives a result with an error.

        Args:
            digest: Digest of its line, kept in the result.
        """
        try:
            return self._result(recorded, digest, self.scored(recorded))
        except NotScoredError as error:
            return self.unscored(recorded, digest, ResultError(kind=error.kind, message=str(error)))

    def scored(self, recorded: RecordedTrajectory) -> ScoredTrial:
        """Replay a trajectory and make its checks. Raises NotScoredError."""
        trial = self.trial(recorded)
        checks = make_checks(trial, self._settings.checks)
        return ScoredTrial(trial, checks, reward_of(trial.task, checks))

    def trial(self, recorded: RecordedTrajectory) -> ReplayedTrial:
        """Replay the golden calls and the recorded ones. Raises NotScoredError."""
        task, digest = self._known_task(recorded)
        error = recorded.error
        if error is not None and error.kind != "agent":
            kind: ResultErrorKind = error.kind if error.kind in NOT_THE_AGENTS else "infrastructure"
            raise NotScoredError(kind, error.message)
        if recorded.stop_reason == "timeout":
            raise NotScoredError("infrastructure", "the conversation ran out of wall clock")
        if recorded.dataset and recorded.dataset != self._worlds.digest:
            raise NotScoredError(
                "dataset",
                f"it was made in the dataset {recorded.dataset[:12]!r}, and this one is {self._worlds.digest[:12]!r}",
            )
        if recorded.task_digest and recorded.task_digest != digest:
            raise NotScoredError("dataset", f"its task was {recorded.task_digest[:12]!r} then, and is {digest[:12]!r}")
        try:
            world = self._worlds.world(task)
            with world.sharing(self._states_of(task, world)):
                golden = self._golden.of(world, task, digest)
                fault = _task_fault(task) or golden.fault
                if fault is not None:
                    raise NotScoredError("dataset", f"the golden calls do not replay: {fault}")
                with world.session(task) as session:
                    ended = until_end(recorded.messages, recorded.user_turns or ())
                    made = execute_messages(session, ended, namespaces_of(task))
        except (ArtifactError, WorldError) as error:
            raise NotScoredError("world", str(error)) from error
        if made.defects:
            raise NotScoredError("world", made.defects[0])
        return replayed_trial(
            task, world, golden, recorded, made, confirmation_in_reward=self._settings.confirmation_in_reward
        )

    def _states_of(self, task: Task, world: World) -> StateTree:
        """What sessions of a task have found out. Trials of a task follow each other; what another found is let go."""
        id, known, states = self._states
        if id != task.id or known is not world or not self._settings.cache:
            states.forget()
            self._states = task.id, world, states
        return states

    def _known_task(self, recorded: RecordedTrajectory) -> tuple[Task, str]:
        try:
            return self._task(recorded.task_id)
        except UnknownTaskError as error:
            raise NotScoredError("task", str(error)) from error
        except ArtifactError as error:
            raise NotScoredError("dataset", str(error)) from error

    def _task_of(self, id: str) -> tuple[Task, str]:
        task = self._tasks.tasks[id]
        return task, digest_of_task(task)

    def _result(self, recorded: RecordedTrajectory, digest: str, scored: ScoredTrial) -> Result:
        task = scored.trial.task
        nothing, chance = self._floors(task.id) if self._settings.floors else (None, None)
        return self._made(
            recorded,
            digest,
            task,
            passed=scored.passed,
            reward=scored.reward,
            checks=scored.checks,
            failure=explain(scored) if is_failed(scored) else None,
            calls_as_text=len(scored.trial.text_calls),
            floor_nothing=nothing,
            floor_random=chance,
        )

    def _floors_of(self, id: str) -> tuple[float | None, float | None]:
        task, _ = self._task(id)
        world = self._worlds.world(task)
        return floor_nothing(world, task), floor_random(world, task, seed=0)

    def unscored(self, recorded: RecordedTrajectory, digest: str, error: ResultError) -> Result:
        """The result of a trajectory that cannot be scored."""
        try:
            task: Task | None = self._known_task(recorded)[0]
        except NotScoredError:
            task = None
        return self._made(recorded, digest, task, passed=None, reward=None, checks=Checks(), error=error)

    def _made(self, recorded: RecordedTrajectory, digest: str, task: Task | None, **found: Any) -> Result:
        return Result(
            **found,
            id=recorded.id,
            task_id=recorded.task_id,
            trial=recorded.trial,
            world=task.world if task else recorded.world,
            domains=[*task.domains] if task else recorded.domains,
            kind=task.kind if task else None,
            split=task.split if task else None,
            checks_version=self._settings.version,
            persona=task.persona.style if task else None,
            noise=task.noise is not None if task else None,
            calls=task.difficulty.calls if task else None,
            forms=[form.name for form in task.forms] if task else None,
            level=task.difficulty.level if task else None,
            stop_reason=recorded.stop_reason,
            agent=recorded.agent_name,
            user=recorded.user.backend if recorded.user else None,
            usage=recorded.usage,
            turns=sum(message.role == "assistant" for message in recorded.messages),
            task_digest=self._known_task(recorded)[1] if task else None,
            trajectory_digest=digest,
        )


def _task_fault(task: Task) -> str | None:
    """Why a task of its kind cannot be scored. Raises NotScoredError where its kind or a check is unknown."""
    fault = basis_fault(task)
    if fault is not None:
        raise NotScoredError("dataset", fault)
    try:
        return KINDS[task.kind].task_fault(task)
    except ConfigError as error:
        raise NotScoredError("dataset", str(error)) from error


def is_failed(scored: ScoredTrial) -> bool:
    """Whether a check that counts was made and is below 1."""
    records = [scored.checks.get(name) for name in scored.trial.task.criteria.reward_basis]
    return any(record is not None and record.score < 1 for record in records)


def checks_version(settings: Sequence[str] = (), cache_file: Path | None = None) -> str:
    """`1-3f2a9c1e`, and the settings that change scores: equal only where the same trajectory gets the same result.

    Docstrings and comments do not count. Checks and kinds of plug-ins do.
    """
    own = sorted({*CHECKS.own.values(), *KINDS.own.values()})
    index = CodeIndex(("evaluator", "skillweave", *(module.partition(".")[0] for module in own)), cache_file)
    found = digest_json({**index.closure("evaluator.scoring.evaluate"), **{m: {**index.closure(m)} for m in own}})
    index.save()
    return "+".join([f"{VERSION}-{found[:8]}", *settings])
