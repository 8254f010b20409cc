"""The environment in process: reset and step, synchronous, for trainers that call it from any thread.

Episodes run on one event loop in a thread of their own, so that thousands of environments share worlds and the user's
connections.
"""

import asyncio
import threading
from collections.abc import Coroutine
from functools import cache
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Any, NamedTuple, Self, TypeVar

from interop.actions import ActionLike
from interop.environments import EpisodeFactory
from interop.episode import Episode, EpisodeError, Step
from interop.prompt import first_observation, observation
from rollout.task import Definition
from skillweave.base.errors import ConfigError
from skillweave.config.sections import Config
from skillweave.schema.task import Split
from skillweave.schema.trajectory import Message

T = TypeVar("T")


class Observation(NamedTuple):
    """What an agent is given at the start of an episode."""

    task_id: str
    messages: list[Message]
    """The system prompt and the user's first message."""
    tools: list[Definition]
    """OpenAI definitions of the tools."""

    @property
    def text(self) -> str:
        """The same for a policy that reads and writes text, with the tools and how to call them."""
        return first_observation(self.messages, self.tools)


class Environment:
    """One environment: an episode at a time. `reset` begins the next."""

    def __init__(
        self,
        outputs: Path | EpisodeFactory,
        *,
        user: str | None = None,
        split: Split | None = None,
        compact: bool = False,
        config: Config | None = None,
        step_timeout_s: float = 120.0,
        text: bool = False,
    ) -> None:
        """Create an environment.

        Args:
            outputs: The outputs folder of a run, or a factory that environments share.
            user: `provider/model` of the simulated user; None: `offline/user`, which understands scripted agents alone.
            split: Only tasks of this split; None: all.
            compact: Give compact system prompts.
            config: Settings of the user's endpoint, and limits; None: the defaults.
            step_timeout_s: Most seconds of a step.
            text: Whether a step of text may hold calls (ReAct, or `<tool_call>`); else it is words to the user.

        Raises:
            ArtifactError: There is no dataset, or it has no tasks.
            ConfigError: The user is unknown.
        """
        self._text = text
        self.factory = (
            outputs
            if isinstance(outputs, EpisodeFactory)
            else EpisodeFactory(
                Path(outputs),
                user=user,
                split=split,
                compact=compact,
                config=config,
                step_timeout_s=step_timeout_s,
            )
        )
        self._owns = not isinstance(outputs, EpisodeFactory)
        self._random = Random("0/environment")
        self._episode: Episode | None = None

    @property
    def task_ids(self) -> list[str]:
        """Ids of the tasks, in the dataset's order."""
        return [*self.factory.ids]

    @property
    def episode(self) -> Episode:
        """The episode under way, or the last one. Raises EpisodeError before the first reset."""
        if self._episode is None:
            raise EpisodeError("over", "there is no episode yet; call reset first")
        return self._episode

    def reset(self, task: str | int | None = None, *, seed: int | None = None, trial: int = 0) -> Observation:
        """Begin an episode; one under way is closed.

        Args:
            task: The task's id or its number; None: one is drawn.
            seed: Seeds what is drawn, now and at later resets.
            trial: The number of the trial; with `rollout.personas`, trials have users of different manner.

        Returns:
            System prompt, first message and tools.

        Raises:
            ArtifactError: There is no such task.
            ConfigError: There is no task of that number.
        """
        if seed is not None:
            self._random = Random(f"{seed}/environment")
        id = self.factory.drawn(self._random) if task is None else self.factory.id_in_split(task)
        if isinstance(trial, bool) or not isinstance(trial, int) or trial < 0:
            raise ConfigError(f"trial is {trial!r}; give a number from 0")
        self._leave()
        self._episode = run_in_background(self.factory.open(id, trial))
        return Observation(id, list(self._episode.messages), self._episode.tools)

    def step(self, action: ActionLike) -> Step:
        """Take a step of the agent.

        Args:
            action: Words to the user; a call `{"name": ..., "arguments": {...}}`, or several; or a message in OpenAI's
                form.

        Returns:
            Observation, reward, done and info.

        Raises:
            ActionError: The action is no step.
            EpisodeError: The episode is over or busy, or its user or world failed.
        """
        return run_in_background(self.episode.step(action, text=self._text))

    def finish(self) -> Step:
        """End the episode as it stands, and score it. Raises EpisodeError."""
        return run_in_background(self.episode.finish())

    @staticmethod
    def text_of(step: Step) -> str:
        """The observation of a step as text."""
        return observation(step.observation, is_open=not step.done)

    def close(self) -> None:
        """Close the episode, and the worlds unless they are shared."""
        self._leave()
        if self._owns:
            run_in_background(self.factory.close())

    def _leave(self) -> None:
        if self._episode is not None:
            run_in_background(self._episode.close())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@cache
def _loop() -> asyncio.AbstractEventLoop:
    """The event loop of this process's episodes, in a thread of its own."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="skillweave-episodes", daemon=True).start()
    return loop


def run_in_background(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on the episodes' event loop, and wait for it."""
    return asyncio.run_coroutine_threadsafe(work, _loop()).result()


async def in_background(work: Coroutine[Any, Any, T]) -> T:
    """The same for callers that have an event loop of their own, which goes on meanwhile."""
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, _loop()))
