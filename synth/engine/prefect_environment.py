"""What must stand in the environment before Prefect is imported: its home in the outputs folder, and nobody's profile.

Of the user's own variables only those count that say where a server is and how it is entered; the others would change
what our server and our flow do.
"""

import os
from collections.abc import Mapping
from pathlib import Path

HOME = ".prefect"

GIVEN = ("PREFECT_API_URL", "PREFECT_API_KEY", "PREFECT_API_AUTH_STRING")
"""Variables of the user's that count, where the first is set."""

SETTINGS = {
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

OWN_SERVER = {
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


def environment(outputs: Path, base: Mapping[str, str]) -> dict[str, str]:
    """The environment of everything that imports Prefect."""
    home = (outputs / HOME).resolve()
    kept = GIVEN if base.get("PREFECT_API_URL") else ()
    found = {name: value for name, value in base.items() if name in kept or not name.upper().startswith("PREFECT_")}
    found |= SETTINGS
    found["PREFECT_HOME"] = str(home)
    # A profiles file that does not exist: a profile of the user's own is not read.
    found["PREFECT_PROFILES_PATH"] = str(home / "profiles.toml")
    for name in ("NO_PROXY", "no_proxy"):
        found[name] = ",".join(filter(None, (base.get("no_proxy") or base.get("NO_PROXY"), LOOPBACK)))
    return found


def server_environment(outputs: Path, base: Mapping[str, str]) -> dict[str, str]:
    """The environment of our own server."""
    found = environment(outputs, {name: value for name, value in base.items() if name not in GIVEN}) | OWN_SERVER
    found.pop("PYTHONWARNINGS", None)
    return found


def apply(outputs: Path, api_url: str) -> None:
    """Set the environment of this process. Prefect must not have been imported yet."""
    found = environment(outputs, os.environ)
    for name in os.environ.keys() - found.keys():
        del os.environ[name]
    os.environ.update(found)
    os.environ["PREFECT_API_URL"] = api_url
