"""How MCP clients reach a server: over the pipes of its process, or over HTTP at one or several addresses."""

import json
import os
import re
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, NoReturn

from _session import ServerSession  # type: ignore[import-not-found]

SESSION_HEADER = "Skillweave-Session"
"""HTTP clients that send this header with the same value share one state."""


def listen(host: str, port: int) -> socket.socket:
    """Open a socket that accepts connections. ValueError if the address cannot be used."""
    where = f"--host {host!r} --port {port}"
    if not host or not 0 <= port < 2**16:
        raise ValueError(f"cannot listen at {where}: give a host of this machine and a port from 0 to 65535")
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        bound = socket.socket(family, kind)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        bound.listen(128)
    except (OSError, ValueError) as error:
        raise ValueError(f"cannot listen at {where}: {error}") from None
    return bound


class OpenSessions:
    """The sessions that clients have open. With `dump`, the end state of each is written there when it closes."""

    def __init__(self, open_session: Callable[[], ServerSession], dump: Path | None) -> None:
        self._open_session, self._dump = open_session, dump
        self._opened, self._lost = 0, False
        self._numbers = dict[ServerSession, int]()
        self._clients = dict[ServerSession, int]()
        """How many clients are in it."""
        self._named = dict[str, ServerSession]()

    def enter(self, name: str | None = None) -> ServerSession:
        """Open a session, or enter the open one of that name."""
        session = None if name is None else self._named.get(name)
        if session is None:
            session = self._open_session()
            self._opened += 1
            self._numbers[session], self._clients[session] = self._opened, 0
            if name is not None:
                self._named[name] = session
        self._clients[session] += 1
        return session

    def leave(self, session: ServerSession) -> None:
        """Leave a session. The last client to leave closes it."""
        if session in self._clients:
            self._clients[session] -= 1
            if not self._clients[session]:
                self._close(session)

    def _close(self, session: ServerSession) -> None:
        number = self._numbers.pop(session)
        del self._clients[session]
        self._named = {name: held for name, held in self._named.items() if held is not session}
        if session.connection.in_transaction:
            session.connection.execute("ROLLBACK")
        if self._dump:
            suffix = f"-{number}" if number > 1 else ""
            dump = self._dump.with_name(f"{self._dump.stem}{suffix}{self._dump.suffix}")
            try:
                dump.write_bytes(session.connection.serialize())
            except OSError as error:
                self._lost = True
                print(f"the end state of session {number} could not be written: {error}", file=sys.stderr)
        session.connection.close()

    def close_all(self) -> int:
        """Close all sessions. Returns the exit status: 1 if an end state could not be written."""
        for session in list(self._clients):
            self._close(session)
        return int(self._lost)


def protocol_of(name: str, session_of: Callable[[Any], ServerSession], member: str | None) -> Any:
    """The MCP protocol of a world, or of one of its members; `session_of` finds the session of a request."""
    import mcp_types as types
    from mcp.server.lowlevel import Server as Protocol

    async def list_tools(context: Any, _: Any) -> Any:
        offered = session_of(context).offered(member).values()
        tools = [
            types.Tool(name=tool.name, description=tool.description, input_schema=tool.schema()) for tool in offered
        ]
        return types.ListToolsResult(tools=tools)

    async def call_tool(context: Any, request: Any) -> Any:
        result = session_of(context).call(request.name, request.arguments or {}, member)
        value = result["value"] if result["ok"] else {"error": result["error"]}
        written = types.TextContent(type="text", text=json.dumps(value, ensure_ascii=False))
        structured = value if isinstance(value, dict) else {"result": value}
        return types.CallToolResult(content=[written], structured_content=structured, is_error=not result["ok"])

    return Protocol(member or name, on_list_tools=list_tools, on_call_tool=call_tool)


