"""The page of a skill run: `report.html` in the run's folder, from the files that the run wrote there.

It shows what is there, whether the run is finished or not. Skills, edits and guidance are a model's words, so all of it
is escaped, as on the page of traces.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from learn.skill.curve import curve_of
from learn.skill.run_files import EditOutcome, RunFolder, ShownStep
from learn.skill.text_diff import DiffLine, diff
from learn.traces.html import render_page
from skillweave.base.errors import ConfigError
from skillweave.base.store import Store

REPORT = "report.html"
TESTED = ("initial", "best", "final")
"""Skills that are tried on test."""


@dataclass(frozen=True)
class StepDetail:
    """A step whose candidate was scored or refused, with what it changed."""

    step: ShownStep
    before: float | None
    """The score of the skill that it was to replace."""
    lines: Sequence[DiffLine] | None
    """What the candidate changes; None if a file is missing."""
    edits: Sequence[EditOutcome]

    @property
    def gain(self) -> float | None:
        """What the candidate's score is above the one before."""
        after = self.step.candidate_gate_score
        return None if self.before is None or after is None else after - self.before


def write_skill_page(folder: Path) -> Path:
    """Write the page of a run, from what its folder holds.

    Returns:
        The page's path.

    Raises:
        ConfigError: There is no such folder.
        ArtifactError: The page cannot be written.
    """
    if not folder.is_dir():
        raise ConfigError(f"there is no folder {str(folder)!r} of a skill run; give the one that `learn skill` wrote")
    run = RunFolder(Store(folder, "skill", option="--out"))
    details = [*_details(run)]
    tests = run.totals.test or {}
    content = render_page(
        "learn.skill/page.html",
        ["learn.skill/page.css"],
        steps=run.steps,
        totals=run.totals,
        curve=curve_of(run.steps, _first_score(run), guided_scores(run)),
        accepted=[one for one in details if one.step.is_accepted],
        rejected=[one for one in details if not one.step.is_accepted],
        slow_updates=run.slow_updates,
        usage=run.usage,
        cost=_cost(run),
        skill=run.best_skill,
        faults=run.faults,
        tests={name: tests[name] for name in TESTED if name in tests},
    )
    run.store.write(REPORT, content)
    return folder / REPORT


def _details(run: RunFolder) -> Iterator[StepDetail]:
    """The steps that had a candidate."""
    known, guided = run.totals.baseline_selection_hard, guided_scores(run)
    for step in run.steps:
        before = step.previous_score if step.previous_score is not None else known
        old, new = run.skill_at(step.step - 1), run.text(f"steps/step_{step.step:04d}/candidate_skill.md")
        if new is None and step.is_accepted:
            new = run.skill_at(step.step)
        if new is not None or step.candidate_gate_score is not None or step.is_accepted:
            lines = None if old is None or new is None else diff(old, new)
            yield StepDetail(step, before, lines, run.edits(step.step))
        known = step.current_score if step.current_score is not None else before
        known = guided.get(step.step, known)


def _first_score(run: RunFolder) -> float | None:
    """The score of the first skill: what step 1 began with, or else the summary's."""
    first = next((step.previous_score for step in run.steps if step.step == 1), None)
    return first if first is not None else run.totals.baseline_selection_hard


def guided_scores(run: RunFolder) -> dict[int, float]:
    """Last step of an epoch -> the score of the current skill once guidance was put into it."""
    last = {step.epoch: step.step for step in run.steps if step.epoch is not None}
    scores = {last[epoch]: update.score_after for epoch, update in run.slow_updates.items() if epoch in last}
    return {step: score for step, score in scores.items() if score is not None}


def _cost(run: RunFolder) -> float | None:
    """US dollars, of the models' usage, of the summary, or of the steps; None if it is not known, or not of all."""
    if run.totals.cost_usd is not None:
        return run.totals.cost_usd
    if any(row.cost_usd is None for row in run.usage) and all(step.cost_usd is None for step in run.steps):
        return None
    every = ([row.cost_usd for row in run.usage], [step.cost_usd for step in run.steps])
    sums = [sum(known) for known in ([cost for cost in costs if cost is not None] for costs in every) if known]
    return sums[0] if sums else None
