"""Drive a run from its plan to its end: the runner, Prefect's server, and the flow.

If there is nothing to do, neither a server nor Prefect is loaded.
"""

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from typing import Any

from skillweave.base.errors import ArtifactError, ConfigError
from skillweave.config.sections import Runner
from synth.engine import prefect_server as prefect_environment
from synth.engine.prefect_server import ApiServer, require_answer
from synth.engine.run import PipelineRun
from synth.engine.schedule import RunListener, Schedule
from synth.engine.step import PipelineStep

PACKAGES: dict[Runner, str] = {"dask": "prefect_dask", "ray": "prefect_ray"}


def require_runner(runner: Runner) -> None:
    """Raise ConfigError where a runner's package is not installed. Nothing is imported."""
    package = PACKAGES.get(runner)
    if package is not None and find_spec(package) is None:
        raise ConfigError(
            f"runner {runner!r} needs a package that is not installed; "
            f"install it with: pip install 'skillweave[{runner}]', or use --runner threads"
        )


def drive(
    run: PipelineRun, before: Sequence[PipelineStep[Any]], steps: Sequence[PipelineStep[Any]], listener: RunListener
) -> Schedule:
    """Bring `steps` up to date; those `before` them must be so already. The lock is held by the caller.

    Raises ConfigError where they are not.
    """
    schedule = Schedule(run, listener)
    require_settled(schedule, before)
    work = schedule.add(steps)
    try:
        if work:
            require_runner(run.spec.config.execution.runner)
            with _api(run):
                from synth.engine.flow import run_flow

                run_flow(run, schedule, work)
    except BaseException:
        with suppress(ArtifactError):
            # The journal holds it all; what ended the run is what is told.
            run.manifest.save()
        raise
    run.manifest.save()
    return schedule


def require_settled(schedule: Schedule, steps: Sequence[PipelineStep[Any]]) -> None:
    """Take on steps that have to be up to date. Raises ConfigError, naming the first item that is not."""
    again = " --retry-rejected" if schedule.retries_rejected else ""
    for work in schedule.add(steps):
        raise ConfigError(
            f"{work.item.step}/{work.item.key} is not up to date ({work.reason}), and later steps stand on it; "
            f"run it first: --step {work.step.short}{again}"
        )


@contextmanager
def _api(run: PipelineRun) -> Iterator[None]:
    """Prefect's API: the user's, or a server of our own."""
    outputs = run.spec.outputs
    url = os.environ.get("PREFECT_API_URL")
    if url:
        require_answer(url, os.environ.get("PREFECT_API_KEY"))
        prefect_environment.apply_environment(outputs, url)
        yield
        return
    server = _start(run)
    try:
        prefect_environment.apply_environment(outputs, server.url)
        import synth.engine.flow  # noqa: F401  loads while the server starts

        if not server.wait():
            server.close()
            # A home that an earlier run left damaged; nothing in it is needed.
            shutil.rmtree(outputs / prefect_environment.PREFECT_HOME, ignore_errors=True)
            server = _start(run, server.port)
            if not server.wait():
                raise server.complaint()
        yield
    finally:
        server.close()
        os.environ.pop("PREFECT_API_URL", None)


def _start(run: PipelineRun, port: int | None = None) -> ApiServer:
    outputs = run.spec.outputs
    (outputs / prefect_environment.PREFECT_HOME).mkdir(parents=True, exist_ok=True)
    variables = prefect_environment.server_environment(outputs, os.environ)
    return ApiServer(variables, outputs / "logs" / "prefect-server.log", port)
