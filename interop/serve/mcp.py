"""MCP over streamable HTTP, for any client that has tools: each MCP session has an episode of its own.

The task is chosen where the session begins: by the path `/mcp/TASK`, or on `/mcp` by the header `X-Skillweave-Task`,
with its id or number; without either one is drawn, by `X-Skillweave-Seed` if there is one.
"""

from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import mcp_types as types
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from interop.episode_tools import HeldEpisode, episode_server
from interop.serve.http import MAX_BODY_BYTES, RequestError, problem_of, task_asked_for
from interop.serve.http import application as application_of
from interop.serve.sessions import SessionError, SessionPool
from skillweave.base.errors import SkillweaveError
from skillweave.base.proxy import is_loopback
from skillweave.schema.record import Json

TASK_HEADER, SEED_HEADER = "X-Skillweave-Task", "X-Skillweave-Seed"
_MCP_SESSION = "mcp-session-id"
_HELD = "skillweave"
"""The key under which a connection keeps its session."""


def application(pool: SessionPool) -> Starlette:
    """The server."""
    server = episode_server(_held)
    server.middleware.append(_middleware(pool))  # type: ignore[arg-type]  # the SDK's protocol names its parameters
    manager = StreamableHTTPSessionManager(
        app=server,
        json_response=True,
        session_idle_timeout=pool.idle_timeout_s or None,
        max_request_body_size=MAX_BODY_BYTES,
        max_sessions=None,
    )
    endpoint = McpEndpoint(pool, manager)
    return application_of([Route("/mcp", endpoint), Route("/mcp/{task:path}", endpoint)], pool, _running(manager))


@asynccontextmanager
async def _running(manager: StreamableHTTPSessionManager) -> AsyncIterator[None]:
    async with manager.run():
        yield


class McpEndpoint:
    """Looks at a request before the protocol does: who asks, and whether a new session can have its task."""

    def __init__(self, pool: SessionPool, manager: StreamableHTTPSessionManager) -> None:
        self._pool = pool
        self._manager = manager

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, as ASGI has it.

        Raises:
            ArtifactError: A new session asks for a task that there is not.
            RequestError: A page of another site asks, or a header has a wrong value.
            SessionError: There are too many sessions.
        """
        request = Request(scope)
        origin = request.headers.get("origin")
        if origin and not is_loopback(urlsplit(origin).hostname or "") and "authorization" not in request.headers:
            raise RequestError(f"pages of {origin[:80]!r} may not use this server", 403, "forbidden")
        if _MCP_SESSION not in request.headers:
            _task_of(self._pool, request)
            if len(self._pool) >= self._pool.most:
                raise SessionError("capacity", f"the server has {self._pool.most:,} sessions, which is its limit")
        await self._manager.asgi_app(scope, receive, send)


def _task_of(pool: SessionPool, request: Request) -> str | None:
    """The task that a request names; None if it names none."""
    task = request.path_params.get("task") or request.headers.get(TASK_HEADER)
    seed = request.headers.get(SEED_HEADER)
    given: dict[str, Json] = {}
    if task:
        given = {"data_idx": _number(task)} if task.isdigit() else {"task_id": task}
    elif seed is not None:
        given = {"seed": _number(seed)}
    return task_asked_for(pool, given)


def _number(text: str) -> int:
    if not text.isdigit() or len(text) > 18:
        raise RequestError(f"{text[:80]!r} is no whole number that a task or a seed can have", 422)
    return int(text)


def _held(context: Any) -> HeldEpisode:
    """The session of a request."""
    # The connection is what lives as long as an MCP session; the SDK has no public name for it.
    held: HeldEpisode = context.session._connection.state[_HELD]
    return held


def _middleware(pool: SessionPool) -> Callable[[Any, Any], Coroutine[Any, Any, Any]]:
    """Give each MCP session a session of the pool, and close that one when the MCP session ends."""

    async def hold_session(context: Any, proceed: Any) -> Any:
        if context.method == "server/discover" or context.protocol_version >= "2026":
            # This protocol version has no sessions over HTTP: its clients fall back to the handshake, which has.
            raise MCPError(code=types.METHOD_NOT_FOUND, message="Sessions are needed: begin with initialize.")
        connection = context.session._connection
        if _HELD in connection.state:
            _touch(pool, connection.state[_HELD].id)
            return await proceed(context)
        try:
            task = _task_of(pool, context.request)
            session = pool.open()
        except SkillweaveError as error:
            raise MCPError(code=types.INVALID_REQUEST, message=problem_of(error).message) from error
        session.first_task = task or pool.factory.drawn(pool.counts.opened)
        connection.state[_HELD] = session
        connection.exit_stack.push_async_callback(pool.close, session.id)
        return await proceed(context)

    return hold_session


def _touch(pool: SessionPool, id: str) -> None:
    try:
        pool.session(id)
    except SessionError as error:
        raise MCPError(code=types.INVALID_REQUEST, message=str(error)) from error
