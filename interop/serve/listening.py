"""How a server listens, and how it ends."""

import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import uvicorn
from starlette.types import ASGIApp

from interop.serve.http import MAX_BODY_BYTES
from skillweave.base.errors import ConfigError


def listen(host: str, port: int) -> socket.socket:
    """Open a socket that accepts connections. Raises ConfigError if the address cannot be used."""
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        # Of a socket whose protocol is not named, asyncio leaves Nagle's algorithm on: 40 ms for each answer.
        bound = socket.socket(family, kind, socket.IPPROTO_TCP)
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


def run(app: ASGIApp, bound: socket.socket, ready: Callable[[], None]) -> int:
    """Serve until a signal. Requests under way get two seconds to end.

    Args:
        app: The application.
        bound: Where it listens.
        ready: Called when it does.

    Returns:
        The exit status: 0 after SIGTERM, 130 after an interrupt.
    """
    config = uvicorn.Config(
        app,
        log_level="error",
        access_log=False,
        lifespan="on",
        backlog=2048,
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
    server.run(sockets=[bound])
    return 130 if server.was_interrupted else 0


class EnvironmentServer(uvicorn.Server):
    """Uvicorn's server, which says when it is ready and leaves the exit status to the command."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready
        self.was_interrupted = False

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen."""
        await super().startup(sockets)
        self._ready()

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
