"""Runners: where items run, and which package each needs."""

from importlib.util import find_spec

from skillweave.config.models import Runner
from skillweave.errors import ConfigError

PACKAGES: dict[Runner, str] = {"dask": "prefect_dask", "ray": "prefect_ray"}


def require_runner(runner: Runner) -> None:
    """Raise ConfigError where a runner's package is not installed. Nothing is imported."""
    package = PACKAGES.get(runner)
    if package is not None and find_spec(package) is None:
        raise ConfigError(
            f"runner {runner!r} needs a package that is not installed; "
            f"install it with: pip install 'skillweave[{runner}]', or use --runner threads"
        )
