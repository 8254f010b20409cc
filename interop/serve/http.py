"""What the servers share of HTTP: tokens, limits, errors as JSON, and running until a signal.

Errors are `{"error": {"code": ..., "message": ...}}` with a fitting status. No request ends the server.
"""

import base64
import binascii
import hmac
import json
import sys
import traceback
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any, NamedTuple

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket

from interop.actions import ActionError
from interop.episode import EpisodeError
from interop.serve.sessions import SessionError, SessionPool
from skillweave.base.command import one_line
from skillweave.base.errors import ArtifactError, ConfigError, SkillweaveError
from skillweave.schema.record import Json

BEYOND = "beyond"
"""In the state of a connection: it is one more than there is room for."""
RETRY_AFTER_S = 2
"""When a client that was turned away may come again."""
MAX_BODY_BYTES = 2**20
"""Most bytes of a request's body, or of a WebSocket message."""
_STATUS = {
    "over": 409,
    "busy": 409,
    "timeout": 504,
    "provider": 502,
    "user": 502,
    "world": 500,
    "infrastructure": 503,
    "unknown": 404,
    "capacity": 503,
}
_CODES = {400: "bad_request", 401: "unauthorized", 404: "unknown_path", 405: "method_not_allowed", 413: "too_large"}


class Problem(NamedTuple):
    """What went wrong with a request."""

    status: int
    code: str
    message: str

    @property
    def body(self) -> dict[str, Json]:
        """The JSON of it."""
        return {"error": {"code": self.code, "message": self.message}}


TOO_MANY = Problem(
    503, "capacity", "the server has as many connections as it may have open files; close some, or come again later"
)


class RequestError(SkillweaveError):
    """A request that is wrong in itself."""

    def __init__(self, message: str, status: int = 400, code: str = "bad_request") -> None:
        super().__init__(message)
        self.status = status
        self.code = code


def problem_of(error: Exception) -> Problem:
    """What a client is told of an error. What nobody foresaw is written to standard error, and not told."""
    message = one_line(str(error))
    if isinstance(error, EpisodeError | SessionError):
        return Problem(_STATUS.get(error.kind, 500), error.kind, message)
    if isinstance(error, RequestError):
        return Problem(error.status, error.code, message)
    if isinstance(error, ActionError):
        return Problem(422, "no_action", message)
    if isinstance(error, ArtifactError) and error.__cause__ is None:
        return Problem(404, "unknown_task", message)
    if isinstance(error, ConfigError):
        return Problem(422, "bad_request", message)
    if isinstance(error, SkillweaveError):
        return Problem(500, "world", message)
    if isinstance(error, HTTPException):
        return Problem(error.status_code, _CODES.get(error.status_code, "bad_request"), str(error.detail))
    traceback.print_exception(error, file=sys.stderr)
    return Problem(500, "internal", "the server failed at this request; its standard error says why")


def reply(value: Json, status: int = 200) -> Response:
    """An answer in JSON. Characters beyond ASCII are escaped, so that any text can be sent."""
    return Response(json.dumps(value), status, media_type="application/json")


def reply_of(problem: Problem) -> Response:
    """The answer that tells a client what went wrong."""
    response = reply(problem.body, problem.status)
    if problem.status == 401:
        response.headers["WWW-Authenticate"] = "Bearer"
    if problem.code == "capacity":
        response.headers["Retry-After"] = str(RETRY_AFTER_S)
    if problem.status == 413 or problem.code == "capacity":
        response.headers["Connection"] = "close"
    return response


async def json_object(request: Request) -> dict[str, Json]:
    """The body as a JSON object; an empty body is an empty object. Raises RequestError."""
    return read_object(await request.body())


def read_object(text: bytes | str) -> dict[str, Json]:
    """A JSON object; of an empty text an empty one. Raises RequestError."""
    if not text.strip():
        return {}
    try:
        value = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise RequestError(f"the message is no JSON: {str(error)[:200]}", code="invalid_json") from None
    if not isinstance(value, dict):
        raise RequestError(f"the message is a JSON object, not {type(value).__name__}", 422, "no_object")
    return value


def _no_constant(name: str) -> Json:
    raise ValueError(f"{name} is no value of JSON")


