"""Sessions: a session is one client with one episode at a time, which a reset replaces.

All sessions live on one event loop. An error touches only the session in which it happens.
"""

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from interop.actions import ActionLike
from interop.environments import EpisodeFactory
from interop.episode import Episode, EpisodeError, Step
from skillweave.base.errors import SkillweaveError

MAX_SESSIONS = 4096
"""Most sessions at once, unless the command says otherwise."""
IDLE_TIMEOUT_S = 1800.0
"""Seconds without a request after which a session is closed, unless the command says otherwise."""
STEP_TIMEOUT_S = 120.0
"""Most seconds of a step, unless the command says otherwise."""


class SessionError(SkillweaveError):
    """A session cannot be had; `kind` says why."""

    def __init__(self, kind: str, message: str) -> None:
        """Args:
        kind: unknown or capacity.
        message: One line.
        """
        super().__init__(message)
        self.kind = kind


@dataclass
class SessionCounts:
    """How many sessions there were."""

    opened: int = 0
    closed: int = 0
    """Closed by their clients, or because these vanished."""
    reaped: int = 0
    """Closed because they were idle."""


class EpisodeSession:
    """One client's place. A pool creates it."""

    def __init__(self, id: str, factory: EpisodeFactory, clock: Callable[[], float]) -> None:
        self.id = id
        self.first_task: str | None = None
        """The task that `current` opens if there was no reset before."""
        self.is_closed = False
        self.closed: Callable[[], None] = lambda: None
        """Called once when the session is closed, whoever closes it."""
        self._factory = factory
        self._clock = clock
        self._used = clock()
        self._at_work = 0
        self._is_opening = False
        self._episode: Episode | None = None

    @property
    def episode(self) -> Episode:
        """The episode. Raises EpisodeError before the first reset."""
        if self._episode is None:
            raise EpisodeError("over", "there is no episode yet; reset first")
        return self._episode

    @property
    def has_episode(self) -> bool:
        """Whether an episode was begun."""
        return self._episode is not None

    @property
    def idle_s(self) -> float:
        """Seconds since the last request; 0 while there is one."""
        return 0.0 if self._at_work else self._clock() - self._used

    def touch(self) -> None:
        """Count the session as used now."""
        self._used = self._clock()

    async def reset(self, task_id: str, trial: int = 0) -> Episode:
        """Begin an episode; the one before is closed.

        Raises:
            ArtifactError: There is no such task. The episode before goes on.
            EpisodeError: The session is busy with another reset.
            SessionError: The session was closed meanwhile.
            SkillweaveError: The world of the task does not open.
        """
        self._factory.record(task_id)
        if self._is_opening:
            raise EpisodeError("busy", "the session is at another reset; send one request at a time")
        self._is_opening = True
        self._at_work += 1
        try:
            await self._leave()
            episode = await self._factory.open(task_id, trial)
            if self.is_closed:
                await episode.close()
                raise _unknown(self.id)
            self._episode = episode
            return episode
        finally:
            self._is_opening = False
            self._at_work -= 1
            self.touch()

    async def current(self) -> Episode:
        """The episode; of `first_task` if there was no reset yet. Raises EpisodeError, and what `reset` raises."""
        if self._is_opening:
            raise EpisodeError("busy", "the session is at a reset; send one request at a time")
        if self._episode is None and self.first_task is not None:
            return await self.reset(self.first_task)
        return self.episode

    async def step(self, action: ActionLike, *, text: bool = False) -> Step:
        """Take a step of the episode; see `Episode.step`.

        Raises:
            ActionError: The action is no step.
            EpisodeError: The episode is over or busy, or its user or world failed.
        """
        self._at_work += 1
        try:
            return await (await self.current()).step(action, text=text)
        finally:
            self._at_work -= 1
            self.touch()

    async def finish(self) -> Step:
        """End the episode as it stands, and score it. Raises EpisodeError."""
        self._at_work += 1
        try:
            return await (await self.current()).finish()
        finally:
            self._at_work -= 1
            self.touch()

    async def close(self) -> None:
        """Close the episode for good. Pools call it; clients close sessions by their pool."""
        if not self.is_closed:
            self.is_closed = True
            self.closed()
            await self._leave()

    async def _leave(self) -> None:
        episode, self._episode = self._episode, None
        if episode is not None:
            await episode.close()


def random_id() -> str:
    """An id that nobody guesses."""
    return secrets.token_hex(16)


class SessionPool:
    """All sessions of a server."""

    def __init__(
        self,
        factory: EpisodeFactory,
        *,
        most: int = MAX_SESSIONS,
        idle_timeout_s: float = IDLE_TIMEOUT_S,
        new_id: Callable[[], str] = random_id,
    ) -> None:
        """Create a pool; `running` is to be entered on the event loop of the sessions.

        Args:
            factory: The tasks.
            most: Most sessions at once.
            idle_timeout_s: Seconds without a request after which a session is closed.
            new_id: Makes ids of sessions, which must be hard to guess.
        """
        self.factory = factory
        self.most = most
        self.new_id = new_id
        self.counts = SessionCounts()
        self.idle_timeout_s = idle_timeout_s
        self._sessions: dict[str, EpisodeSession] = {}

    def __len__(self) -> int:
        """Number of sessions now."""
        return len(self._sessions)

    def open(self) -> EpisodeSession:
        """Open a session, without an episode yet. Raises SessionError if there are too many."""
        if len(self._sessions) >= self.most:
            raise SessionError("capacity", f"the server has {self.most:,} sessions, which is its limit; close some")
        id = self.new_id()
        while id in self._sessions:
            id = self.new_id()
        session = self._sessions[id] = EpisodeSession(id, self.factory, asyncio.get_running_loop().time)
        self.counts.opened += 1
        return session

    def session(self, id: str) -> EpisodeSession:
        """The session of an id, which counts as used. Raises SessionError if there is none."""
        session = self._sessions.get(id)
        if session is None:
            raise _unknown(id)
        session.touch()
        return session

    async def close(self, id: str) -> bool:
        """Close a session. Returns whether there was one."""
        session = self._sessions.pop(id, None)
        if session is None:
            return False
        self.counts.closed += 1
        await session.close()
        return True

    async def reap(self) -> int:
        """Close the sessions that have been idle too long. Returns how many."""
        idle = [session for session in self._sessions.values() if session.idle_s > self.idle_timeout_s]
        for session in idle:
            if self._sessions.pop(session.id, None) is not None:
                self.counts.reaped += 1
                await session.close()
        return len(idle)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Close idle sessions meanwhile, and all sessions and worlds at the end."""
        reaper = asyncio.create_task(self._keep_reaping())
        try:
            yield
        finally:
            reaper.cancel()
            with suppress(asyncio.CancelledError):
                await reaper
            for id in [*self._sessions]:
                await self.close(id)
            await self.factory.close()

    async def _keep_reaping(self) -> None:
        pause = min(max(self.idle_timeout_s / 10, 0.05), 30.0)
        while True:
            await asyncio.sleep(pause)
            await self.reap()


def _unknown(id: str) -> SessionError:
    return SessionError("unknown", f"there is no session {id[:80]!r}; it was never opened, or is closed")
