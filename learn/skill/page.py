"""The page of a skill run: `report.html` in the run's folder, from the files that the run wrote there.

A run may be under way, or have been killed, so every file may be missing: the page shows what is there, and names what
cannot be read. Skills, edits and guidance are a model's words, so all of it is escaped as the pages of traces do it.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import ceil, floor
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import from_json

from learn.skill.text_diff import DiffLine, diff
from learn.traces.html import page
from skillweave.base.errors import ArtifactError, ConfigError
from skillweave.base.store import Store

REPORT = "report.html"
ACCEPTED = ("accept_new_best", "accept", "force_accept")
"""Actions by which a candidate becomes the current skill."""
ACTIONS = {
    "accept_new_best": "accepted, the best so far",
    "accept": "accepted",
    "force_accept": "accepted without a gate",
    "reject": "rejected",
    "reject_no_gain": "rejected: no gain",
    "reject_chance": "rejected: the gain may be chance",
    "reject_leak": "rejected: it gives away validation or test",
    "reject_size": "rejected: too long",
    "reject_unchanged": "rejected: nothing changed",
    "skip_no_patches": "skipped: no edits were proposed",
    "skip_no_rewrite": "skipped: no rewrite was written",
}
"""What became of a step, in words: its action, with the reason behind it where there is one."""
LARGEST_FILE = 4 << 20
"""Most bytes of a file that is read."""
LARGEST_SCORE = 20.0
"""A score beyond it, which only an absurd penalty could give, is taken for a damaged record."""
MOST_STEPS = 1_000
"""Steps that the page shows, the last ones."""
T = TypeVar("T", bound=BaseModel)
Score = Annotated[float, Field(ge=-LARGEST_SCORE, le=LARGEST_SCORE)]


class _Lenient(BaseModel):
    """What the page reads of a file: unknown fields are left out, and missing ones have a default."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)


class StageUsage(_Lenient):
    """What one stage of a step asked of the optimizer."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0


class ShownStep(_Lenient):
    """A step, from `history.json`."""

    step: int = Field(ge=0, le=9_999)
    epoch: int | None = None
    action: str = ""
    reason: str | None = None
    rollout_hard: Score | None = None
    rollout_soft: Score | None = None
    rollout_n: int | None = None
    n_patches: int | None = None
    n_edits_merged: int | None = None
    n_edits_ranked: int | None = None
    edit_budget: int | None = None
    selection_hard: Score | None = None
    selection_soft: Score | None = None
    candidate_gate_score: Score | None = None
    gain_p: float | None = None
    previous_score: Score | None = None
    current_score: Score | None = None
    best_score: Score | None = None
    skill_len: int | None = None
    tokens: dict[str, StageUsage] = Field(default_factory=dict)
    cost_usd: float | None = None

    @property
    def is_accepted(self) -> bool:
        """Whether its candidate became the current skill."""
        return self.action in ACCEPTED

    @property
    def verdict(self) -> str:
        """What became of it, in words."""
        named = f"{self.action}_{self.reason}" if self.reason else self.action
        return ACTIONS.get(named, named)


class RunUsage(_Lenient):
    """What the run cost, from `usage.json`; a run without that file has it in its steps and its summary."""

    tokens: dict[str, StageUsage] = Field(default_factory=dict)
    cost_usd: float | None = None


class SkillScore(_Lenient):
    """How a skill did on test, with the interval of its hard score."""

    hard: Score
    soft: Score | None = None
    n: int | None = None
    low: Score | None = None
    high: Score | None = None


class RunTotals(_Lenient):
    """The run as a whole, from `summary.json`."""

    baseline_selection_hard: Score | None = None
    best_selection_hard: Score | None = None
    best_step: int | None = None
    test: dict[str, SkillScore] | None = None
    test_gain_p: Score | None = None
    validations: int | None = None
    cost_usd: float | None = None


_Text = Annotated[str, BeforeValidator(lambda value: "" if value is None else str(value))]


class ShownEdit(_Lenient):
    """An edit, from `ranked_edits.json`."""

    op: _Text = ""
    target: _Text = ""
    content: _Text = ""
    source_type: _Text = ""
    support_count: int | None = None


class AppliedEdit(_Lenient):
    """What came of an edit, from `edit_apply_report.json`."""

    index: int | None = None
    status: _Text = ""
    error: _Text = ""


class SlowUpdate(_Lenient):
    """Guidance that was written at the end of an epoch, from `slow_result.json`."""

    action: _Text = ""
    slow_update_content: _Text = ""
    selection_hard: Score | None = None


class EditOutcome(NamedTuple):
    """An edit with what came of it."""

    edit: ShownEdit
    status: str
    error: str


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


class CurvePoint(NamedTuple):
    """A score at a step, in the plot's coordinates."""

    x: float
    y: float
    words: str
    is_accepted: bool


