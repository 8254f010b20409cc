"""A Prefect API server of our own, for one run: it is up sooner than Prefect's, and dies with us.

Run as a program it is the server's process; otherwise this is how to start one, and to know when it answers.
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

from skillweave.config.authors import is_http_url
from skillweave.errors import ConfigError, SkillweaveError

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
                [sys.executable, "-m", "synth.engine.api_server", str(os.getpid()), str(self.port)],
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
    from skillweave.lifeline import die_with_parent

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
