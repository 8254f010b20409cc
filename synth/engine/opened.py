"""Runs that are open in this process.

Kept apart from the flow, since other runners send the flow's functions to processes with all that these refer to.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from synth.engine.run import PipelineRun, RunSpec
from synth.engine.schedule import DueItem, Schedule

_RUNS: dict[RunSpec, PipelineRun] = {}
_AGENDAS: list[tuple[PipelineRun, Schedule, list[DueItem]]] = []


@contextmanager
def opening(run: PipelineRun, schedule: Schedule, work: list[DueItem]) -> Iterator[None]:
    """Within it, the run is open, and is what the flow is about."""
    _RUNS[run.spec] = run
    _AGENDAS.append((run, schedule, work))
    try:
        yield
    finally:
        _AGENDAS.pop()
        del _RUNS[run.spec]


def agenda() -> tuple[PipelineRun, Schedule, list[DueItem]]:
    """What the flow is about."""
    return _AGENDAS[-1]


def opened(spec: RunSpec) -> PipelineRun:
    """The run of a spec; a worker process elsewhere opens it once."""
    if spec not in _RUNS:
        _RUNS[spec] = PipelineRun(spec)
    return _RUNS[spec]
