"""Sessions in process: limits, idle ones, two requests at once, and what closes while something is under way."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from interop.environments import EpisodeFactory
from interop.episode import Episode, EpisodeError
from interop.serve.http import problem_of
from interop.serve.sessions import EpisodeSession, SessionError, SessionPool
from rollout.conversation import Conversation, Reaction
from skillweave.base.errors import ArtifactError

HELLO = "Hello! How can I help you?"


def held(
    small: Path, work: Callable[[SessionPool], Awaitable[None]], most: int = 4, idle_timeout_s: float = 60
) -> None:
    """Do something with a pool."""

    async def go() -> None:
        pool = SessionPool(EpisodeFactory(small), most=most, idle_timeout_s=idle_timeout_s)
        async with pool.running():
            await work(pool)
        assert len(pool) == 0

    asyncio.run(go())


async def begun(pool: SessionPool, number: int = 0) -> EpisodeSession:
    """A session with an episode."""
    session = pool.open()
    await session.reset(pool.factory.id_of(number))
    return session


@contextmanager
def slow_users() -> Iterator[None]:
    """Each step takes half a second."""
    take = Conversation.take

    async def slow(self: Conversation, *step: Any) -> Reaction:
        await asyncio.sleep(0.5)
        return await take(self, *step)

    with patch.object(Conversation, "take", slow):
        yield


@contextmanager
def slow_worlds(pool: SessionPool) -> Iterator[None]:
    """Each world takes a moment to open."""
    opened = pool.factory.open

    async def slow(*task: Any) -> Episode:
        await asyncio.sleep(0.1)
        return await opened(*task)

    with patch.object(pool.factory, "open", slow):
        yield


def test_at_capacity_a_client_is_refused_until_another_goes(small: Path) -> None:
    async def work(pool: SessionPool) -> None:
        first, _ = pool.open(), pool.open()
        with pytest.raises(SessionError) as refused:
            pool.open()
        assert problem_of(refused.value).status == 503
        assert await pool.close(first.id)
        assert not await pool.close(first.id)
        pool.open()
        assert (pool.counts.opened, pool.counts.closed, pool.counts.reaped) == (3, 1, 0)

    held(small, work, most=2)


def test_idle_sessions_are_reaped_and_used_ones_are_not(small: Path) -> None:
    async def work(pool: SessionPool) -> None:
        idle, used = await begun(pool), await begun(pool)
        told: list[str] = []
        idle.closed = lambda: told.append(idle.id)
        episode = idle.episode
        while not told:
            await asyncio.sleep(0.05)
            pool.session(used.id)
        assert told == [idle.id]
        assert episode.done
        assert pool.counts.reaped == 1
        with pytest.raises(SessionError):
            pool.session(idle.id)
        await used.step(HELLO)

    held(small, work, idle_timeout_s=2)


def test_a_session_at_work_is_not_idle(small: Path) -> None:
    async def work(pool: SessionPool) -> None:
        session = await begun(pool)
        with slow_users():
            step = await session.step(HELLO)
        assert step.observation
        assert pool.counts.reaped == 0

    held(small, work, idle_timeout_s=0.2)


def test_of_two_steps_at_once_one_is_refused(small: Path) -> None:
    async def work(pool: SessionPool) -> None:
        session, other = await begun(pool), await begun(pool)
        both = [session.step(HELLO), session.step(HELLO)]
        with slow_users():
            steps = await asyncio.gather(*both, other.step(HELLO), return_exceptions=True)
        busy = [step for step in steps if isinstance(step, EpisodeError)]
        assert [error.kind for error in busy] == ["busy"]
        assert problem_of(busy[0]).status == 409
        await session.step(HELLO)

    held(small, work)


def test_of_two_resets_at_once_one_is_refused(small: Path) -> None:
    async def work(pool: SessionPool) -> None:
        session = pool.open()
        ids = [pool.factory.id_of(number) for number in (0, 1)]
        with slow_worlds(pool):
            resets = await asyncio.gather(*map(session.reset, ids), session.step(HELLO), return_exceptions=True)
        assert [type(reset) for reset in resets[1:]] == [EpisodeError, EpisodeError]
        assert session.episode.task.id == ids[0]

    held(small, work)


def test_a_session_that_is_closed_while_it_opens_leaves_no_episode(small: Path) -> None:
    async def work(pool: SessionPool) -> None:
        session = pool.open()
        with slow_worlds(pool):
            opening = asyncio.create_task(session.reset(pool.factory.id_of(0)))
            await asyncio.sleep(0)
            await pool.close(session.id)
            with pytest.raises(SessionError):
                await opening
        assert not session.has_episode

    held(small, work)


def test_an_unknown_task_leaves_the_episode(small: Path) -> None:
    async def work(pool: SessionPool) -> None:
        session = await begun(pool)
        with pytest.raises(ArtifactError):
            await session.reset("none")
        await session.step(HELLO)

    held(small, work)


def test_a_reset_replaces_the_episode(small: Path) -> None:
    async def work(pool: SessionPool) -> None:
        session = await begun(pool)
        before = session.episode
        await session.reset(pool.factory.id_of(1))
        assert before.done
        assert not session.episode.done
        assert (await session.finish()).done

    held(small, work)


def test_before_a_reset_there_is_no_episode(small: Path) -> None:
    async def work(pool: SessionPool) -> None:
        session = pool.open()
        with pytest.raises(EpisodeError):
            await session.step(HELLO)
        session.first_task = pool.factory.id_of(2)
        await session.step(HELLO)
        assert session.episode.task.id == pool.factory.id_of(2)

    held(small, work)
