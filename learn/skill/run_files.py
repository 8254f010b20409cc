"""The files of a skill run as its page reads them.

A run may be under way, or have been killed, so every file may be missing, and be written by another version. Unknown
fields are left out, missing ones are empty, and what cannot be read is noted.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import from_json

from skillweave.base.errors import ArtifactError
from skillweave.base.store import Store

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
BoundedScore = Annotated[float, Field(ge=-LARGEST_SCORE, le=LARGEST_SCORE)]


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
    rollout_hard: BoundedScore | None = None
    rollout_soft: BoundedScore | None = None
    rollout_n: int | None = None
    n_patches: int | None = None
    n_edits_merged: int | None = None
    n_edits_ranked: int | None = None
    edit_budget: int | None = None
    selection_hard: BoundedScore | None = None
    selection_soft: BoundedScore | None = None
    candidate_gate_score: BoundedScore | None = None
    gain_p: float | None = None
    previous_score: BoundedScore | None = None
    current_score: BoundedScore | None = None
    best_score: BoundedScore | None = None
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


class UsageRow(_Lenient):
    """What one question to one model used, from `usage.json`."""

    question: str
    author: str = ""
    asked: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None


class SkillScore(_Lenient):
    """How a skill did on test, with the interval of its hard score."""

    hard: BoundedScore
    soft: BoundedScore | None = None
    n: int | None = None
    low: BoundedScore | None = None
    high: BoundedScore | None = None


class RunTotals(_Lenient):
    """The run as a whole, from `summary.json`."""

    baseline_selection_hard: BoundedScore | None = None
    best_selection_hard: BoundedScore | None = None
    best_step: int | None = None
    test: dict[str, SkillScore] | None = None
    test_gain_p: BoundedScore | None = None
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
    selection_hard: BoundedScore | None = None
    current_score: BoundedScore | None = None

    @property
    def score_after(self) -> float | None:
        """The score of the current skill after it; None if it is not known, or is as it was."""
        if self.action not in ACCEPTED:
            return None
        return self.current_score if self.current_score is not None else self.selection_hard


class EditOutcome(NamedTuple):
    """An edit with what came of it."""

    edit: ShownEdit
    status: str
    error: str


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
    def usage(self) -> list[UsageRow]:
        """What each question to each model used: of `usage.json`, or else of the steps."""
        rows = self._records("usage.json", UsageRow)
        return sorted(rows, key=lambda row: (row.question, row.author)) if rows else _usage_of(self.steps)

    @cached_property
    def slow_updates(self) -> dict[int, SlowUpdate]:
        """Epoch -> the guidance that was written at its end."""
        found: dict[int, SlowUpdate] = {}
        for name in _numbered(self.store.root / "slow_update", r"epoch_\d{1,6}"):
            record = self._one(f"slow_update/{name}/slow_result.json", SlowUpdate)
            if record is not None:
                found[int(name.partition("_")[2])] = record
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


def _usage_of(steps: Sequence[ShownStep]) -> list[UsageRow]:
    """What the steps say that each stage used."""
    found: dict[str, UsageRow] = {}
    for step in steps:
        for stage, usage in step.tokens.items():
            before = found.get(stage, UsageRow(question=stage))
            found[stage] = UsageRow(
                question=stage,
                asked=before.asked + usage.calls,
                input_tokens=before.input_tokens + usage.prompt_tokens,
                output_tokens=before.output_tokens + usage.completion_tokens,
            )
    return [found[stage] for stage in sorted(found)]
