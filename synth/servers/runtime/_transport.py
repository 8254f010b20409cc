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

from _session import Session  # type: ignore[import-not-found]

SHARED = "Skillweave-Session"
"""The header by whose value HTTP clients share one state."""


def listen(host: str, port: int) -> socket.socket:
    """A socket that accepts connections there."""
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


class Sessions:
    """The sessions that clients have open; where it is wanted, the end state of each is kept when it closes."""

    def __init__(self, open_one: Callable[[], Session], dump: Path | None) -> None:
        self._open_one, self._dump = open_one, dump
        self._opened, self._lost = 0, False
        self._numbers = dict[Session, int]()
        self._clients = dict[Session, int]()
        """How many clients are in it."""
        self._named = dict[str, Session]()

    def begin(self, name: str | None = None) -> Session:
        """Open one, or enter the one of that name that is open."""
        session = None if name is None else self._named.get(name)
        if session is None:
            session = self._open_one()
            self._opened += 1
            self._numbers[session], self._clients[session] = self._opened, 0
            if name is not None:
                self._named[name] = session
        self._clients[session] += 1
        return session

    def leave(self, session: Session) -> None:
        """Leave it; the last one who does closes it."""
        if session in self._clients:
            self._clients[session] -= 1
            if not self._clients[session]:
                self._close(session)

    def _close(self, session: Session) -> None:
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

    def end(self) -> int:
        """Close all that are open; the exit status: 1 where an end state was lost."""
        for session in list(self._clients):
            self._close(session)
        return int(self._lost)


def protocol_of(name: str, session_of: Callable[[Any], Session], member: str | None) -> Any:
    """The MCP protocol of a world, or of one member of it, whose requests find their session by their context."""
    import mcp_types as types
    from mcp.server.lowlevel import Server as Protocol

    async def list_tools(context: Any, _: Any) -> Any:
        found = session_of(context).offered(member).values()
        tools = [types.Tool(name=tool.name, description=tool.description, input_schema=tool.schema()) for tool in found]
        return types.ListToolsResult(tools=tools)

    async def call_tool(context: Any, request: Any) -> Any:
        result = session_of(context).call(request.name, request.arguments or {}, member)
        value = result["value"] if result["ok"] else {"error": result["error"]}
        written = types.TextContent(type="text", text=json.dumps(value, ensure_ascii=False))
        structured = value if isinstance(value, dict) else {"result": value}
        return types.CallToolResult(content=[written], structured_content=structured, is_error=not result["ok"])

    return Protocol(member or name, on_list_tools=list_tools, on_call_tool=call_tool)


def serve_stdio(name: str, sessions: Sessions, member: str | None) -> NoReturn:
    """Answer the MCP client at the other end of the pipes: the process is its session."""
    import anyio
    from mcp.server.stdio import stdio_server

    def leave(number: int, _: Any) -> None:
        # The thread that reads stdin cannot be stopped, so an orderly exit would wait for the client.
        sessions.end()
        os._exit(128 + number)

    async def serve() -> None:
        async with stdio_server() as (reading, writing), anyio.create_task_group() as group:
            understood, messages = anyio.create_memory_object_stream[Any](0)

            async def read() -> None:
                async with understood:
                    async for message in reading:
                        if isinstance(message, Exception):
                            await writing.send(not_understood(message))
                        else:
                            await understood.send(message)

            group.start_soon(read)
            await protocol.run(messages, writing, protocol.create_initialization_options())
            group.cancel_scope.cancel()

    session = sessions.begin()
    protocol = protocol_of(name, lambda _: session, member)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, leave)
    try:
        anyio.run(serve)
    finally:
        status = sessions.end()
    sys.exit(status)


def serve_http(
    name: str, sessions: Sessions, host: str, bound: socket.socket, doors: Mapping[str, str | None]
) -> NoReturn:
    """Answer MCP clients: each MCP session has its own copy of the state, unless it names one that it shares.

    `doors` are the paths, each with the member whose tools are offered there; None: all tools are.
    """
    import uvicorn
    from starlette.applications import Starlette

    def leave(number: int, _: Any) -> None:
        raise SystemExit(sessions.end() or 128 + number)

    protocols = {path: protocol_of(name, session_of, member) for path, member in doors.items()}
    routes = []
    for path, protocol in protocols.items():
        protocol.middleware.append(holding(sessions))
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
    sys.exit(sessions.end())


def session_of(context: Any) -> Session:
    """The session of an HTTP request."""
    # The connection is what lives as long as an MCP session; the SDK has no public name for it.
    held: Session = context.session._connection.state["session"]
    return held


def holding(sessions: Sessions) -> Callable[[Any, Any], Any]:
    """What gives each MCP session over HTTP its state, and gives it up when the MCP session ends."""
    import mcp_types as types
    from mcp.shared.exceptions import MCPError

    async def hold_state(context: Any, proceed: Any) -> Any:
        if context.method == "server/discover" or context.protocol_version >= "2026":
            # This protocol version has no sessions over HTTP: its clients fall back to the handshake, which has.
            raise MCPError(code=types.METHOD_NOT_FOUND, message="Sessions are needed: begin with initialize.")
        connection = context.session._connection
        if "session" not in connection.state:
            shared = context.request.headers.get(SHARED) or None
            session = connection.state["session"] = sessions.begin(shared)
            connection.exit_stack.callback(sessions.leave, session)
        return await proceed(context)

    return hold_state


def not_understood(error: Exception) -> Any:
    """The answer to a line that is no message: with the id of the request where that can be found."""
    import mcp_types as types
    from mcp.shared.message import SessionMessage
    from pydantic import ValidationError

    faults = error.errors() if isinstance(error, ValidationError) else []
    broken = not faults or faults[0]["type"] == "json_invalid"
    given = [fault["input"] if broken else json.dumps(fault["input"]) for fault in faults]
    asked = next((found for found in map(id_in, given) if found is not None), None)
    code, message = (types.PARSE_ERROR, "Parse error") if broken else (types.INVALID_REQUEST, "Invalid request")
    fault = types.ErrorData(code=code, message=message)
    return SessionMessage(types.JSONRPCError(jsonrpc="2.0", id=asked, error=fault))


def id_in(line: str) -> str | int | None:
    """The `id` of the outermost object in a text that need not be JSON."""
    depth = 0
    for token in re.finditer(r'"id"\s*:\s*(-?\d{1,18}\b(?![.eE])|"[^"\\]*")|"(?:[^"\\]|\\.)*"|[][{}]', line):
        if token[1] and depth == 1:
            return token[1][1:-1] if token[1][0] == '"' else int(token[1])
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(token[0], 0)
    return None
