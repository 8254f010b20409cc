"""A Prefect API server for one run, and the environment that Prefect is imported in.

The server starts faster than Prefect's own, and ends with the run. Run as a program, this module is the server's
process. The environment must be set before Prefect is imported: its home is in the outputs folder, and of the
user's `PREFECT_*` variables only those count that say where a server is and how to log in.
"""

import asyncio
import http.client
import os
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from urllib.request import Request

from skillweave.base.command import die_with_parent
from skillweave.base.errors import ConfigError, SkillweaveError
from skillweave.base.machine import in_words
from skillweave.base.proxy import LOOPBACK, opener_for, proxy_for
from skillweave.config.llm import is_http_url

PREFECT_HOME = ".prefect"
"""Prefect's folder, in the outputs folder."""
START_LIMIT_S = 120.0
"""How long a server may take to start."""
_POLL_S = 0.1
PROBE_BYTES = 1 << 20

USER_VARIABLES = ("PREFECT_API_URL", "PREFECT_API_KEY", "PREFECT_API_AUTH_STRING")
"""The user's variables that count, if the first one is set."""

PREFECT_SETTINGS = {
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_TELEMETRY_ENABLE_RESOURCE_METRICS": "false",
    "PREFECT_CLOUD_ENABLE_ORCHESTRATION_TELEMETRY": "false",
    "DO_NOT_TRACK": "1",
    "PREFECT_LOGGING_LEVEL": "CRITICAL",
    "PREFECT_LOGGING_TO_API_ENABLED": "false",
    "PREFECT_RESULTS_PERSIST_BY_DEFAULT": "false",
    "PREFECT_RESULTS_DEFAULT_SERIALIZER": "json",
    "PREFECT_TASKS_DEFAULT_PERSIST_RESULT": "false",
}

SERVER_SETTINGS = {
    "PREFECT_API_DATABASE_MIGRATE_ON_START": "false",
    "PREFECT_SERVER_REGISTER_BLOCKS_ON_START": "false",
    "PREFECT_SERVER_UI_ENABLED": "false",
}
"""A server for one run has a fresh database, and shows nothing."""


def prefect_environment(outputs: Path, base: Mapping[str, str]) -> dict[str, str]:
    """The environment for any process that imports Prefect.

    Args:
        outputs: The outputs folder.
        base: The environment of this process.
    """
    home = (outputs / PREFECT_HOME).resolve()
    kept = USER_VARIABLES if base.get("PREFECT_API_URL") else ()
    variables = {name: value for name, value in base.items() if name in kept or not name.upper().startswith("PREFECT_")}
    variables |= PREFECT_SETTINGS
    variables["PREFECT_HOME"] = str(home)
    # This file does not exist, so that Prefect reads no profile of the user's.
    variables["PREFECT_PROFILES_PATH"] = str(home / "profiles.toml")
    for name in ("NO_PROXY", "no_proxy"):
        variables[name] = ",".join(filter(None, (base.get("no_proxy") or base.get("NO_PROXY"), LOOPBACK)))
    return variables


def server_environment(outputs: Path, base: Mapping[str, str]) -> dict[str, str]:
    """The environment of the run's own server; arguments as in `prefect_environment`."""
    others = {name: value for name, value in base.items() if name not in (*USER_VARIABLES, "PYTHONWARNINGS")}
    return prefect_environment(outputs, others) | SERVER_SETTINGS


def apply_environment(outputs: Path, api_url: str) -> None:
    """Set the environment of this process. Prefect must not have been imported before."""
    variables = prefect_environment(outputs, os.environ)
    for name in os.environ.keys() - variables.keys():
        del os.environ[name]
    os.environ.update(variables)
    os.environ["PREFECT_API_URL"] = api_url


class ApiServer:
    """The process of a server."""

    def __init__(self, environment: Mapping[str, str], log: Path) -> None:
        """Start the process. It answers only after `wait`.

        Args:
            environment: The process's environment; its PREFECT_HOME must be an empty folder.
            log: The file for its output; an older one is replaced.
        """
        self.port = _free_port()
        self._log = log
        log.parent.mkdir(parents=True, exist_ok=True)
        log.unlink(missing_ok=True)
        with log.open("xb") as stream:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "synth.engine.prefect_server", str(os.getpid()), str(self.port)],
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                # In a process group of its own, so that an interrupt at the keyboard does not reach it.
                start_new_session=True,
            )

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/api"

    def wait(self) -> bool:
        """Wait until it answers. False if its process ended, or it took longer than START_LIMIT_S."""
        until = time.monotonic() + START_LIMIT_S
        while time.monotonic() < until and self._process.poll() is None:
            try:
                with opener_for(self.url).open(f"{self.url}/health", timeout=5):
                    return True
            except (OSError, http.client.HTTPException):
                time.sleep(_POLL_S)
        return False

    def close(self) -> None:
        """Kill the process. It holds nothing that has to be saved: the manifest is the state."""
        self._process.kill()
        self._process.wait()

    def start_error(self) -> SkillweaveError:
        """The error for a server that did not start. On a full disk it cannot say so in its log."""
        try:
            probe = self._log.with_suffix(".probe")
            probe.write_bytes(bytes(PROBE_BYTES))
            probe.unlink()
        except OSError as error:
            return SkillweaveError(
                f"Prefect's API server did not start: cannot write {str(probe)!r}: {in_words(error)}"
            )
        lines = self._log.read_text("utf-8", "replace").strip().splitlines()
        last = f"; it last said: {lines[-1][:200]}" if lines else ""
        return SkillweaveError(
            f"Prefect's API server did not start; its log is {self._log.name!r} in the outputs folder's logs{last}. "
            "Set PREFECT_API_URL to use a server that runs already"
        )


def require_answer(url: str, key: str | None) -> None:
    """Raise ConfigError if no Prefect server answers at the address that the user gave."""
    if not is_http_url(url):
        raise ConfigError(f"PREFECT_API_URL is {url[:200]!r}; it must be a URL such as http://127.0.0.1:4200/api")
    proxy = proxy_for(url)
    try:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        opener_for(url).open(Request(f"{url.rstrip('/')}/health", headers=headers), timeout=10).close()
    except (OSError, ValueError, http.client.HTTPException) as error:
        through = "" if proxy is None else f" through {proxy}"
        raise ConfigError(
            f"no Prefect server answers at PREFECT_API_URL {url[:200]!r}{through}: {error}; "
            "start it, or unset the variable so that the run starts its own"
        ) from error


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


async def _serve(port: int) -> None:
    # Only the server's process needs them.
    import uvicorn
    from prefect.server.api.server import create_app
    from prefect.server.database import provide_database_interface
    from sqlalchemy.schema import CreateIndex, CreateTable

    app = create_app(webserver_only=True)
    database = provide_database_interface()
    async with (await database.engine()).begin() as connection:
        # The tables at once; Prefect's own hundreds of migrations take seconds.
        for table in database.Base.metadata.sorted_tables:
            await connection.execute(CreateTable(table, if_not_exists=True))
            for index in table.indexes:
                await connection.execute(CreateIndex(index, if_not_exists=True))
    # Of the services that record and schedule, none has work here: the manifest is the record. They would be started
    # with the application's life, and look for work many times a second.
    await uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=port, log_level="error", lifespan="off")).serve()


if __name__ == "__main__":
    die_with_parent(int(sys.argv[1]))
    asyncio.run(_serve(int(sys.argv[2])))