def task_asked_for(pool: SessionPool, given: Mapping[str, Json]) -> str | None:
    """The task that a request names by `task_id`, by `data_idx` (its number) or by `seed`; None if it names none.

    Raises:
        ArtifactError: There is no such task, or it is of a split that is not served.
        ConfigError: There is no task of that number.
        RequestError: A value has the wrong type.
    """
    task, number, seed = (given.get(name) for name in ("task_id", "data_idx", "seed"))
    if task is not None:
        if not isinstance(task, str):
            raise RequestError(f"task_id is the id of a task, not {type(task).__name__}", 422)
        return pool.factory.id_in_split(task)
    if number is not None:
        if isinstance(number, bool) or not isinstance(number, int):
            raise RequestError(f"data_idx is the number of a task, not {number!r}", 422)
        return pool.factory.id_in_split(number)
    if seed is not None:
        if isinstance(seed, bool) or not isinstance(seed, int):
            raise RequestError(f"seed is a whole number, not {seed!r}", 422)
        return pool.factory.drawn(seed)
    return None


def application(routes: Sequence[BaseRoute], pool: SessionPool, *others: AbstractAsyncContextManager[Any]) -> Starlette:
    """An application whose lifetime is that of a pool.

    Args:
        routes: The paths.
        pool: The sessions.
        others: Entered after the pool's reaper has begun, and left before the sessions are closed.
    """

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(pool.running())
            for other in others:
                await stack.enter_async_context(other)
            yield

    async def answer(_: Request, error: Exception) -> Response:
        return reply_of(problem_of(error))

    return Starlette(
        routes=routes,
        lifespan=lifespan,
        exception_handlers={SkillweaveError: answer, HTTPException: answer},
    )


class RequestGate:
    """Stands before an application: asks for the token, refuses huge bodies, and answers if the application fails."""

    def __init__(self, app: ASGIApp, token: str | None = None, most_bytes: int = MAX_BODY_BYTES) -> None:
        """Create the gate.

        Args:
            app: The application.
            token: The bearer token; None: none is asked for.
            most_bytes: Most bytes of a body.
        """
        self._app = app
        self._token = None if token is None else token.encode()
        self._most_bytes = most_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, as ASGI has it."""
        if scope["type"] == "lifespan":
            return await self._app(scope, receive, send)
        if self._token is not None and not self._is_allowed(scope):
            return await _refuse(scope, receive, send, Problem(401, "unauthorized", "a bearer token is needed"))
        if scope.get("state", {}).get(BEYOND):
            if scope["type"] == "http":
                await self._body(scope, receive)  # an answer to a body that was not read may be lost
            return await _refuse(scope, receive, send, TOO_MANY)
        if scope["type"] == "websocket":
            return await self._app(scope, receive, send)
        return await self._answer(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = await self._body(scope, receive)
        if body is None:
            problem = Problem(413, "too_large", f"a body has at most {self._most_bytes:,} bytes")
            return await _refuse(scope, receive, send, problem)
        waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]
        has_begun = False

        async def first_body() -> Message:
            return waiting.pop() if waiting else await receive()

        async def sending(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        try:
            await self._app(scope, first_body, sending)
        except Exception as error:
            problem = problem_of(error)
            if not has_begun:
                await _refuse(scope, receive, send, problem)
        return None

    async def _body(self, scope: Scope, receive: Receive) -> bytes | None:
        """The whole body; None if it is too large."""
        announced = dict(scope["headers"]).get(b"content-length", b"0")
        if announced.isdigit() and int(announced[:20]) > self._most_bytes:
            return None
        parts, size, more = [], 0, True
        while more:
            message = await receive()
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > self._most_bytes:
                return None
            more = message.get("more_body", False)
        return b"".join(parts)

    def _is_allowed(self, scope: Scope) -> bool:
        """Whether the token is given: as a bearer's, or as the password of `http://any:TOKEN@host`."""
        assert self._token is not None
        kind, _, value = dict(scope["headers"]).get(b"authorization", b"").partition(b" ")
        if kind.lower() == b"basic":
            try:
                value = base64.b64decode(value.strip(), validate=True).partition(b":")[2]
            except (ValueError, binascii.Error):
                value = b""
        elif kind.lower() != b"bearer":
            value = b""
        return hmac.compare_digest(value.strip(), self._token)


async def _refuse(scope: Scope, receive: Receive, send: Send, problem: Problem) -> None:
    if scope["type"] == "websocket" and problem.code == "capacity":
        return await WebSocket(scope, receive, send).send_denial_response(reply_of(problem))
    if scope["type"] == "websocket":
        await receive()  # websocket.connect
        return await send({"type": "websocket.close", "code": 1008, "reason": problem.message})
    return await reply_of(problem)(scope, receive, send)
