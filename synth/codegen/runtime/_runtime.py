"""What a generated server stands on: its registry of tools, its command line, and the MCP transports.

What the tools mean is in the server's own file; nothing of it is known here.
"""

import argparse
import json
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from _arguments import Date, Moment, Refused, Row  # type: ignore[import-not-found]
from _session import Kind, Session, State, Tool, transfer_to_human  # type: ignore[import-not-found]

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
                    start, person = (
                        task["initial_state"],
                        task["env_variables"]["LOGGED_IN_USER"],
                    )
                    caller = person if task["login"] == "session" else None
                    database = self.database(start["database"])
                    return State(
                        database,
                        task["now"],
                        caller,
                        start.get("patch", ()),
                        task.get("tools_hidden", ()),
                    )
        raise ValueError(f"no task {wanted!r} in {path.name}")

    def run(self) -> None:
        """Serve, as the command line says."""
        parser = argparse.ArgumentParser(description=f"The MCP server of {self.name}.")
        parser.add_argument("--transport", choices=["stdio", "streamable-http"], default="stdio")
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", type=int, default=8000)
        parser.add_argument("--task", metavar="ID", help="begin as this task of the world does")
        parser.add_argument("--state", type=Path, metavar="FILE", help="begin with this SQLite file")
        parser.add_argument("--now", default=self.now, help="the clock of --state, YYYY-MM-DD HH:MM:SS")
        parser.add_argument(
            "--caller",
            metavar="ID",
            help="who is signed in; without it the session signs in first",
        )
        parser.add_argument(
            "--dump",
            type=Path,
            metavar="FILE",
            help="write the end state here when a session closes",
        )
        options = parser.parse_args()
        try:
            if options.task and (options.state or options.caller):
                raise ValueError("--task brings its own state, clock and caller; leave out --state and --caller")
            own = f"database/{self.name}.sqlite"
            database = options.state.read_bytes() if options.state else b"" if options.task else self.database(own)
            state = self.task(options.task) if options.task else State(database, options.now, options.caller)
            self.session(state).connection.close()
        except (OSError, ValueError, KeyError, TypeError, sqlite3.Error) as error:
            parser.error(f"cannot open {self.name}: {error}")
        serve(self, state, options)


def serve(server: Server, state: State, options: argparse.Namespace) -> None:
    """Answer MCP clients; each MCP session has its own copy of the state."""
    import anyio
    import mcp_types as types
    import uvicorn
    from mcp.server.lowlevel import Server as Protocol
    from mcp.server.stdio import stdio_server
    from mcp.shared.exceptions import MCPError

    opened: list[Session] = []

    def begin() -> Session:
        opened.append(server.session(state))
        return opened[-1]

    def close(session: Session) -> None:
        if options.dump:
            number = opened.index(session) + 1
            suffix = f"-{number}" if number > 1 else ""
            dump: Path = options.dump.with_name(f"{options.dump.stem}{suffix}{options.dump.suffix}")
            dump.write_bytes(session.connection.serialize())
        session.connection.close()

    async def hold_state(context: Any, proceed: Any) -> Any:
        if context.method == "server/discover" or context.protocol_version >= "2026":
            # This protocol version has no sessions over HTTP: its clients fall back to the handshake, which has.
            raise MCPError(code=types.METHOD_NOT_FOUND, message="Sessions are needed: begin with initialize.")
        # The connection is what lives as long as an MCP session; the SDK has no public name for it.
        connection = context.session._connection
        if "session" not in connection.state:
            connection.state["session"] = begin()
            connection.exit_stack.callback(close, connection.state["session"])
        return await proceed(context)

    def session_of(context: Any) -> Session:
        # Over stdio the process is the session.
        held: Session = opened[0] if options.transport == "stdio" else context.session._connection.state["session"]
        return held

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

    protocol: Any = Protocol(server.name, on_list_tools=list_tools, on_call_tool=call_tool)

    async def over_stdio() -> None:
        async with stdio_server() as (reading, writing):
            await protocol.run(reading, writing, protocol.create_initialization_options())

    if options.transport == "stdio":
        session = begin()
        try:
            anyio.run(over_stdio)
        finally:
            close(session)
    else:
        protocol.middleware.append(hold_state)
        app = protocol.streamable_http_app(host=options.host)
        uvicorn.run(app, host=options.host, port=options.port, log_level="warning")