@dataclass(frozen=True)
class ScoreCurve:
    """The scores over the steps, in the plot's coordinates."""

    ticks: Sequence[tuple[float, str]]
    steps: Sequence[tuple[float, int]]
    current: Sequence[tuple[float, float]]
    best: Sequence[tuple[float, float]]
    candidates: Sequence[CurvePoint]


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
    costs = (run.usage.cost_usd, run.totals.cost_usd, _cost(run.steps))
    content = page(
        "learn.skill/page.html",
        ["learn.skill/page.css"],
        steps=run.steps,
        totals=run.totals,
        curve=curve_of(run.steps, _first_score(run)),
        accepted=[one for one in details if one.step.is_accepted],
        rejected=[one for one in details if not one.step.is_accepted],
        slow_updates=run.slow_updates,
        stages=run.usage.tokens or stage_totals(run.steps),
        cost=next((cost for cost in costs if cost is not None), None),
        skill=run.best_skill,
        faults=run.faults,
        tests={name: run.totals.test[name] for name in ("initial", "best", "final") if name in (run.totals.test or {})},
    )
    run.store.write(REPORT, content)
    return folder / REPORT


@dataclass
class RunFolder:
    """The files of a run. What cannot be read is noted, and shown as missing."""

    store: Store
    faults: list[str] = field(default_factory=list)

    @cached_property
    def steps(self) -> list[ShownStep]:
        """The steps in their order; of two of one number the later counts."""
        found = {step.step: step for step in self._records("history.json", ShownStep)}
        return [found[number] for number in sorted(found)][-MOST_STEPS:]

    @cached_property
    def totals(self) -> RunTotals:
        """The run as a whole; empty before its end."""
        return self._one("summary.json", RunTotals) or RunTotals()

    @cached_property
    def usage(self) -> RunUsage:
        """What the run cost."""
        return self._one("usage.json", RunUsage) or RunUsage()

    @cached_property
    def slow_updates(self) -> list[tuple[str, SlowUpdate]]:
        """The guidance of each epoch."""
        found: list[tuple[str, SlowUpdate]] = []
        for name in _numbered(self.store.root / "slow_update", r"epoch_\d{1,6}"):
            record = self._one(f"slow_update/{name}/slow_result.json", SlowUpdate)
            if record is not None:
                found.append((name.partition("_")[2].lstrip("0") or "0", record))
        return found

    @property
    def best_skill(self) -> str | None:
        """The best skill; the current one while there is none."""
        best = self.text("best_skill.md")
        return best if best is not None else self.skill_at(9_999)

    def skill_at(self, step: int) -> str | None:
        """The current skill after a step, or the last one before it that there is."""
        names = _numbered(self.store.root / "skills", r"skill_v\d{4}\.md")
        earlier = [name for name in names if int(name[7:11]) <= step]
        return self.text(f"skills/{earlier[-1]}") if earlier else None

    def edits(self, step: int) -> list[EditOutcome]:
        """The edits of a step, each with what came of it."""
        folder = f"steps/step_{step:04d}"
        reports = self._records(f"{folder}/edit_apply_report.json", AppliedEdit)
        by_index = {report.index if report.index is not None else at: report for at, report in enumerate(reports)}
        first = min(by_index, default=0)
        outcomes = []
        for at, edit in enumerate(self._records(f"{folder}/ranked_edits.json", ShownEdit), start=first):
            report = by_index.get(at, AppliedEdit())
            outcomes.append(EditOutcome(edit, report.status, report.error))
        return outcomes

    def text(self, path: str) -> str | None:
        """A text; None if it is missing or too large."""
        content = self._read(path)
        return None if content is None else content.decode("utf-8", "replace")

    def _records(self, path: str, kind: type[T]) -> list[T]:
        """A list of records, without those that cannot be read."""
        content = self._json(path)
        if content is None:
            return []
        if not isinstance(content, list):
            self.faults.append(f"{path}: not a list")
            return []
        return [record for record in (self._record(path, kind, one) for one in content) if record is not None]

    def _one(self, path: str, kind: type[T]) -> T | None:
        """The record that a file holds; None if it is missing or cannot be read."""
        content = self._json(path)
        return None if content is None else self._record(path, kind, content)

    def _record(self, path: str, kind: type[T], content: object) -> T | None:
        try:
            return kind.model_validate(content)
        except ValidationError as error:
            first = error.errors()[0]
            self.faults.append(f"{path}: {'.'.join(map(str, first['loc']))}: {first['msg']}")
            return None

    def _json(self, path: str) -> Any:
        """The content of a JSON file; None if it is missing or cannot be read."""
        content = self._read(path)
        try:
            return None if content is None else from_json(content, allow_inf_nan=False)
        except ValueError as error:
            self.faults.append(f"{path}: not JSON: {error}")
            return None

    def _read(self, path: str) -> bytes | None:
        try:
            if not self.store.exists(path):
                return None
            if self.store.stamp(path).size > LARGEST_FILE:
                self.faults.append(f"{path}: larger than {LARGEST_FILE:,} bytes")
                return None
            return self.store.read(path)
        except ArtifactError as error:
            self.faults.append(str(error))
            return None