def serve_stdio(name: str, sessions: OpenSessions, member: str | None) -> NoReturn:
    """Answer the MCP client at the other end of the pipes: the process is its session."""
    import anyio
    from mcp.server.stdio import stdio_server

    def leave(number: int, _: Any) -> None:
        # The thread that reads stdin cannot be stopped, so an orderly exit would wait for the client.
        sessions.close_all()
        os._exit(128 + number)

    async def serve() -> None:
        async with stdio_server() as (reading, writing), anyio.create_task_group() as group:
            understood, messages = anyio.create_memory_object_stream[Any](0)

            async def read() -> None:
                async with understood:
                    async for message in reading:
                        if isinstance(message, Exception):
                            await writing.send(error_reply(message))
                        else:
                            await understood.send(message)

            group.start_soon(read)
            await protocol.run(messages, writing, protocol.create_initialization_options())
            group.cancel_scope.cancel()

    session = sessions.enter()
    protocol = protocol_of(name, lambda _: session, member)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, leave)
    try:
        anyio.run(serve)
    finally:
        status = sessions.close_all()
    sys.exit(status)


def serve_http(
    name: str, sessions: OpenSessions, host: str, bound: socket.socket, members_at: Mapping[str, str | None]
) -> NoReturn:
    """Answer MCP clients: each MCP session has its own copy of the state, unless it names one that it shares.

    `members_at` maps each path to the member whose tools are offered there; None offers all tools.
    """
    import uvicorn
    from starlette.applications import Starlette

    def leave(number: int, _: Any) -> None:
        raise SystemExit(sessions.close_all() or 128 + number)

    protocols = {path: protocol_of(name, session_of, member) for path, member in members_at.items()}
    routes = []
    for path, protocol in protocols.items():
        protocol.middleware.append(session_middleware(sessions))
        routes += protocol.streamable_http_app(streamable_http_path=path, host=host).routes

    @asynccontextmanager
    async def running(_: Any) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for protocol in protocols.values():
                await stack.enter_async_context(protocol.session_manager.run())
            yield

    app = Starlette(routes=routes, lifespan=running)
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=2)
    # uvicorn puts these handlers back and raises the signal again once it has shut down.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, leave)
    uvicorn.Server(config).run(sockets=[bound])
    sys.exit(sessions.close_all())


def session_of(context: Any) -> ServerSession:
    """The session of an HTTP request."""
    # The connection is what lives as long as an MCP session; the SDK has no public name for it.
    held: ServerSession = context.session._connection.state["session"]
    return held


def session_middleware(sessions: OpenSessions) -> Callable[[Any, Any], Any]:
    """Give each MCP session over HTTP its state, and close the state when the MCP session ends."""
    import mcp_types as types
    from mcp.shared.exceptions import MCPError

    async def hold_state(context: Any, proceed: Any) -> Any:
        if context.method == "server/discover" or context.protocol_version >= "2026":
            # This protocol version has no sessions over HTTP: its clients fall back to the handshake, which has.
            raise MCPError(code=types.METHOD_NOT_FOUND, message="Sessions are needed: begin with initialize.")
        connection = context.session._connection
        if "session" not in connection.state:
            shared = context.request.headers.get(SESSION_HEADER) or None
            session = connection.state["session"] = sessions.enter(shared)
            connection.exit_stack.callback(sessions.leave, session)
        return await proceed(context)

    return hold_state


def error_reply(error: Exception) -> Any:
    """The answer to a line that is no message, with the id of the request if the line shows it."""
    import mcp_types as types
    from mcp.shared.message import SessionMessage
    from pydantic import ValidationError

    faults = error.errors() if isinstance(error, ValidationError) else []
    broken = not faults or faults[0]["type"] == "json_invalid"
    given = [fault["input"] if broken else json.dumps(fault["input"]) for fault in faults]
    asked = next((found for found in map(request_id_in, given) if found is not None), None)
    code, message = (types.PARSE_ERROR, "Parse error") if broken else (types.INVALID_REQUEST, "Invalid request")
    fault = types.ErrorData(code=code, message=message)
    return SessionMessage(types.JSONRPCError(jsonrpc="2.0", id=asked, error=fault))


def request_id_in(line: str) -> str | int | None:
    """The `id` of the outermost object in a text that need not be JSON."""
    depth = 0
    for token in re.finditer(r'"id"\s*:\s*(-?\d{1,18}\b(?![.eE])|"[^"\\]*")|"(?:[^"\\]|\\.)*"|[][{}]', line):
        if token[1] and depth == 1:
            return token[1][1:-1] if token[1][0] == '"' else int(token[1])
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(token[0], 0)
    return None
