"""`run`: which steps, under the lock, with a display; then what came of it, and what to do next."""

import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from skillweave.base.errors import ConfigError, SkillweaveError
from skillweave.base.store import Store, locked
from skillweave.sandbox.strength import caution
from synth.cli.display import QuestionUsage, display
from synth.cli.dry_run import show_estimate
from synth.cli.options import PipelineOptions, PipelineSource
from synth.cli.summary import failures, show_summary
from synth.engine.drive import drive
from synth.engine.pipeline import Pipeline, load_pipeline
from synth.engine.run import PipelineRun
from synth.engine.step import PipelineStep

TASK_STEP = "s17_task_instantiation"
"""The step that writes the tasks."""


@dataclass(frozen=True)
class StepSelection:
    """Which steps a command line asks for; a prefix of a name is enough."""

    step: str | None = None
    first: str | None = None
    until: str | None = None
    fresh: str | None = None
    retries_rejected: bool = False

    def split(self, pipeline: Pipeline) -> tuple[Sequence[PipelineStep[Any]], Sequence[PipelineStep[Any]]]:
        """The steps that have to be up to date already, and those to run. Raises ConfigError."""
        if self.step is not None and (self.first is not None or self.until is not None):
            raise ConfigError("--step excludes --from and --until; give one or the other")
        first = self.first if self.step is None else self.step
        last = self.until if self.step is None else self.step
        begin = 0 if first is None else pipeline.index(pipeline.step(first))
        end = len(pipeline.steps) if last is None else pipeline.index(pipeline.step(last)) + 1
        if begin >= end:
            raise ConfigError(f"--from {first!r} comes after --until {last!r}; swap them")
        return pipeline.steps[:begin], pipeline.steps[begin:end]

    def forgotten(self, pipeline: Pipeline) -> Sequence[PipelineStep[Any]]:
        """The steps whose products are to be forgotten."""
        return () if self.fresh is None else pipeline.steps[pipeline.index(pipeline.step(self.fresh)) :]


def run_pipeline(place: PipelineSource, options: PipelineOptions, selection: StepSelection, *, dry_run: bool) -> int:
    """The exit status. Raises ConfigError."""
    config = options.load()
    pipeline = load_pipeline(place.package).restricted(config.task_mode)
    selection.split(pipeline)
    fresh = selection.forgotten(pipeline)
    if dry_run:
        Store(options.spec(place).outputs).refuse_other_than_folder()
        names = frozenset(step.name for step in fresh)
        run = PipelineRun(options.spec(place, read_only=True, fresh=names, retries_rejected=selection.retries_rejected))
        show_estimate(run, *selection.split(run.pipeline), options)
        return 0
    store = Store(options.spec(place).outputs)
    store.prepare()
    with locked(store):
        store.clean()
        return _run(PipelineRun(options.spec(place, retries_rejected=selection.retries_rejected)), selection, options)


def _run(run: PipelineRun, selection: StepSelection, options: PipelineOptions) -> int:
    before, steps = selection.split(run.pipeline)
    run.check_authors(steps)
    run.check_sandbox()
    if warning := caution():
        print(warning, file=sys.stderr)
    run.results.forget_other_than(run.all_steps)
    run.results.forget(selection.forgotten(run.pipeline))
    spent = QuestionUsage(run.authors.ledger)
    with closing(run), display(spent) as shown:
        schedule = drive(run, before, steps, shown)
    _write_card(run)
    show_summary(run, schedule, steps, options, spent)
    if run.executor.is_stopped and run.executor.why_stopped is None:
        return 130
    return 1 if run.executor.why_stopped or failures(run, schedule, steps) else 0


def _write_card(run: PipelineRun) -> None:
    """The dataset's card, once all tasks are there; one that cannot be written is no fault of the run."""
    manifest = run.manifest.items()
    if not any(record.step == TASK_STEP and record.state == "done" for record in manifest):
        return
    from synth.reports.card import write_card

    try:
        write_card(run.store.root, run.spec.config.card.license)
    except SkillweaveError as error:
        print(f"warning: no card: {error}", file=sys.stderr)
