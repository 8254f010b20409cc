"""Drive a run from its plan to its end: the lock, Prefect's server, the flow, and what came of it.

Where nothing is to be done, neither a server nor Prefect itself is loaded.
"""

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from skillweave.errors import ArtifactError, ConfigError
from synth.engine import prefect_environment
from synth.engine.api_server import ApiServer, require_answer
from synth.engine.run import Run
from synth.engine.runner import require_runner
from synth.engine.schedule import Listener, Schedule
from synth.step import Step


def drive(run: Run, before: Sequence[Step[Any]], steps: Sequence[Step[Any]], listener: Listener) -> Schedule:
    """Bring `steps` up to date; those `before` them must be so already. The lock is held by the caller.

    Raises ConfigError where they are not.
    """
    schedule = Schedule(run, listener)
    check_settled(schedule, before)
    work = schedule.add(steps)
    try:
        if work:
            require_runner(run.spec.config.execution.runner)
            with _api(run):
                from synth.flow import run_flow

                run_flow(run, schedule, work)
    except BaseException:
        with suppress(ArtifactError):
            # The journal holds it all; what ended the run is what is told.
            run.manifest.save()
        raise
    run.manifest.save()
    return schedule


def check_settled(schedule: Schedule, steps: Sequence[Step[Any]]) -> None:
    """Take on steps that have to be up to date. Raises ConfigError, naming the first item that is not."""
    again = " --retry-rejected" if schedule.retries_rejected else ""
    for work in schedule.add(steps):
        raise ConfigError(
            f"{work.item.step}/{work.item.key} is not up to date ({work.reason}), and later steps stand on it; "
            f"run it first: --step {work.step.short}{again}"
        )


@contextmanager
def _api(run: Run) -> Iterator[None]:
    """Prefect's API: the user's, or a server of our own."""
    outputs = run.spec.outputs
    url = os.environ.get("PREFECT_API_URL")
    if url:
        require_answer(url, os.environ.get("PREFECT_API_KEY"))
        prefect_environment.apply(outputs, url)
        yield
        return
    server = _start(run)
    try:
        prefect_environment.apply(outputs, server.url)
        import synth.flow  # noqa: F401  loads while the server starts

        if not server.wait():
            server.close()
            # A home that an earlier run left damaged; nothing in it is needed.
            shutil.rmtree(outputs / prefect_environment.HOME, ignore_errors=True)
            server = _start(run, server.port)
            if not server.wait():
                raise server.complaint()
        yield
    finally:
        server.close()
        os.environ.pop("PREFECT_API_URL", None)


def _start(run: Run, port: int | None = None) -> ApiServer:
    outputs = run.spec.outputs
    (outputs / prefect_environment.HOME).mkdir(parents=True, exist_ok=True)
    variables = prefect_environment.server_environment(outputs, os.environ)
    return ApiServer(variables, outputs / "logs" / "prefect-server.log", port)
