"""What must stand in the environment before Prefect is imported: its home in the outputs folder, and nobody's profile.

A variable that the user has set wins, the home apart.
"""

import os
from collections.abc import Mapping
from pathlib import Path

HOME = ".prefect"

SETTINGS = {
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_TELEMETRY_ENABLE_RESOURCE_METRICS": "false",
    "PREFECT_CLOUD_ENABLE_ORCHESTRATION_TELEMETRY": "false",
    "DO_NOT_TRACK": "1",
    "PREFECT_LOGGING_LEVEL": "ERROR",
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


def environment(outputs: Path, base: Mapping[str, str]) -> dict[str, str]:
    """The environment of everything that imports Prefect."""
    home = (outputs / HOME).resolve()
    found = SETTINGS | dict(base)
    found["PREFECT_HOME"] = str(home)
    # A profiles file that does not exist: a profile of the user's own is not read.
    found["PREFECT_PROFILES_PATH"] = str(home / "profiles.toml")
    found.pop("PREFECT_PROFILE", None)
    return found


def server_environment(outputs: Path, base: Mapping[str, str]) -> dict[str, str]:
    """The environment of our own server."""
    found = OWN_SERVER | environment(outputs, base)
    found.pop("PREFECT_API_URL", None)
    return found


def apply(outputs: Path, api_url: str) -> None:
    """Set the environment of this process. Prefect must not have been imported yet."""
    os.environ.update(environment(outputs, os.environ))
    os.environ["PREFECT_API_URL"] = api_url