def _numbered(folder: Path, pattern: str) -> list[str]:
    """Names in a folder that match, sorted; none if there is no folder."""
    if not folder.is_dir():
        return []
    return sorted(path.name for path in folder.iterdir() if re.fullmatch(pattern, path.name))


def _details(run: RunFolder) -> Iterator[StepDetail]:
    """The steps that had a candidate."""
    known = run.totals.baseline_selection_hard
    for step in run.steps:
        before = step.previous_score if step.previous_score is not None else known
        old, new = run.skill_at(step.step - 1), run.text(f"steps/step_{step.step:04d}/candidate_skill.md")
        if new is None and step.is_accepted:
            new = run.skill_at(step.step)
        if new is not None or step.candidate_gate_score is not None or step.is_accepted:
            lines = None if old is None or new is None else diff(old, new)
            yield StepDetail(step, before, lines, run.edits(step.step))
        known = step.current_score if step.current_score is not None else before


def _first_score(run: RunFolder) -> float | None:
    """The score of the first skill: what step 1 began with, or else the summary's."""
    first = next((step.previous_score for step in run.steps if step.step == 1), None)
    return first if first is not None else run.totals.baseline_selection_hard


def stage_totals(steps: Sequence[ShownStep]) -> dict[str, StageUsage]:
    """What each stage asked of the optimizer, over all steps."""
    calls, prompts, completions = Counter[str](), Counter[str](), Counter[str]()
    for step in steps:
        for stage, usage in step.tokens.items():
            calls[stage] += usage.calls
            prompts[stage] += usage.prompt_tokens
            completions[stage] += usage.completion_tokens
    return {
        stage: StageUsage(calls=calls[stage], prompt_tokens=prompts[stage], completion_tokens=completions[stage])
        for stage in sorted(calls)
    }


def _cost(steps: Sequence[ShownStep]) -> float | None:
    known = [step.cost_usd for step in steps if step.cost_usd is not None]
    return sum(known) if known else None


LEFT, RIGHT, TOP, BOTTOM = 52.0, 700.0, 14.0, 250.0
"""The plot's frame."""
MOST_LABELS = 12
"""Steps that have a label on the axis."""
_STEPS = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
"""Distances between the ticks of the axis of scores."""


def curve_of(steps: Sequence[ShownStep], baseline: float | None) -> ScoreCurve | None:
    """The curve of scores; None if no step has one.

    Args:
        steps: The steps, in their order.
        baseline: The score of the first skill, if it is known.
    """
    start = [(0, baseline)] if baseline is not None else []
    current = [*start, *((one.step, one.current_score) for one in steps if one.current_score is not None)]
    best = [*start, *((one.step, one.best_score) for one in steps if one.best_score is not None)]
    tried = [one for one in steps if one.candidate_gate_score is not None]
    scores = [score for _, score in [*current, *best]] + [one.candidate_gate_score or 0 for one in tried]
    if not scores:
        return None
    ticks = _axis(min(scores), max(scores))
    low, high = ticks[0], ticks[-1]
    last = max([one.step for one in steps], default=0) or 1

    def x(step: int) -> float:
        return round(LEFT + (RIGHT - LEFT) * step / last, 1)

    def y(score: float) -> float:
        return round(BOTTOM - (BOTTOM - TOP) * (score - low) / (high - low), 1)

    every = -(-last // MOST_LABELS)
    return ScoreCurve(
        ticks=[(y(tick), f"{tick:g}") for tick in ticks],
        steps=[(x(step), step) for step in range(0, last + 1, every)],
        current=[(x(step), y(score)) for step, score in current],
        best=[(x(step), y(score)) for step, score in best],
        candidates=[
            CurvePoint(
                x(one.step),
                y(one.candidate_gate_score or 0),
                f"step {one.step}: {one.candidate_gate_score:.3f}, {one.verdict}",
                one.is_accepted,
            )
            for one in tried
        ],
    )


def _axis(low: float, high: float) -> list[float]:
    """Round values around the scores, four to eight of them, at least a tenth in all."""
    middle = (low + high) / 2
    low, high = min(low, middle - 0.05), max(high, middle + 0.05)
    step = next(step for step in _STEPS if high - low <= 6 * step)
    first, last = floor(low / step + 1e-9), ceil(high / step - 1e-9)
    return [round(at * step, 3) for at in range(first, last + 1)]
