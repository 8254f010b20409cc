"""`run`: the chosen steps, under the outputs folder's lock, with a display; then the summary."""

import sys
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

from skillweave.base.command import counted
from skillweave.base.errors import ConfigError, SkillweaveError
from skillweave.base.store import CACHE, Store, digest_json, locked
from skillweave.plugins import load_plugins
from skillweave.sandbox.strength import caution
from synth.artifacts import QUERIES
from synth.cli.display import QuestionUsage
from synth.cli.dry_run import show_estimate
from synth.cli.options import PipelineOptions, PipelineSource
from synth.cli.summary import RunReport, show_summary
from synth.cli.time_left import TimeLeft, display
from synth.engine.drive import drive, require_settled
from synth.engine.pipeline import Pipeline, load_pipeline
from synth.engine.run import PipelineRun
from synth.engine.schedule import Schedule
from synth.engine.step import PipelineStep
from synth.reports import card

CARD_STAMP = f"{CACHE}/card.stamp"
"""What the card was made from, and its bytes, as digests."""


@dataclass(frozen=True)
class StepSelection:
    """Which steps a command line asks for, by name or by a prefix of one."""

    step: str | None = None
    first: str | None = None
    until: str | None = None
    fresh: str | None = None
    retries_rejected: bool = False

    def split(self, pipeline: Pipeline) -> tuple[Sequence[PipelineStep[Any]], Sequence[PipelineStep[Any]]]:
        """The steps that have to be up to date already, and those to run.

        Raises:
            ConfigError: A step is unknown, or the options exclude one another.
        """
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
        """The steps whose results are removed before the run."""
        return () if self.fresh is None else pipeline.steps[pipeline.index(pipeline.step(self.fresh)) :]


def run_pipeline(source: PipelineSource, options: PipelineOptions, selection: StepSelection, *, dry_run: bool) -> int:
    """Run, or with `dry_run` say what a run would do.

    Returns:
        The exit status: 0 done, 1 items failed or too many were rejected, 130 interrupted.

    Raises:
        ConfigError: The configuration or the command line is wrong.
    """
    started = time.monotonic()
    spec = options.spec(source, retries_rejected=selection.retries_rejected)
    load_plugins(spec.config.plugins)
    # Wrong steps are refused before there is an outputs folder.
    pipeline = load_pipeline(spec.package).restricted(spec.config.task_mode)
    selection.split(pipeline)
    fresh = selection.forgotten(pipeline)
    store = Store(spec.outputs)
    with options.naming_overrides():
        if dry_run:
            store.refuse_other_than_folder()
            run = PipelineRun(replace(spec, read_only=True, fresh=frozenset(step.name for step in fresh)))
            before, steps = selection.split(run.pipeline)
            missing_keys = run.check(steps)
            options.show_default()
            show_estimate(run, before, steps, options, missing_keys)
            return 0
        store.prepare()
        with locked(store):
            store.clean()
            return _run(PipelineRun(spec), selection, options, started)


def _run(run: PipelineRun, selection: StepSelection, options: PipelineOptions, started: float) -> int:
    before, steps = selection.split(run.pipeline)
    run.check(steps)
    if warning := caution():
        print(warning, file=sys.stderr)
    options.remember(run.store)
    run.results.forget_other_than(run.all_steps)
    run.results.forget(selection.forgotten(run.pipeline))
    usage = QuestionUsage(run.authors.ledger)
    with closing(run), display(usage, TimeLeft(run, steps)) as shown:
        schedule = Schedule(run, shown)
        require_settled(schedule, before)
        options.show_default()
        _print_start(run, steps)
        drive(run, schedule, steps)
    _write_card(run)
    report = RunReport(run, schedule, steps, usage, time.monotonic() - started)
    show_summary(report, options)
    if run.executor.is_stopped and run.executor.why_stopped is None:
        return 130
    return 1 if run.executor.why_stopped or report.failures else 0


def _print_start(run: PipelineRun, steps: Sequence[PipelineStep[Any]]) -> None:
    """Say that the run begins: Prefect takes seconds to start, and a user should not wait for a first sign."""
    seeds = counted(len(run.setting.seeds), "seed domain")
    print(f"{counted(len(steps), 'step')}, {seeds}, seed {run.setting.seed}, to {run.spec.outputs}", flush=True)
    is_rejected = any(record.state == "rejected" for record in run.manifest.items())
    if run.spec.retries_rejected and not is_rejected:
        print("nothing was rejected, so there is nothing to retry", flush=True)


def _write_card(run: PipelineRun) -> None:
    """Write the dataset's card if there are tasks, unless it was made from what is there now.

    A card that cannot be written does not fail the run.
    """
    if not any(output.artifact == QUERIES.pattern for record in run.manifest.items() for output in record.outputs):
        return
    try:
        license = card.license_of(run.spec.config)
        code = [f"{name} {digest}" for name, digest in run.code.closure(card.__name__).items()]
        made_from = digest_json([license, *code])
        if not run.store.exists(CARD_STAMP) or run.store.read(CARD_STAMP) != card.stamp_of(run.store, made_from):
            card.write_card(run.store.root, license)
            run.store.write(CARD_STAMP, card.stamp_of(run.store, made_from))
    except SkillweaveError as error:
        print(f"warning: no card: {error}", file=sys.stderr)
