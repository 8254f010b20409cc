"""An episode: one conversation of a task, step by step, whoever makes the steps. All environments stand on it.

The simulated user is inside. The reward is 0 until the episode is over, and then what the evaluator's checks say; an
episode that reaches a limit is scored as it stands. Where the user or the world fails, nothing is scored: the step
raises an error, and no reward is given for it.
"""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

from interop.actions import Action, ActionLike, action_of, read_action
from rollout.conversation import Conversation, Ending, RolloutLimits
from rollout.task import Definition, RolloutError, RolloutOutcome, RolloutTask, Runtime
from skillweave.base.errors import ProviderError, SkillweaveError, StopError
from skillweave.schema.record import Json
from skillweave.schema.trajectory import (
    FunctionCall,
    Message,
    Participant,
    RolloutScore,
    RolloutUsage,
    SpeakerUsage,
    StopReason,
    ToolCall,
    TrajectoryRecord,
)
from skillweave.world.tools import read_call, valid_text


class EpisodeError(SkillweaveError):
    """An episode cannot take this step; `kind` says why."""

    def __init__(self, kind: str, message: str) -> None:
        """Args:
        kind: over, busy, timeout, or who failed: provider, world, user, infrastructure.
        message: One line.
        """
        super().__init__(message)
        self.kind = kind


class Step(NamedTuple):
    """What an environment answers to a step."""

    observation: list[Message]
    """Results of tools, or the user's words; empty if there is nothing more to say."""
    reward: float
    """0 until the episode is over."""
    done: bool
    info: dict[str, Json]
    """task_id, trial, turns and calls; when done also passed, stop_reason, truncated and checks."""


@dataclass(frozen=True)
class EpisodeSettings:
    """What all episodes of an environment share."""

    limits: RolloutLimits
    step_timeout_s: float = 120.0
    """Most seconds of a step."""
    dataset: str = ""
    """Digest of the dataset, for records."""


TRUNCATED: tuple[StopReason, ...] = ("max_turns", "max_calls")
"""Endings by a limit of the environment."""


