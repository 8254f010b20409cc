"""What a generated server stands on: its registry of tools, its command line, and the MCP transports.

What the tools mean is in the server's own file; nothing of it is known here.
"""

import argparse
import json
import os
import re
import signal
import socket
import sqlite3
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, NoReturn

from _arguments import Date, Moment, Refused, Row, Unfit  # type: ignore[import-not-found]
from _session import Kind, Session, State, Tool, check, transfer_to_human  # type: ignore[import-not-found]

__all__ = ["Date", "Moment", "Refused", "Row", "Server", "Session", "State"]


class Server:
    """A world's server: its tools, and the ways to open a session of it."""

    def __init__(self, name: str, *, now: str, ids: Mapping[str, str]) -> None:
        self.name, self.now, self.ids = name, now, ids
        self.folder = Path(__file__).resolve().parent.parent
        self.tools: list[Tool] = []
        self.transfer = Tool(transfer_to_human, "read", None)

    def tool(self, kind: Kind, description: str | None = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Register a function as a tool. Without a description it is the first paragraph of the docstring."""

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            self.tools.append(Tool(function, kind, description))
            return function

        return register

    def session(self, state: State | None = None, *, caller: str | None = None, patch: Iterable[Row] = ()) -> Session:
        """A session of that state, or of the world's own database with this person signed in and these row changes."""
        start = state or State(self.database(f"database/{self.name}.sqlite"), self.now, caller, patch)
        return Session([*self.tools, self.transfer], self.ids, start)

    def database(self, path: str) -> bytes:
        """A database of the outputs folder."""
        found = self.folder / path
        if found.is_symlink() or not found.resolve().is_relative_to(self.folder):
            raise ValueError(f"the path {path!r} does not stay in the outputs folder")
        return found.read_bytes()

    def task(self, wanted: str) -> State:
        """The state that a task of this world begins with."""
        path = self.folder / "queries" / f"{self.name}.jsonl"
        with path.open(encoding="utf-8") as lines:
            for line in lines:
                task = json.loads(line) if json.dumps(wanted) in line else {}
                if task.get("id") == wanted:
                    start, person = task["initial_state"], task["env_variables"]["LOGGED_IN_USER"]
                    caller = person if task["login"] == "session" else None
                    rows, hidden = start.get("patch", ()), task.get("tools_hidden", ())
                    return State(self.database(start["database"]), task["now"], caller, rows, hidden)
        raise ValueError(f"no task {wanted!r} in {path.name}")

    def run(self) -> None:
        """Serve, as the command line says."""
        parser = command_line(self.name, self.now)
        options = parser.parse_args()
        bound = None
        try:
            if options.task is not None and not (options.state is options.caller is options.now is None):
                raise ValueError("--task brings its own clock too; leave out --state and --caller and --now")
            own = self.folder / "database" / f"{self.name}.sqlite"
            if options.task is not None:
                state = self.task(options.task)
            else:
                database = (options.state or own).read_bytes()
                state = State(database, self.now if options.now is None else options.now, options.caller)
            with closing(self.session(state).connection) as opened:
                check(state, opened, own.read_bytes())
            if options.dump:
                check_dump(options.dump, own)
            if options.transport != "stdio":
                bound = listen(options.host, options.port)
        except Unfit as unfit:
            parser.error(f"cannot open {self.name}: the clock {unfit}")
        except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError, sqlite3.Error) as error:
            parser.error(f"cannot open {self.name}: {error}")
        sessions = Sessions(self, state, options.dump)
        serve_stdio(sessions) if bound is None else serve_http(sessions, options.host, bound)


