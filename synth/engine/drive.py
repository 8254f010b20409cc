"""Drive a run from its plan to its end: the runner, Prefect's server, and the flow.

If there is nothing to do, neither a server nor Prefect is loaded.
"""

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from skillweave.base.errors import ArtifactError, ConfigError
from synth.engine.prefect_server import (
    PREFECT_HOME,
    ApiServer,
    apply_environment,
    require_answer,
    server_environment,
)
from synth.engine.run import PipelineRun
from synth.engine.schedule import Schedule
from synth.engine.step import PipelineStep


def drive(run: PipelineRun, schedule: Schedule, steps: Sequence[PipelineStep[Any]]) -> None:
    """Bring steps up to date. The caller holds the lock of the outputs folder.

    Args:
        run: The run.
        schedule: Its schedule, with the steps before; it gets the record of each settled item.
        steps: The steps to bring up to date.

    Raises:
        ConfigError: The user's Prefect server does not answer.
    """
    work = schedule.add(steps)
    try:
        if work:
            with _api(run, steps):
                # Prefect reads its environment when it is imported, and takes seconds to import.
                from synth.engine.flow import run_flow

                run_flow(run, schedule, work)
    except BaseException:
        with suppress(ArtifactError):
            # The journal holds all records. The error that ended the run is the one to show.
            run.manifest.save()
        raise
    run.manifest.save()


def require_settled(schedule: Schedule, steps: Sequence[PipelineStep[Any]]) -> None:
    """Add steps that have to be up to date. Raises ConfigError, which names the first item that is not."""
    again = " --retry-rejected" if schedule.retries_rejected else ""
    for due in schedule.add(steps):
        raise ConfigError(
            f"{due.item.step}/{due.item.key} is not up to date ({due.reason}), and later steps stand on it; "
            f"run it first: --step {due.step.short}{again}"
        )


@contextmanager
def _api(run: PipelineRun, steps: Sequence[PipelineStep[Any]]) -> Iterator[None]:
    """Prefect's API: the server that the user's environment names, or one that the run starts for these steps."""
    outputs = run.spec.outputs
    url = os.environ.get("PREFECT_API_URL")
    if url:
        require_answer(url, os.environ.get("PREFECT_API_KEY"))
        apply_environment(outputs, url)
        yield
        return
    server = _start(run)
    try:
        apply_environment(outputs, server.url)
        # While the server starts, the pool and Prefect load.
        run.warm_up(steps)
        import synth.engine.flow  # noqa: F401

        if not server.wait():
            raise server.start_error()
        yield
    finally:
        server.close()
        os.environ.pop("PREFECT_API_URL", None)


def _start(run: PipelineRun) -> ApiServer:
    outputs = run.spec.outputs
    # Nothing that an earlier run left there is needed, and it may be damaged.
    shutil.rmtree(outputs / PREFECT_HOME, ignore_errors=True)
    (outputs / PREFECT_HOME).mkdir(parents=True, exist_ok=True)
    return ApiServer(server_environment(outputs, os.environ), outputs / "logs" / "prefect-server.log")
