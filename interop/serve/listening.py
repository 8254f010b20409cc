"""How a server listens, and how it ends.

A connection takes an open file, of which a process has so many. A few files are kept for the server's own work, and a
few for connections beyond those that there is room for: these are told so and closed. What comes still faster waits in
the system's queue.
"""

import asyncio
import errno
import math
import signal
import socket
import sys
from asyncio import constants
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, ClassVar

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from interop.serve.http import BEYOND, MAX_BODY_BYTES
from skillweave.base.errors import ConfigError

RESERVED_FILES = 64
"""Open files that are no client's: the server's own, its models', and those of connections that are turned away."""
MIN_ROOM = 8
MAX_BEYOND = 24
"""Connections at once that are turned away."""
BEYOND_S = 5.0
"""Seconds until a connection that is turned away is closed, if nothing is asked."""
AT_ONCE = 8
"""Connections that are accepted before what they ask is read."""
QUEUE = 2048
"""Connections that wait in the system's queue."""
PAUSE_S = 0.05
"""Seconds without accepting, where there are too many connections."""
OUT_OF_FILES = (errno.EMFILE, errno.ENFILE)


def room_of(files: int) -> int:
    """For how many connections that many open files have room."""
    return max(MIN_ROOM, files - RESERVED_FILES)


class ListeningSocket(socket.socket):
    """Accepts a few connections at a time, and none while there are too many.

    asyncio's loop pauses where `accept` finds no open file; in Python 3.11 it goes on calling all the same, as often as
    its queue is long, and prints a traceback each time.
    """

    connections: Collection[object] = ()
    """Those that are open."""
    most: float = math.inf
    _is_pausing = False

    def listen(self, backlog: int = QUEUE, /) -> None:
        """Begin to listen. asyncio names what it accepts in a row; the system's queue has to be longer."""
        super().listen(QUEUE)

    def accept(self) -> tuple[socket.socket, Any]:
        """The next connection. Raises OSError once where there is no room, then BlockingIOError, which ends the row."""
        if self._is_pausing:
            self._is_pausing = False
            raise BlockingIOError
        try:
            if len(self.connections) >= self.most:
                raise OSError(errno.EMFILE, "too many connections")
            return super().accept()
        except OSError as error:
            self._is_pausing = error.errno in OUT_OF_FILES
            raise


class ClientProtocol(H11Protocol):
    """A connection, which knows whether it is one more than there is room for."""

    room: ClassVar[int]

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin."""
        if len(self.connections) >= self.room:
            self.app_state = {**self.app_state, BEYOND: True}
            self.loop.call_later(BEYOND_S, transport.close)
        super().connection_made(transport)


def listen(host: str, port: int) -> ListeningSocket:
    """Open a socket that accepts connections. Raises ConfigError if the address cannot be used."""
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        # Of a socket whose protocol is not named, asyncio leaves Nagle's algorithm on: 40 ms for each answer.
        bound = ListeningSocket(family, kind, socket.IPPROTO_TCP)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigError(f"cannot listen at --host {host!r} --port {port}: {reason}") from None
    return bound


def url_of(bound: socket.socket) -> str:
    """The address at which a socket is reached."""
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def run(app: ASGIApp, bound: ListeningSocket, ready: Callable[[], None], room: int) -> int:
    """Serve until a signal. Requests under way get two seconds to end.

    Args:
        app: The application.
        bound: Where it listens.
        ready: Called when it does.
        room: For how many connections there is room; further ones are turned away.

    Returns:
        The exit status: 0 after SIGTERM, 130 after an interrupt.
    """
    config = uvicorn.Config(
        app,
        log_level="error",
        access_log=False,
        lifespan="on",
        backlog=AT_ONCE,
        http=type("RoomyProtocol", (ClientProtocol,), {"room": room}),
        loop="asyncio",
        ws="websockets-sansio",
        ws_max_size=MAX_BODY_BYTES,
        # Answers are short, and compressing them takes longer than the step.
        ws_per_message_deflate=False,
        # A client whose thread waits for its model answers no ping meanwhile.
        ws_ping_interval=60.0,
        ws_ping_timeout=600.0,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=2,
        server_header=False,
    )
    server = EnvironmentServer(config, ready)
    bound.connections, bound.most = server.server_state.connections, room + MAX_BEYOND
    constants.ACCEPT_RETRY_DELAY = PAUSE_S  # type: ignore[misc, assignment]
    server.run(sockets=[bound])
    return 130 if server.was_interrupted else 0


class EnvironmentServer(uvicorn.Server):
    """Uvicorn's server, which says when it is ready and leaves the exit status to the command."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready
        self.was_interrupted = False
        self._is_crowded = False

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen."""
        asyncio.get_running_loop().set_exception_handler(self._report)
        await super().startup(sockets)
        self._ready()

    def _report(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Say once that there are too many connections; other errors are reported as usual."""
        error = context.get("exception")
        if not isinstance(error, OSError) or error.errno not in OUT_OF_FILES:
            loop.default_exception_handler(context)
        elif not self._is_crowded:
            self._is_crowded = True
            print(
                f"warning: {len(self.server_state.connections):,} connections, as many as there are open files for; "
                "others wait, or are answered with status 503; allow more with ulimit -n",
                file=sys.stderr,
                flush=True,
            )

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """End at a signal; at a second one, without waiting for requests."""

        def leave(number: int, frame: FrameType | None) -> None:
            self.was_interrupted = self.was_interrupted or number == signal.SIGINT
            self.force_exit = self.should_exit
            self.should_exit = True

        before = {number: signal.signal(number, leave) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
