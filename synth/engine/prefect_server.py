"""A Prefect API server for one run, and the environment that Prefect is imported in.

The server starts faster than Prefect's own, and ends with the run. Run as a program, this module is the server's
process. The environment must be set before Prefect is imported: its home is in the outputs folder, and of the
user's `PREFECT_*` variables only those count that say where a server is and how to log in.
"""

import http.client
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Mapping
from pathlib import Path

from skillweave.base.errors import ConfigError, SkillweaveError
from skillweave.config.llm import is_http_url

PREFECT_HOME = ".prefect"

USER_VARIABLES = ("PREFECT_API_URL", "PREFECT_API_KEY", "PREFECT_API_AUTH_STRING")
"""Variables of the user's that count, where the first is set."""

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
    f"PREFECT_SERVER_SERVICES_{name}_ENABLED": "false"
    for name in (
        "CANCELLATION_CLEANUP",
        "EVENT_LOGGER",
        "FOREMAN",
        "LATE_RUNS",
        "PAUSE_EXPIRATIONS",
        "REPOSSESSOR",
        "SCHEDULER",
        "TRIGGERS",
    )
} | {"PREFECT_SERVER_UI_ENABLED": "false", "PREFECT_SERVER_REGISTER_BLOCKS_ON_START": "false"}
"""A server for one run schedules nothing and shows nothing."""


LOOPBACK = "127.0.0.1,localhost"


def prefect_environment(outputs: Path, base: Mapping[str, str]) -> dict[str, str]:
    """The environment of everything that imports Prefect."""
    home = (outputs / PREFECT_HOME).resolve()
    kept = USER_VARIABLES if base.get("PREFECT_API_URL") else ()
    found = {name: value for name, value in base.items() if name in kept or not name.upper().startswith("PREFECT_")}
    found |= PREFECT_SETTINGS
    found["PREFECT_HOME"] = str(home)
    # A profiles file that does not exist: a profile of the user's own is not read.
    found["PREFECT_PROFILES_PATH"] = str(home / "profiles.toml")
    for name in ("NO_PROXY", "no_proxy"):
        found[name] = ",".join(filter(None, (base.get("no_proxy") or base.get("NO_PROXY"), LOOPBACK)))
    return found


def server_environment(outputs: Path, base: Mapping[str, str]) -> dict[str, str]:
    """The environment of our own server."""
    found = (
        prefect_environment(outputs, {name: value for name, value in base.items() if name not in USER_VARIABLES})
        | SERVER_SETTINGS
    )
    found.pop("PYTHONWARNINGS", None)
    return found


def apply_environment(outputs: Path, api_url: str) -> None:
    """Set the environment of this process. Prefect must not have been imported yet."""
    found = prefect_environment(outputs, os.environ)
    for name in os.environ.keys() - found.keys():
        del os.environ[name]
    os.environ.update(found)
    os.environ["PREFECT_API_URL"] = api_url


START_LIMIT_S = 120.0
_LOOK_EVERY_S = 0.1


class ApiServer:
    def __init__(self, environment: Mapping[str, str], log: Path, port: int | None = None) -> None:
        """Start the process; it is not up yet."""
        self.port = port or _free_port()
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
                # Of its own group, so that an interrupt at the keyboard reaches it only through us.
                start_new_session=True,
            )

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/api"

    def wait(self) -> bool:
        """Whether it came up. False where its process ended, or it took too long."""
        until = time.monotonic() + START_LIMIT_S
        while time.monotonic() < until and self._process.poll() is None:
            try:
                # Straight to this machine, whatever proxy the user's environment names.
                with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(f"{self.url}/health", timeout=5):
                    return True
            except (OSError, http.client.HTTPException):
                time.sleep(_LOOK_EVERY_S)
        return False

    def close(self) -> None:
        """End the process. Nothing in it is worth a slow goodbye: the manifest is the state."""
        self._process.kill()
        self._process.wait()

    def complaint(self) -> SkillweaveError:
        """What to say where it did not come up."""
        lines = self._log.read_text("utf-8", "replace").strip().splitlines()
        last = f"; it last said: {lines[-1][:200]}" if lines else ""
        return SkillweaveError(
            f"Prefect's API server did not start; its log is {self._log.name!r} in the outputs folder's logs{last}. "
            "Set PREFECT_API_URL to use a server that runs already"
        )


def require_answer(url: str, key: str | None) -> None:
    """Raise ConfigError where no Prefect server answers at the user's address."""
    if not is_http_url(url):
        raise ConfigError(f"PREFECT_API_URL is {url[:200]!r}; it must be a URL such as http://127.0.0.1:4200/api")
    try:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        urllib.request.urlopen(urllib.request.Request(f"{url.rstrip('/')}/health", headers=headers), timeout=10).close()
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise ConfigError(
            f"no Prefect server answers at PREFECT_API_URL {url[:200]!r}: {error}; "
            "start it, or unset the variable to use a server of our own"
        ) from error


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def _serve(parent: int, port: int) -> None:
    from skillweave.base.processes import die_with_parent

    die_with_parent(parent)
    import uvicorn

    uvicorn.run(
        "prefect.server.api.server:create_app",
        factory=True,
        host="127.0.0.1",
        port=port,
        log_level="error",
        lifespan="on",
    )


if __name__ == "__main__":
    _serve(int(sys.argv[1]), int(sys.argv[2]))