class CommandLine(argparse.ArgumentParser):
    """A parser that says what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: error: {' '.join(message.split())}; --help shows the options\n")


def command_line(name: str, now: str) -> CommandLine:
    """The options of a server."""
    parser = CommandLine(description=f"The MCP server of {name}.")
    parser.add_argument("--transport", choices=["stdio", "streamable-http"], default="stdio")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--task", metavar="ID", help="begin as this task of the world does")
    parser.add_argument("--state", type=Path, metavar="FILE", help="begin with this SQLite file")
    parser.add_argument("--now", metavar="TIME", help=f"the clock, YYYY-MM-DD HH:MM:SS (default: {now})")
    parser.add_argument("--caller", metavar="ID", help="who is signed in; without it the session signs in first")
    parser.add_argument("--dump", type=Path, metavar="FILE", help="write the end state here when a session closes")
    return parser


def check_dump(path: Path, own: Path) -> None:
    """OSError or ValueError where the end state could not be written there."""
    found = path.resolve()
    if found == own.resolve():
        raise ValueError(f"--dump {str(path)!r} is the world's own database, which every session begins with")
    new = not found.exists()
    if not new and not found.is_file():
        raise ValueError(f"--dump {str(path)!r} is not a file that can be written")
    found.open("ab").close()
    if new:
        found.unlink()


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

    def __init__(self, server: Server, state: State, dump: Path | None) -> None:
        self.server, self._state, self._dump = server, state, dump
        self._opened, self._open, self._lost = 0, dict[Session, int](), False

    def begin(self) -> Session:
        """Open one."""
        session = self.server.session(self._state)
        self._opened += 1
        self._open[session] = self._opened
        return session

    def close(self, session: Session) -> None:
        """Close it, if it is open still."""
        number = self._open.pop(session, 0)
        if not number:
            return
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
        for session in list(self._open):
            self.close(session)
        return int(self._lost)


def protocol_of(name: str, session_of: Callable[[Any], Session]) -> Any:
    """The MCP protocol of a world, whose requests find their session by their context."""
    import mcp_types as types
    from mcp.server.lowlevel import Server as Protocol

    async def list_tools(context: Any, _: Any) -> Any:
        found = session_of(context).tools.values()
        tools = [types.Tool(name=tool.name, description=tool.description, input_schema=tool.schema()) for tool in found]
        return types.ListToolsResult(tools=tools)

    async def call_tool(context: Any, request: Any) -> Any:
        result = session_of(context).call(request.name, request.arguments or {})
        value = result["value"] if result["ok"] else {"error": result["error"]}
        written = types.TextContent(type="text", text=json.dumps(value, ensure_ascii=False))
        structured = value if isinstance(value, dict) else {"result": value}
        return types.CallToolResult(content=[written], structured_content=structured, is_error=not result["ok"])

    return Protocol(name, on_list_tools=list_tools, on_call_tool=call_tool)


def serve_stdio(sessions: Sessions) -> NoReturn:
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
    protocol = protocol_of(sessions.server.name, lambda _: session)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, leave)
    try:
        anyio.run(serve)
    finally:
        status = sessions.end()
    sys.exit(status)


def serve_http(sessions: Sessions, host: str, bound: socket.socket) -> NoReturn:
    """Answer MCP clients; each MCP session has its own copy of the state."""
    import mcp_types as types
    import uvicorn
    from mcp.shared.exceptions import MCPError

    def session_of(context: Any) -> Session:
        # The connection is what lives as long as an MCP session; the SDK has no public name for it.
        held: Session = context.session._connection.state["session"]
        return held

    async def hold_state(context: Any, proceed: Any) -> Any:
        if context.method == "server/discover" or context.protocol_version >= "2026":
            # This protocol version has no sessions over HTTP: its clients fall back to the handshake, which has.
            raise MCPError(code=types.METHOD_NOT_FOUND, message="Sessions are needed: begin with initialize.")
        connection = context.session._connection
        if "session" not in connection.state:
            session = connection.state["session"] = sessions.begin()
            connection.exit_stack.callback(sessions.close, session)
        return await proceed(context)

    def leave(number: int, _: Any) -> None:
        raise SystemExit(sessions.end() or 128 + number)

    protocol = protocol_of(sessions.server.name, session_of)
    protocol.middleware.append(hold_state)
    app = protocol.streamable_http_app(host=host)
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=2)
    # uvicorn puts these handlers back and raises the signal again once it has shut down.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, leave)
    uvicorn.Server(config).run(sockets=[bound])
    sys.exit(sessions.end())


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