class Episode:
    """One conversation. Steps are taken one at a time; `close` may come at any time, and more than once."""

    def __init__(self, task: RolloutTask, trial: int, settings: EpisodeSettings) -> None:
        """Create an episode; `open` begins it.

        Args:
            task: A task object of this episode alone.
            trial: The number of the trial, which may have a user of its own manner.
            settings: Limits and time-outs.
        """
        self.task = task
        self.trial = trial
        self.messages: list[Message] = []
        """The whole conversation so far."""
        self.tools: list[Definition] = []
        """OpenAI definitions of the tools."""
        self.done = False
        self.score: RolloutScore | None = None
        """Set when the episode is over."""
        self._settings = settings
        self._runtime: Runtime | None = None
        self._conversation: Conversation | None = None
        self._ending: Ending | None = None
        self._busy = False
        self._ids: set[str] = set()
        self._started = datetime.now(UTC)

    async def open(self) -> "Episode":
        """Open the runtime; afterwards `messages` has the system prompt and the user's first message.

        Raises:
            SkillweaveError: The world of the task does not open.
        """
        self._runtime = await self.task.initialize_runtime()
        self._conversation = Conversation(self._runtime, self._settings.limits)
        self.tools = self._runtime.tools
        self.messages = self.task.get_instruction(self._runtime)
        return self

    async def step(self, action: ActionLike, *, text: bool = False) -> Step:
        """Take a step of the agent.

        Args:
            action: Words, calls, or a message in OpenAI's form.
            text: Whether calls are to be looked for in words, as a model writes them.

        Raises:
            ActionError: The action is no step; the episode stays as it is.
            EpisodeError: The episode is over, or busy with another step, or its user or world failed.
        """
        step = read_action(action, self.tools) if text and isinstance(action, str) else action_of(action)
        if self.done:
            raise EpisodeError("over", f"the episode of {self.task.id!r} is over; reset to begin another one")
        if self._busy:
            raise EpisodeError("busy", f"the episode of {self.task.id!r} is at another step; send one at a time")
        self._busy = True
        try:
            async with asyncio.timeout(self._settings.step_timeout_s) as clock:
                return await self._take(step)
        except (StopError, EpisodeError):
            await self._fail()
            raise
        except TimeoutError as error:
            await self._fail()
            limit = f"{self._settings.step_timeout_s:g} seconds"
            kind = "timeout" if clock.expired() else "infrastructure"
            raise EpisodeError(kind, f"the step was not over after {limit}; the episode is closed") from error
        except (RolloutError, ProviderError, SkillweaveError) as error:
            await self._fail()
            kind = error.kind if isinstance(error, RolloutError) else "world"
            raise EpisodeError("provider" if isinstance(error, ProviderError) else kind, str(error)) from error
        finally:
            self._busy = False

    async def finish(self) -> Step:
        """End the episode as it stands, and score it. Of one that is over, its last answer again.

        Raises:
            EpisodeError: It is busy, or its user or world failed.
        """
        if self._busy:
            raise EpisodeError("busy", f"the episode of {self.task.id!r} is at another step; wait for its answer")
        if not self.done:
            self._busy = True
            try:
                await self._end(Ending("agent_stop"))
            except SkillweaveError as error:
                await self._fail()
                raise EpisodeError("world", str(error)) from error
            finally:
                self._busy = False
        if self.score is None:
            raise EpisodeError("over", f"the episode of {self.task.id!r} was closed before it was scored")
        return Step([], self.reward, True, self.info)

    async def close(self) -> None:
        """Release the session. It can be called twice."""
        self.done = True
        runtime, self._runtime = self._runtime, None
        if runtime is not None:
            with suppress(Exception):
                await runtime.close()

    @property
    def reward(self) -> float:
        """The reward so far: 0 until the episode is over."""
        return (self.score.reward or 0.0) if self.score is not None else 0.0

    @property
    def info(self) -> dict[str, Json]:
        """What a step's answer says beside observation and reward."""
        figures = self._conversation.figures if self._conversation is not None else {}
        info: dict[str, Json] = {
            "task_id": self.task.id,
            "trial": self.trial,
            "turns": figures.get("total_turns", 0),
            "calls": figures.get("tool_call_count", 0),
        }
        if self.score is None or self._ending is None:
            return info
        return info | {
            "passed": self.score.passed,
            "stop_reason": self._ending.stop_reason,
            "truncated": self._ending.stop_reason in TRUNCATED,
            "checks": self.score.checks,
        }

    def record(self) -> TrajectoryRecord:
        """The episode as a trajectory, which the evaluator can score again."""
        ending = self._ending or Ending("agent_stop")
        return TrajectoryRecord(
            id=f"{self.task.id}#{self.trial}",
            task_id=self.task.id,
            trial=self.trial,
            world=self.task.world,
            domains=list(self.task.domains),
            seed=0,
            dataset=self._settings.dataset,
            task_digest=self.task.digest,
            messages=self.messages,
            tools=self.tools,
            user_turns=self.task.user_turns,
            stop_reason=ending.stop_reason,
            error=ending.error,
            agent=Participant(backend="interop/agent", model="agent"),
            user=self.task.user,
            usage=RolloutUsage(agent=SpeakerUsage(), user=self.task.user_usage),
            score=self.score,
            started_at=self._started.isoformat(timespec="milliseconds"),
            seconds=round((datetime.now(UTC) - self._started).total_seconds(), 3),
            metadata={**(self._conversation.figures if self._conversation else {}), **self.task.notes},
        )

    async def _take(self, action: Action) -> Step:
        assert self._conversation is not None
        calls = [_with_id(call, self._unique(call.id)) for call in action.calls]
        if calls or action.words.strip():
            self.messages.append(
                Message(
                    role="assistant",
                    content=action.words or None,
                    tool_calls=calls or None,
                    reasoning_content=valid_text(action.thought) or None,
                )
            )
        reaction = await self._conversation.take(action.words, [read_call(call) for call in calls], self.messages)
        if self._runtime is None:
            raise EpisodeError("over", f"the episode of {self.task.id!r} was closed during the step")
        results = [
            Message(role="tool", tool_call_id=call.id, content=valid_text(answer.content))
            for call, answer in zip(calls, reaction.answers, strict=True)
        ]
        heard = [reaction.message.model_copy()] if reaction.message is not None else []
        self.messages += [*results, *heard]
        if reaction.ending is not None:
            await self._end(reaction.ending)
        return Step([*results, *heard], self.reward, self.done, self.info)

    async def _end(self, ending: Ending) -> None:
        """Score the episode and close it."""
        assert self._runtime is not None
        self._ending = ending
        result = await self.task.complete_runtime(self._runtime, self.messages)
        score = await self.task.evaluate_result(RolloutOutcome(self.messages, ending.stop_reason, result))
        if score is None or score.reward is None:
            raise EpisodeError(
                "world", f"the episode of {self.task.id!r} cannot be scored: a check that counts is missing"
            )
        self.score = score
        await self.close()

    async def _fail(self) -> None:
        self.score = None
        await self.close()

    def _unique(self, id: str) -> str:
        """The call's own id, or another one if it is empty, too long or taken."""
        number = len(self._ids)
        while not id or len(id) > 64 or id in self._ids:
            id, number = f"call_{number}", number + 1
        self._ids.add(id)
        return id


def _with_id(call: ToolCall, id: str) -> ToolCall:
    return ToolCall(id=id, function=FunctionCall(name=call.function.name, arguments=call.function.arguments))
