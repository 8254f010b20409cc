"""Trials: conversations of a skill with items, held by the rollout layer and scored by the evaluator's replay.

A conversation is held once: it is kept under the digest of the skill that its agent read, and whoever asks for the same
skill, item and trial gets the same row. So a killed run asks for nothing twice, and two skills are compared on the same
users. A conversation that the provider or the machine lost is owed and counts for nothing; one that the simulated user
or the world lost counts for nothing either, and is not repeated.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol

from evaluator.replay.trial import read_trajectory
from evaluator.scoring.evaluate import CheckSettings, Evaluator
from learn.skill.document import skill_digest
from learn.skill.scores import Row, reason_of
from rollout.cli.run import RolloutOptions, display, run_record
from rollout.folder import RolloutFolder, RunFigures
from rollout.shards import Cast, Sink, hold_here
from rollout.trajectory import skill_text
from rollout.world.source import WorldTasks
from skillweave.base.errors import ProviderError, SkillweaveError
from skillweave.config.sections import Config
from skillweave.schema.result import Result
from skillweave.schema.task import Task
from skillweave.schema.trajectory import Message, TrajectoryRecord

SKILL_FILE = "skill.md"
"""The skill as agents read it, in the folder of its conversations."""


class TooManyLostError(SkillweaveError):
    """More conversations were lost to the simulated user or the world than `skill.lost_limit` allows."""


class HeldConversation(NamedTuple):
    """A conversation as it was held."""

    world: str
    messages: Sequence[Message]


class Trials(Protocol):
    """Tries skills on items."""

    async def rows(self, skill: str, ids: Sequence[str], trials: range) -> list[Row]:
        """The row of each item and trial, in this order; none for conversations that were lost.

        Raises:
            ProviderError: Some are owed; the same run goes on with them.
            StopError: The budget is spent.
            TooManyLostError: Too many were lost.
        """

    def conversation(self, row: Row, skill: str) -> HeldConversation:
        """The conversation of a row."""


@dataclass
class _KeptConversations:
    """What is known of one skill: the row of each conversation, None if it was lost."""

    folder: RolloutFolder
    config: Config
    rows: dict[str, Row | None] = field(default_factory=dict)
    conversations: dict[str, HeldConversation] = field(default_factory=dict)


class RolloutTrials:
    """Trials in the rollout layer. Conversations are held in this process."""

    def __init__(self, config: Config, root: Path, cast: Cast, lost_limit: float) -> None:
        """Args:
        config: The run's configuration, without a skill.
        root: The folder below which each skill gets a rollouts folder, named by its digest.
        cast: Agent, tasks and ledger.
        lost_limit: Share of the conversations that may be lost.
        """
        self._config = config
        self._root = root
        self._cast = cast
        self._lost_limit = lost_limit
        self._by_skill: dict[str, _KeptConversations] = {}
        source = cast.source
        self._evaluator = (
            Evaluator(source.dataset, source.dataset, CheckSettings(floors=False))
            if isinstance(source, WorldTasks)
            else None
        )

    def folder_of(self, skill: str) -> Path:
        """The rollouts folder of a skill."""
        return self._root / skill_digest(skill_text(skill))

    async def rows(self, skill: str, ids: Sequence[str], trials: range) -> list[Row]:
        """As `Trials.rows`."""
        kept = self._kept(skill)
        wanted = [(id, trial) for trial in trials for id in dict.fromkeys(ids)]
        missing = [(id, trial) for id, trial in wanted if f"{id}#{trial}" not in kept.rows]
        if missing:
            await self._hold(kept, missing)
        rows = [kept.rows[f"{id}#{trial}"] for trial in trials for id in ids]
        scored = [row for row in rows if row is not None]
        if len(scored) < len(rows) * (1 - self._lost_limit):
            raise TooManyLostError(
                f"{len(rows) - len(scored)} of {len(rows)} conversations were lost to the simulated user or the world, "
                f"more than skill.lost_limit allows; look at them in {str(kept.folder.store.root)!r}"
            )
        return scored

    def conversation(self, row: Row, skill: str) -> HeldConversation:
        """As `Trials.conversation`."""
        return self._kept(skill).conversations[row.trajectory]

    def _kept(self, skill: str) -> _KeptConversations:
        root = self.folder_of(skill)
        if root.name not in self._by_skill:
            folder = RolloutFolder(root)
            folder.store.prepare()
            folder.store.clean()
            folder.store.write(SKILL_FILE, skill_text(skill).encode())
            rollout = self._config.rollout.model_copy(update={"skill": str(root / SKILL_FILE)})
            config = self._config.model_copy(update={"rollout": rollout})
            folder.fix(run_record(config, self._cast.source, RolloutOptions(Path(), root)))
            kept = self._by_skill[root.name] = _KeptConversations(folder, config)
            for record in folder.records():
                self._keep(kept, record)
        return self._by_skill[root.name]

    async def _hold(self, kept: _KeptConversations, pairs: Sequence[tuple[str, int]]) -> None:
        tally = RunFigures()

        def append(record: TrajectoryRecord) -> None:
            kept.folder.append(record)
            self._keep(kept, record)

        with kept.folder.temporary_files(), display(len(pairs), self._cast.ledger) as shown:
            await hold_here(kept.config, self._cast, pairs, Sink(append, tally, shown.started, shown.ended))
        left = [f"{id}#{trial}" for id, trial in pairs if f"{id}#{trial}" not in kept.rows]
        if left:
            first = next(iter(tally.first_errors.values()), None) or (tally.unreadable or ["no reason is known"])[0]
            raise ProviderError(
                f"{len(left)} of {len(pairs)} conversations are owed; the first error: {first}; "
                "run the same command again"
            )

    def _keep(self, kept: _KeptConversations, record: TrajectoryRecord) -> None:
        if record.owed:
            return
        kept.rows[record.id] = self._row(record)
        kept.conversations[record.id] = HeldConversation(record.world, record.messages)

    def _row(self, record: TrajectoryRecord) -> Row | None:
        """The row of a conversation; None if it has no score."""
        if self._evaluator is None:
            return _row_of_score(record)
        result = self._evaluator.evaluate(read_trajectory(record.model_dump_json().encode()), "")
        assert isinstance(self._cast.source, WorldTasks)
        return _row_of_result(result, self._cast.source.record(record.task_id)) if result.scored else None


def _row_of_result(result: Result, task: Task) -> Row:
    scores = result.checks.scores()
    counted = [scores[name] for name in task.criteria.reward_basis if name in scores]
    return Row(
        id=result.task_id,
        trial=result.trial,
        hard=float(bool(result.passed)),
        soft=sum(counted) / len(counted) if counted else 0.0,
        fail_reason="" if result.failure is None else reason_of(result.failure),
        task_type=task.kind,
        task_description=task.scenario.goal,
        n_turns=result.turns,
        trajectory=result.id,
    )


def _row_of_score(record: TrajectoryRecord) -> Row | None:
    score = record.score
    if score is None or score.reward is None:
        return None
    question = next((message.content or "" for message in record.messages if message.role == "user"), "")
    return Row(
        id=record.task_id,
        trial=record.trial,
        hard=float(bool(score.passed)),
        soft=score.reward,
        fail_reason="" if score.passed else "wrong_answer: the final answer is not the expected one.",
        task_type=record.world,
        task_description=question,
        n_turns=sum(message.role == "assistant" for message in record.messages),
        trajectory=record.id,
    )


def by_item(rows: Iterable[Row], value: str) -> dict[str, float]:
    """The mean of `hard` or `soft` of each item over its trials."""
    groups: dict[str, list[float]] = {}
    for row in rows:
        groups.setdefault(row.id, []).append(row.hard if value == "hard" else row.soft)
    return {id: sum(values) / len(values) for id, values in groups.items()}
