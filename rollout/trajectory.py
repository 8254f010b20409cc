"""Trajectory: one conversation, from opening its runtime to its score. Everything ends up in `.result`.

Every conversation ends as a record. If the agent failed, the record is scored on what was reached. If the provider, the
user, the world or the machine failed, the record says so and has no score.
"""

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TypeVar

from rollout.agent import Agent, AgentSettings, AgentStep
from rollout.conversation import Conversation, Ending, Reaction, RolloutLimits
from rollout.task import RolloutError, RolloutOutcome, RolloutTask, Runtime
from skillweave.base.errors import ArtifactError, ProviderError, SkillweaveError, StopError, WorldError
from skillweave.llm.backends.backend import Backend
from skillweave.schema.record import Json
from skillweave.schema.trajectory import (
    ErrorKind,
    Message,
    Participant,
    RolloutScore,
    RolloutUsage,
    SpeakerUsage,
    TrajectoryError,
    TrajectoryRecord,
)
from skillweave.text_calls import CALLS_AS_TEXT
from skillweave.world.tools import valid_text

T = TypeVar("T")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_BLANK_LINES = re.compile(r"\n(?:[ \t]*\n){2,}")
SKILL_HEADING = "# Skill: what experience has taught you"
"""Stands between the task's own system prompt and the skill."""
AgentClass = Callable[..., Agent]
"""`Agent`, or a class that takes the same arguments."""


@dataclass(frozen=True)
class RolloutSettings:
    """The settings that all trajectories of a run share."""

    backend: Backend
    """The backend that plays the agent."""
    dataset: str = ""
    """Digest of the task source."""
    limits: RolloutLimits = field(default_factory=RolloutLimits)
    agent: AgentSettings = field(default_factory=AgentSettings)
    agent_class: AgentClass = Agent
    skill: str = ""
    """Text that every agent gets at the end of its system prompt."""


