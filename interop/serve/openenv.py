"""OpenEnv's protocol, for its clients of both lines (`openenv` 0.10 and `openenv-core` 0.3).

A WebSocket is a session: its client resets, takes steps by calls of tools, and speaks to the user by the tool
`reply_to_user`. When it closes or breaks, the session is free. Over HTTP, `/reset` gives the `episode_id` that `/step`
takes. `/mcp` is OpenEnv's own subset of JSON-RPC, by which its clients list tools; it is no MCP server.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, WebSocketRoute
from starlette.types import Message
from starlette.websockets import WebSocket, WebSocketDisconnect

from interop.actions import ActionError
from interop.serve.http import RequestError, json_object, problem_of, read_object, reply
from interop.serve.http import application as application_of
from interop.serve.openenv_session import OpenEnvSession
from interop.serve.openenv_tasks import TaskCatalogue
from interop.serve.sessions import SessionError, SessionPool
from skillweave.base.errors import ConfigError
from skillweave.schema.record import Json

REFUSED_S = 10.0
"""Seconds for which a refused client may still ask: older ones read why only as the answer to their first request."""
PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, SERVER_ERROR = -32700, -32600, -32601, -32602, -32000


def application(pool: SessionPool) -> Starlette:
    """The server."""
    return OpenEnvServer(pool).app


class OpenEnvServer:
    """Answers OpenEnv's clients."""

    def __init__(self, pool: SessionPool) -> None:
        self._pool = pool
        self._catalogue = TaskCatalogue(pool)
        self._clients: dict[str, OpenEnvSession] = {}
        self._closing = set[asyncio.Task[bool]]()
        http: Mapping[str, tuple[str, Callable[[Request], Awaitable[Json]]]] = {
            "/reset": ("POST", self._reset),
            "/step": ("POST", self._step),
            "/close": ("POST", self._close),
            "/state": ("GET", self._state),
            "/mcp": ("POST", self._rpc_over_http),
        }
        routes = [Route(path, _answering(work), methods=[verb]) for path, (verb, work) in http.items()]
        sockets = [WebSocketRoute("/ws", self._gym_socket), WebSocketRoute("/mcp", self._rpc_socket)]
        self.app = application_of([*sockets, *routes, *self._catalogue.routes], pool)

    def _open(self) -> OpenEnvSession:
        """Open a session. Raises SessionError if there are too many."""
        session = self._pool.open()
        client = self._clients[session.id] = OpenEnvSession(session, self._catalogue)

        def closed() -> None:
            self._clients.pop(session.id, None)
            client.stopped()

        session.closed = closed
        return client

    def _client(self, id: Json) -> OpenEnvSession:
        """An open session. Raises RequestError or SessionError if there is none."""
        if not isinstance(id, str):
            raise RequestError("name the session by the episode_id that /reset gave, or talk over /ws", 422)
        self._pool.session(id)
        return self._clients[id]

    # HTTP

    async def _reset(self, request: Request) -> Json:
        given = await json_object(request)
        id = given.get("episode_id")
        known = self._clients.get(id) if isinstance(id, str) else None
        if known is not None:
            return await known.reset({**given, "episode_id": known.id})
        client = self._open()
        try:
            return await client.reset({**given, "episode_id": client.id})
        except BaseException:
            await self._pool.close(client.id)
            raise

    async def _step(self, request: Request) -> Json:
        given = await json_object(request)
        action = given.get("action")
        if not isinstance(action, dict):
            raise RequestError('a step is {"episode_id": ..., "action": {"type": ...}}', 422)
        return await self._client(given.get("episode_id", action.get("episode_id"))).step(action)

    async def _close(self, request: Request) -> Json:
        id = (await json_object(request)).get("episode_id")
        return {"closed": isinstance(id, str) and await self._pool.close(id)}

    async def _state(self, request: Request) -> Json:
        id = request.query_params.get("episode_id")
        return {"episode_id": None, "step_count": 0} if id is None else self._client(id).state()

    async def _rpc_over_http(self, request: Request) -> Json:
        return await self._rpc(await request.body(), None)

    # WebSockets

    async def _gym_socket(self, websocket: WebSocket) -> None:
        await self._hold(websocket, self._gym_answer)

    async def _rpc_socket(self, websocket: WebSocket) -> None:
        await self._hold(websocket, self._rpc)

    async def _hold(
        self, websocket: WebSocket, work: Callable[[str, OpenEnvSession], Awaitable[Mapping[str, Json] | None]]
    ) -> None:
        """Talk with a client until it goes. Whatever happens, its session is closed then."""
        await websocket.accept()
        id = websocket.query_params.get("session_id")
        try:
            client = self._open() if id is None else self._client(id)
            client.attach()
        except (SessionError, RequestError) as error:
            await _turn_away(websocket, error)
            return
        try:
            with suppress(WebSocketDisconnect, RuntimeError):
                await self._talk(websocket, client, work)
        finally:
            await self._pool.close(client.id)
            with suppress(WebSocketDisconnect, RuntimeError):
                await websocket.close()

    async def _talk(
        self,
        websocket: WebSocket,
        client: OpenEnvSession,
        work: Callable[[str, OpenEnvSession], Awaitable[Mapping[str, Json] | None]],
    ) -> None:
        """Answer one message after the other. The next is awaited meanwhile, to learn at once if the client goes."""
        coming = self._next(websocket, client)
        try:
            while True:
                try:
                    message = await coming
                except asyncio.CancelledError:
                    if not client.is_closed:
                        raise
                    await websocket.send_text(json.dumps(_error("SESSION_ERROR", "idle", "the session was closed")))
                    return
                if message["type"] == "websocket.disconnect":
                    return
                coming = self._next(websocket, client)
                answer = await work(message.get("text") or _text(message.get("bytes")), client)
                if answer is None:
                    return
                await websocket.send_text(json.dumps(answer))
        finally:
            client.stopped = lambda: None
            coming.cancel()

    def _next(self, websocket: WebSocket, client: OpenEnvSession) -> "asyncio.Task[Message]":
        def look(task: "asyncio.Task[Message]") -> None:
            if not task.cancelled() and (task.exception() or task.result()["type"] == "websocket.disconnect"):
                closing = asyncio.create_task(self._pool.close(client.id))
                self._closing.add(closing)
                closing.add_done_callback(self._closing.discard)

        coming = asyncio.create_task(websocket.receive())
        coming.add_done_callback(look)
        client.stopped = coming.cancel
        return coming

    async def _gym_answer(self, text: str, client: OpenEnvSession) -> Mapping[str, Json] | None:
        """The answer to a message of `/ws`; None to end."""
        try:
            message = read_object(text)
            kind, given = message.get("type"), message.get("data", {})
            if kind not in ("reset", "step", "state", "close", "mcp"):
                return _error("UNKNOWN_TYPE", "bad_request", f"unknown message type {str(kind)[:80]!r}")
            if not isinstance(given, dict):
                return _error("VALIDATION_ERROR", "bad_request", "data is an object")
            self._pool.session(client.id)
            if kind == "close":
                return None
            if kind == "mcp":
                return {"type": "mcp", "data": await self._rpc(json.dumps(given), client)}
            if kind == "state":
                return {"type": "state", "data": client.state()}
            return {
                "type": "observation",
                "data": await (client.reset(given) if kind == "reset" else client.step(given)),
            }
        except Exception as error:
            problem = problem_of(error)
            return _error(_code_of(error), problem.code, problem.message)

    # JSON-RPC

    async def _rpc(self, text: str | bytes, client: OpenEnvSession | None) -> dict[str, Json]:
        """Answer a JSON-RPC request; `client` is the session in which it is asked, if it is asked in one."""
        id: Json = None
        try:
            request = read_object(text)
            id, method, params = request.get("id"), request.get("method"), request.get("params") or {}
            id = id if isinstance(id, int | str) else None
            if request.get("jsonrpc") != "2.0" or not isinstance(method, str) or not isinstance(params, dict):
                return _rpc_error(id, INVALID_REQUEST, "a request has jsonrpc '2.0', a method and params")
            if client is not None:
                self._pool.session(client.id)
            return {"jsonrpc": "2.0", "id": id, "result": await self._called(method, params, client)}
        except _UnknownMethod as error:
            return _rpc_error(id, METHOD_NOT_FOUND, str(error))
        except Exception as error:
            problem = problem_of(error)
            codes = {"invalid_json": PARSE_ERROR, "no_object": INVALID_REQUEST}
            default = INVALID_PARAMS if problem.status in (404, 422) else SERVER_ERROR
            return _rpc_error(id, codes.get(problem.code, default), problem.message, problem.code)

    async def _called(self, method: str, params: dict[str, Json], client: OpenEnvSession | None) -> Json:
        if method == "openenv/session/create":
            return {"session_id": (client or self._open()).id}
        if method == "openenv/session/close":
            id = params.get("session_id")
            if not isinstance(id, str) or not await self._pool.close(id):
                raise RequestError("session_id is that of an open session", 422)
            return {"session_id": id, "closed": True}
        if method not in ("tools/list", "tools/call"):
            raise _UnknownMethod(f"method not found: {method[:80]}; there are tools/list and tools/call")
        if client is None:
            client = self._client(params.get("session_id"))
        if method == "tools/list":
            return {"tools": client.tools()}
        return await client.call(params.get("name"), params.get("arguments"))


