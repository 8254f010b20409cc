"""The base of a generated server: its registry of tools, its sessions, and its command line.

What the tools do is in the server's own file. This file knows nothing of it.
"""

import argparse
import json
import sqlite3
import sys
import typing
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, NoReturn

from _arguments import Date, Moment, Refused, Row, Unfit  # type: ignore[import-not-found]
from _people import Member, People  # type: ignore[import-not-found]
from _session import Kind, ServerSession, ServerTool, session_tools  # type: ignore[import-not-found]
from _state import ServerState, check_state  # type: ignore[import-not-found]
from _transport import OpenSessions, listen, serve_http, serve_stdio  # type: ignore[import-not-found]

__all__ = ["Date", "Member", "Moment", "People", "Refused", "Row", "Server", "ServerSession", "ServerState"]


class Server:
    """A world's server: its tools, and the ways to open a session of it."""

    def __init__(
        self, name: str, *, now: str, ids: Mapping[str, str], rules: list[str], people: People | None = None
    ) -> None:
        """Describe the world.

        Args:
            name: The world's name.
            now: The clock of a session that is opened without a task, `YYYY-MM-DD HH:MM:SS`.
            ids: Table -> prefix of its keys, for the tables into which tools insert.
            rules: Numbers of the rules by which requests can be declined.
            people: The shared persons of a world of several domains.
        """
        self.name, self.now, self.ids, self.people = name, now, ids, people
        self.folder = Path(__file__).resolve().parent.parent
        self.tools: list[ServerTool] = []
        self.own = session_tools(rules)

    def tool(
        self, kind: Kind, description: str | None = None, *, member: str | None = None
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Register a function as a tool.

        Args:
            kind: `auth`, `read` or `write`.
            description: The description; None for the first paragraph of the docstring.
            member: The domain whose tool it is, in a world of several.
        """

        # Annotations are evaluated next. Python's caches take Literal["a", "b"] for Literal["b", "a"]; clients do not.
        for forget in typing._cleanups:  # type: ignore[attr-defined]
            forget()

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            self.tools.append(ServerTool(function, kind, description, member))
            return function

        return register

    def session(
        self, state: ServerState | None = None, *, caller: str | None = None, patch: Iterable[Row] = ()
    ) -> ServerSession:
        """Open a session of a state, or of the world's own database with this caller and these row changes."""
        start = state or ServerState(self.database(f"database/{self.name}.sqlite"), self.now, caller, patch)
        return ServerSession([*self.tools, *self.own], self.ids, start, self.people)

    def database(self, path: str) -> bytes:
        """Read a database. ValueError if its path leaves the outputs folder."""
        file = self.folder / path
        if file.is_symlink() or not file.resolve().is_relative_to(self.folder):
            raise ValueError(f"the path {path!r} does not stay in the outputs folder")
        return file.read_bytes()

    def task(self, wanted: str) -> ServerState:
        """The state in which a task of this world starts. ValueError if there is no such task."""
        path = self.folder / "queries" / f"{self.name}.jsonl"
        with path.open(encoding="utf-8") as lines:
            for line in lines:
                task = json.loads(line) if json.dumps(wanted) in line else {}
                if task.get("id") == wanted:
                    start, person = task["initial_state"], task["env_variables"]["LOGGED_IN_USER"]
                    caller = person if task["login"] == "session" else None
                    rows, hidden = start.get("patch", ()), task.get("tools_hidden", ())
                    database = self.database(start["database"])
                    return ServerState(database, task["now"], caller, rows, hidden, task.get("noise"))
        raise ValueError(f"no task {wanted!r} in {path.name}")

    def run(self) -> None:
        """Serve as the command line says."""
        members = list(self.people.members) if self.people else []
        parser = command_line(self.name, self.now, members)
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
                state = ServerState(database, self.now if options.now is None else options.now, options.caller)
            with closing(self.session(state).connection) as opened:
                check_state(state, opened, own.read_bytes(), self.people)
            if options.split and options.transport == "stdio":
                raise ValueError("--split needs --transport streamable-http; over stdio there is --member")
            if options.dump:
                check_dump(options.dump, own)
            if options.transport != "stdio":
                bound = listen(options.host, options.port)
        except Unfit as unfit:
            parser.error(f"cannot open {self.name}: the clock {unfit}")
        except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError, sqlite3.Error) as error:
            parser.error(f"cannot open {self.name}: {error}")
        sessions = OpenSessions(lambda: self.session(state), options.dump)
        try:
            if bound is None:
                serve_stdio(self.name, sessions, options.member)
            members_at = {f"/{member}/mcp": member for member in members} if options.split else {}
            serve_http(self.name, sessions, options.host, bound, {**members_at, "/mcp": options.member})
        except ModuleNotFoundError as error:
            parser.exit(
                2,
                f"{parser.prog}: error: the module {error.name!r} is not installed for {sys.executable}; activate the "
                "environment of Skillweave (`. .venv/bin/activate`), or install it (`pip install .`)\n",
            )


class CommandLine(argparse.ArgumentParser):
    """A parser that reports an error in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: error: {' '.join(message.split())}; --help shows the options\n")


def command_line(name: str, now: str, members: list[str]) -> CommandLine:
    """The options of a server. In a world of several domains they name its members."""
    parser = CommandLine(description=f"The MCP server of {name}.")
    parser.add_argument("--transport", choices=["stdio", "streamable-http"], default="stdio")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--task", metavar="ID", help="begin as this task of the world does")
    parser.add_argument("--state", type=Path, metavar="FILE", help="begin with this SQLite file")
    parser.add_argument("--now", metavar="TIME", help=f"the clock, YYYY-MM-DD HH:MM:SS (default: {now})")
    parser.add_argument("--caller", metavar="ID", help="who is signed in; without it the session signs in first")
    parser.add_argument("--dump", type=Path, metavar="FILE", help="write the end state here when a session closes")
    parser.set_defaults(member=None, split=False)
    if members:
        apart = parser.add_mutually_exclusive_group()
        apart.add_argument("--member", choices=members, help="offer only the tools of this member")
        each = " and ".join(f"/{member}/mcp" for member in members)
        apart.add_argument("--split", action="store_true", help=f"over HTTP: offer each member's tools at {each} too")
    return parser


def check_dump(path: Path, own: Path) -> None:
    """Raise OSError or ValueError if the end state could not be written to this file."""
    file = path.resolve()
    if file == own.resolve():
        raise ValueError(f"--dump {str(path)!r} is the world's own database, which every session begins with")
    is_new = not file.exists()
    if not is_new and not file.is_file():
        raise ValueError(f"--dump {str(path)!r} is not a file that can be written")
    file.open("ab").close()
    if is_new:
        file.unlink()