class Trajectory:
    """One trial of one task."""

    def __init__(self, task: RolloutTask, trial: int, seed: int, setting: RolloutSettings) -> None:
        """Create a trajectory. Its id is `<task id>#<trial>`.

        Args:
            task: A task object of this trajectory alone.
            trial: The number of the trial, from 0.
            seed: The trajectory's seed, for the record.
            setting: What all trajectories of the run share.
        """
        self.task = task
        self.trial = trial
        self.seed = seed
        self.setting = setting
        self.id = f"{task.id}#{trial}"
        self.result: TrajectoryRecord | None = None
        self.outcome: RolloutOutcome | None = None
        self._runtime: Runtime | None = None
        self._agent: Agent | None = None
        self._failed: TrajectoryError | None = None
        self._conversation: Conversation | None = None
        self._earlier: list[RolloutUsage] = []
        """Usage of the attempts that were started again."""

    async def initialize_trajectory(self) -> None:
        """Open the runtime and give the task to an agent. An error here ends up in the result."""
        self._agent = self._failed = self._conversation = None
        try:
            runtime = self._runtime = await self._bounded(self.task.initialize_runtime())
            instruction = with_skill(self.task.get_instruction(runtime), self.setting.skill)
            self._agent = self.setting.agent_class(
                self.setting.backend, instruction, runtime.tools, key=self.id, settings=self.setting.agent
            )
            self._conversation = Conversation(runtime, self.setting.limits)
        except Exception as error:
            self._failed = _error_of(error)

    async def generate_trajectory(self) -> None:
        """Hold the conversation. Afterwards `.result` is the record, without a score.

        Raises:
            StopError: The budget is spent.
        """
        started, clock = datetime.now(UTC), time.monotonic()
        ended, result = await self._attempt()
        for _ in range(self.setting.limits.infrastructure_retries):
            if not _is_worth_retrying(ended):
                break
            self._earlier.append(self._usage())
            await self.initialize_trajectory()
            ended, result = await self._attempt()
        self.result = self._record(ended, started, time.monotonic() - clock)
        self.outcome = RolloutOutcome(self.result.messages, self.result.stop_reason, result)

    async def evaluate_trajectory(self) -> None:
        """Fill in the score, unless the conversation ended with an error that is not the agent's.

        Raises:
            RuntimeError: The conversation has not been held yet.
        """
        if self.result is None or self.outcome is None:
            raise RuntimeError(f"trajectory {self.id!r} has no conversation yet; call generate_trajectory first")
        if self.result.error is not None and self.result.error.kind != "agent":
            return
        try:
            score = await self._bounded(self.task.evaluate_result(self.outcome))
            if not isinstance(score, RolloutScore | None):
                raise TypeError(f"evaluate_result gave {type(score).__name__}; it must give a RolloutScore or None")
        except Exception as error:
            self.result = self.result.model_copy(update={"error": _error_of(error), "stop_reason": "error"})
            return
        self.result = self.result.model_copy(update={"score": score})

    async def abandon(self) -> None:
        """Close the runtime. A trajectory without a result is owed."""
        await self._close()

    async def _attempt(self) -> tuple[Ending, dict[str, Json]]:
        """Hold the conversation and close the runtime; how it ended, and what the runtime leaves for the evaluation."""
        try:
            ended = await self._hold()
            if self._runtime is None or self._agent is None or _is_broken(ended):
                return ended, {}
            return ended, await self._bounded(self.task.complete_runtime(self._runtime, self._agent.history))
        except StopError:
            raise
        except Exception as error:
            return Ending("error", _error_of(error)), {}
        finally:
            await self._close()

    async def _hold(self) -> Ending:
        """Hold the conversation to its end, whatever the end is."""
        if self._failed is not None or self._agent is None or self._conversation is None:
            return Ending(
                "error", self._failed or _error_of(RolloutError("infrastructure", "it was never initialized"))
            )
        try:
            async with asyncio.timeout(self.setting.limits.timeout_s) as clock:
                return await self._converse(self._agent, self._conversation)
        except StopError:
            raise
        except TimeoutError as error:
            if not clock.expired():
                return Ending("error", _error_of(error))
            limit = f"not over after {self.setting.limits.timeout_s:g} seconds (rollout.timeout_s)"
            return Ending("timeout", TrajectoryError(kind="infrastructure", message=limit))
        except Exception as error:
            return Ending("error", _error_of(error))

    async def _converse(self, agent: Agent, conversation: Conversation) -> Ending:
        while True:
            step = await agent.step()
            if step.reply.stop == "content_filter":
                return Ending("error", TrajectoryError(kind="agent", message=valid_text(_refused(step))))
            is_full = step.reply.stop == "context_window"
            # Even the calls of a last reply are made: every call in the record has been carried out.
            reaction = Reaction()
            if step.calls or not is_full:
                reaction = await conversation.take(step.words, step.calls, agent.history)
            for call, answer in zip(step.calls, reaction.answers, strict=True):
                agent.observe(call, answer.content)
            if reaction.message is not None:
                agent.hear(reaction.message)
            if reaction.ending is not None:
                return reaction.ending
            if is_full:
                return Ending("context_window")

    async def _bounded(self, work: Awaitable[T]) -> T:
        """Wait for a task's own work, at most as long as for a conversation.

        Raises:
            RolloutError: The work took too long.
        """
        limit = self.setting.limits.timeout_s
        try:
            async with asyncio.timeout(limit) as clock:
                return await work
        except TimeoutError as error:
            if not clock.expired():
                raise
            raise RolloutError("infrastructure", f"the task did not answer within {limit:g} seconds") from error

    async def _close(self) -> None:
        runtime, self._runtime = self._runtime, None
        if runtime is not None:
            # The conversation is complete by now, so an error while closing must not spoil it.
            with suppress(Exception):
                await self._bounded(runtime.close())

    def _record(self, ended: Ending, started: datetime, seconds: float) -> TrajectoryRecord:
        record = TrajectoryRecord(
            id=self.id,
            task_id=self.task.id,
            trial=self.trial,
            world=self.task.world,
            domains=list(self.task.domains),
            seed=self.seed,
            dataset=self.setting.dataset,
            task_digest=self.task.digest,
            messages=[],
            tools=[],
            stop_reason=ended.stop_reason,
            error=ended.error,
            agent=Participant(backend=self.setting.backend.name, model=""),
            usage=RolloutUsage(agent=SpeakerUsage(cost_usd=0.0), user=SpeakerUsage(cost_usd=0.0)),
            started_at=started.isoformat(timespec="milliseconds"),
            seconds=round(seconds, 3),
            metadata=self._conversation.figures if self._conversation is not None else {},
        )
        try:
            return TrajectoryRecord.model_validate({**dict(record), **self._reported(record)})
        except Exception as error:  # of a user's own agent or task
            return record.model_copy(update={"stop_reason": "error", "error": ended.error or _error_of(error)})

    def _usage(self) -> RolloutUsage:
        agent = self._agent.usage if self._agent is not None else SpeakerUsage(cost_usd=0.0)
        return RolloutUsage(agent=agent, user=self.task.user_usage)

    def _reported(self, record: TrajectoryRecord) -> dict[str, object]:
        """The fields of the record that the agent and the task report."""
        fields: dict[str, object] = {
            "user": self.task.user,
            "user_turns": self.task.user_turns,
            "metadata": {**record.metadata, **self.task.notes},
        }
        if self._agent is None:
            return fields
        calls_as_text = getattr(self._agent, CALLS_AS_TEXT, None)  # an agent of a user's own may not count them
        if calls_as_text:
            fields["metadata"] = {**record.metadata, CALLS_AS_TEXT: calls_as_text, **self.task.notes}
        parts = [*self._earlier, self._usage()]
        usage = RolloutUsage(agent=_sum(part.agent for part in parts), user=_sum(part.user for part in parts))
        messages, tools = list(self._agent.history), list(self._agent.tools)
        return fields | {"messages": messages, "tools": tools, "agent": self._agent.participant, "usage": usage}