class _UnknownMethod(Exception):
    """A method that JSON-RPC here does not have."""


def _rpc_error(id: Json, code: int, message: str, kind: str = "bad_request") -> dict[str, Json]:
    return {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message, "data": {"kind": kind}}}


def _error(code: str, kind: str, message: str) -> dict[str, Json]:
    return {"type": "error", "data": {"message": message, "code": code, "kind": kind}}


def _code_of(error: Exception) -> str:
    """OpenEnv's code of an error."""
    if isinstance(error, RequestError) and error.code == "invalid_json":
        return "INVALID_JSON"
    if isinstance(error, SessionError):
        return "CAPACITY_REACHED" if error.kind == "capacity" else "SESSION_ERROR"
    if isinstance(error, RequestError | ActionError | ConfigError) or problem_of(error).status == 404:
        return "VALIDATION_ERROR"
    return "EXECUTION_ERROR"


def _text(given: bytes | None) -> str:
    return (given or b"").decode("utf-8", "replace")


async def _turn_away(websocket: WebSocket, error: Exception) -> None:
    """Say why there is no session, and wait a moment until the client has read it."""
    problem = problem_of(error)
    with suppress(WebSocketDisconnect, RuntimeError, TimeoutError):
        await websocket.send_text(json.dumps(_error(_code_of(error), problem.code, problem.message)))
        async with asyncio.timeout(REFUSED_S):
            await websocket.receive()
    with suppress(WebSocketDisconnect, RuntimeError):
        await websocket.close(1013)


def _answering(work: Callable[[Request], Awaitable[Json]]) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        return reply(await work(request))

    return answer
