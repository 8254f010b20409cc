"""AgentGym's HTTP protocol, in the dialect of its textcraft server: an `id`, and actions as text.

An action is a whole reply in the ReAct form, or bare: a tool's name, with its arguments as JSON behind it or without.
Other text is what the agent says to the user. Errors have a status of their own and are never observations.
"""

import re
import secrets
from collections.abc import Awaitable, Callable, Sequence

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from interop.episode import Episode
from interop.prompt import first_observation, observation
from interop.serve.http import RequestError, json_object, reply, task_asked_for
from interop.serve.http import application as application_of
from interop.serve.sessions import EpisodeSession, SessionPool
from rollout.task import Definition
from skillweave.schema.record import Json
from skillweave.thoughts import split_thoughts, write_thoughts

GREETING = "This is an environment server of Skillweave, in AgentGym's protocol."
ANSWER = "Answer"
"""Among the available actions: to speak to the user."""
_BARE = re.compile(r"\s*([\w.-]+)[ \t]*(?:\Z|\(?\s*\{|\(\s*\)|\s*\n\s*Action Input)")
_LARGEST_ID = 2**53 - 1
"""JavaScript reads whole numbers up to here."""


def new_id() -> str:
    """An id as the protocol has it: a whole number, and never 0, which its browser client takes for none."""
    return str(secrets.randbelow(_LARGEST_ID) + 1)


def application(pool: SessionPool) -> Starlette:
    """The server."""
    return AgentGymServer(pool).app


class AgentGymServer:
    """Answers AgentGym's requests."""

    def __init__(self, pool: SessionPool) -> None:
        self._pool = pool
        self._first_text: str | None = None
        """What the first task begins with, once it was opened."""
        paths: Sequence[tuple[str, str, Callable[[Request], Awaitable[Json]]]] = (
            ("/", "GET", self._greet),
            ("/create", "POST", self._create),
            ("/step", "POST", self._step),
            ("/reset", "POST", self._reset),
            ("/close", "POST", self._close),
            ("/observation", "GET", self._observe),
            ("/available_actions", "GET", self._actions),
            ("/detail", "GET", self._detail),
        )
        self.app = application_of([Route(path, _answering(work), methods=[verb]) for path, verb, work in paths], pool)

    async def _greet(self, request: Request) -> Json:
        return GREETING

    async def _create(self, request: Request) -> Json:
        task = task_asked_for(self._pool, await json_object(request))
        session = self._pool.open()
        try:
            return {
                "id": int(session.id),
                "observation": await self._begin(session, task),
                "done": False,
                "reward": 0.0,
            }
        except BaseException:
            await self._pool.close(session.id)
            raise

    async def _begin(self, session: EpisodeSession, task: str | None) -> str:
        """Open a task; the first one, which most clients replace by a reset, only when it is needed."""
        if task is not None:
            return _begun(await session.reset(task))
        session.first_task = self._pool.factory.ids[0]
        if self._first_text is None:
            self._first_text = _begun(await session.current())
        return self._first_text

    async def _step(self, request: Request) -> Json:
        given = await json_object(request)
        session, action = self._session(given.get("id")), given.get("action")
        if not isinstance(action, str):
            raise RequestError("action is the agent's reply as text", 422)
        episode = await session.current()
        step = await session.step(as_reply(action, episode.tools), text=True)
        shown = observation(step.observation, is_open=not step.done)
        return {"observation": shown, "reward": step.reward, "done": step.done}

    async def _reset(self, request: Request) -> Json:
        given = await json_object(request)
        session = self._session(given.get("id"))
        task = task_asked_for(self._pool, given) or self._pool.factory.ids[0]
        text = _begun(await session.reset(task))
        return {"id": int(session.id), "observation": text, "done": False, "reward": 0.0}

    async def _close(self, request: Request) -> Json:
        return await self._pool.close(_id_of((await json_object(request)).get("id")))

    async def _observe(self, request: Request) -> Json:
        return _last(await self._asked(request).current())

    async def _actions(self, request: Request) -> Json:
        return [*_names((await self._asked(request).current()).tools), ANSWER]

    async def _detail(self, request: Request) -> Json:
        episode = await self._asked(request).current()
        return {
            "observation": _last(episode),
            "done": episode.done,
            "reward": episode.reward,
            "deleted": False,
            "data_idx": self._pool.factory.number_of(episode.task.id),
            "info": episode.info,
        }

    def _asked(self, request: Request) -> EpisodeSession:
        return self._session(request.query_params.get("id"))

    def _session(self, id: Json) -> EpisodeSession:
        return self._pool.session(_id_of(id))


def as_reply(action: str, tools: Sequence[Definition]) -> str:
    """An action as a reply in the ReAct form: a bare call gets its mark."""
    thoughts, words = split_thoughts(action)
    bare = _BARE.match(words)
    return write_thoughts(thoughts, f"Action: {words.strip()}") if bare and bare[1] in _names(tools) else action


def _id_of(given: Json) -> str:
    if isinstance(given, bool) or not isinstance(given, int | str):
        raise RequestError("id is the number that /create gave", 422)
    return str(given)[:80]


def _names(tools: Sequence[Definition]) -> list[str]:
    functions = (tool.get("function") for tool in tools)
    return [str(function.get("name")) for function in functions if isinstance(function, dict)]


def _begun(episode: Episode) -> str:
    return first_observation(episode.messages, episode.tools)


def _last(episode: Episode) -> str:
    """The last observation of an episode."""
    heard = len(episode.messages)
    while heard and episode.messages[heard - 1].role != "assistant":
        heard -= 1
    return observation(episode.messages[heard:]) if heard else _begun(episode)


def _answering(work: Callable[[Request], Awaitable[Json]]) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        return reply(await work(request))

    return answer