def skill_text(document: str) -> str:
    """A skill document as agents read it: without HTML comments, and without the blank lines around them."""
    if not _COMMENT.search(document):
        return document
    return _BLANK_LINES.sub("\n\n", _COMMENT.sub("", document)).strip() + "\n"


def with_skill(instruction: Sequence[Message], skill: str) -> list[Message]:
    """The first messages of a conversation, with a skill at the end of the system prompt."""
    messages = list(instruction)
    if not skill.strip():
        return messages
    text = f"{SKILL_HEADING}\n\n{skill.strip()}"
    if messages and messages[0].role == "system":
        return [messages[0].model_copy(update={"content": f"{messages[0].content or ''}\n\n{text}"}), *messages[1:]]
    return [Message(role="system", content=text), *messages]


def _sum(usages: Iterable[SpeakerUsage]) -> SpeakerUsage:
    parts = list(usages)
    costs = [part.cost_usd for part in parts]
    return SpeakerUsage(
        input_tokens=sum(part.input_tokens for part in parts),
        output_tokens=sum(part.output_tokens for part in parts),
        cost_usd=None if None in costs else sum(cost for cost in costs if cost is not None),
    )


def _refused(step: AgentStep) -> str:
    if step.reply.refusal:
        return f"refused: {step.reply.refusal}"
    words = step.reply.withheld
    return f"the endpoint withheld the answer: {words}" if words else "the endpoint withheld the answer"


def _is_broken(ended: Ending) -> bool:
    """Whether the runtime has no state left to evaluate."""
    return ended.error is not None and ended.error.kind != "agent"


def _is_worth_retrying(ended: Ending) -> bool:
    """Whether a fresh runtime may succeed."""
    return ended.stop_reason == "error" and ended.error is not None and ended.error.kind == "infrastructure"


def _error_of(error: Exception) -> TrajectoryError:
    kind: ErrorKind = "infrastructure"
    if isinstance(error, RolloutError):
        kind = error.kind
    elif isinstance(error, ProviderError):
        kind = "provider"
    elif isinstance(error, WorldError | ArtifactError):
        kind = "world"
    message = str(error) if isinstance(error, SkillweaveError) else f"{type(error).__name__}: {error}"
    return TrajectoryError(kind=kind, message=valid_text(message))
