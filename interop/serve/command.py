"""The command `serve`: one process that serves all tasks of a dataset over one protocol."""

import os
import sys
from collections.abc import Callable
from importlib import import_module
from typing import NamedTuple

from interop.environments import EpisodeFactory, configuration
from interop.options import ServeOptions
from interop.serve.http import RequestGate
from interop.serve.listening import listen, room_of, run, url_of
from interop.serve.sessions import IDLE_TIMEOUT_S, MAX_SESSIONS, STEP_TIMEOUT_S, SessionPool
from rollout.world.source import ONLY_SCRIPTED, is_scripted
from skillweave.base.command import counted
from skillweave.base.errors import ConfigError
from skillweave.base.machine import raise_open_files
from skillweave.base.proxy import is_loopback


class WireProtocol(NamedTuple):
    """A protocol that is served."""

    module: str
    """Has `application(pool) -> Starlette`, and perhaps `new_id() -> str`."""
    port: int
    """Its usual port."""
    connections: int
    """How many a session's client holds open."""
    use: str
    """How a client connects; `{url}` is the server's address."""


PROTOCOLS = {
    "agentgym": WireProtocol(
        "interop.serve.agentgym",
        36001,
        1,
        "AgentGym's HTTP dialect of textcraft: POST {url}/create, /reset, /step, /close",
    ),
    "openenv": WireProtocol(
        "interop.serve.openenv",
        8000,
        1,
        'openenv: GenericEnvClient(base_url="{url}").reset(task_id=...), .step({{"type": "call_tool", ...}})',
    ),
    "mcp": WireProtocol("interop.serve.mcp", 8001, 2, "an MCP client over streamable HTTP: {url}/mcp"),
}


def run_serve(options: ServeOptions) -> int:
    """Serve until a signal.

    Returns:
        The exit status.

    Raises:
        ArtifactError: There is no dataset, or it has no tasks.
        ConfigError: An option is wrong.
    """
    protocol = PROTOCOLS.get(options.protocol)
    if protocol is None:
        raise ConfigError(f"unknown protocol {options.protocol!r}; there are {', '.join(PROTOCOLS)}")
    token = _token(options)
    factory = _factory(options)
    module = import_module(protocol.module)
    files = raise_open_files()
    room = room_of(files)
    pool = _pool(options, factory, room // protocol.connections, getattr(module, "new_id", None))
    bound = listen(options.host, protocol.port if options.port is None else options.port)
    gate = RequestGate(module.application(pool), token)

    def ready() -> None:
        url = url_of(bound)
        print(
            f"serving {options.protocol} at {url} ({counted(len(factory.ids), 'task')}, "
            f"at most {counted(pool.most, 'session')}); ctrl-c ends it",
            flush=True,
        )
        if pool.most < (wanted := options.max_sessions or MAX_SESSIONS):
            print(
                f"warning: {files:,} open files have room for {counted(pool.most, 'session')}, not for {wanted:,}; "
                "others are answered with status 503; allow more with ulimit -n",
                file=sys.stderr,
                flush=True,
            )
        print(f"connect: {protocol.use.format(url=url)}", flush=True)
        if token is not None:
            print(f"clients send `Authorization: Bearer` with the token in {options.token_env}", flush=True)
        user = factory.config.rollout.user
        if user is not None and is_scripted(user):
            print(f"warning: {ONLY_SCRIPTED}; name another with --user PROVIDER/MODEL", file=sys.stderr, flush=True)

    return run(gate, bound, ready, room)


def _token(options: ServeOptions) -> str | None:
    """The bearer token. Raises ConfigError if there is none where one is needed."""
    if options.token_env is None:
        if not is_loopback(options.host):
            raise ConfigError(f"--host {options.host} is other than loopback: name a bearer token with --token-env")
        return None
    token = os.environ.get(options.token_env, "").strip()
    if not token:
        raise ConfigError(f"--token-env {options.token_env}: that environment variable is not set, or empty")
    return token


def _factory(options: ServeOptions) -> EpisodeFactory:
    return EpisodeFactory(
        options.outputs,
        user=options.user,
        split=options.split,
        compact=options.compact,
        config=configuration(options.config, options.overrides),
        step_timeout_s=STEP_TIMEOUT_S if options.step_timeout_s is None else options.step_timeout_s,
    )


def _pool(options: ServeOptions, factory: EpisodeFactory, room: int, new_id: Callable[[], str] | None) -> SessionPool:
    pool = SessionPool(
        factory,
        most=min(options.max_sessions or MAX_SESSIONS, room),
        idle_timeout_s=IDLE_TIMEOUT_S if options.idle_timeout_s is None else options.idle_timeout_s,
    )
    if new_id is not None:
        pool.new_id = new_id
    return pool
