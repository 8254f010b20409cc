"""What a skill run writes about its steps, its epochs and its end."""

from typing import Literal

from pydantic import Field

from learn.skill.document import EditReport
from skillweave.schema.record import Record

Action = Literal["accept_new_best", "accept", "reject", "force_accept", "skip_no_patches", "skip_no_rewrite"]
RejectReason = Literal["no_gain", "chance", "leak", "size", "unchanged"]


class StepRecord(Record):
    """`history.json`, `step_record.json`: one step."""

    step: int
    """Counted from 1."""
    epoch: int
    step_in_epoch: int
    rollout_hard: float
    """Share of the step's conversations that passed."""
    rollout_soft: float
    rollout_n: int
    """Conversations with a score."""
    n_patches: int
    """Answers of the optimizer that proposed something."""
    n_failure_patches: int = 0
    n_success_patches: int = 0
    failed_calls: int = 0
    """Questions to which the optimizer gave no usable answer."""
    edit_budget: int | None = None
    """Most changes of this step; None if there were none to choose from."""
    n_edits_merged: int = 0
    n_edits_ranked: int = 0
    leaked_edits: list[str] = Field(default_factory=list)
    """What edits that were left out would have given away of validation or test."""
    edits: list[EditReport] = Field(default_factory=list)
    """What became of each edit."""
    candidate_hash: str | None = None
    candidate_skill_len: int | None = None
    """Characters."""
    selection_hard: float | None = None
    """Of the candidate on validation; None if it was not tried."""
    selection_soft: float | None = None
    candidate_gate_score: float | None = None
    gain_p: float | None = None
    """Share of the bootstrap's resamples of validation in which the candidate is no better."""
    action: Action
    reason: RejectReason | None = None
    """Why a candidate was rejected."""
    previous_score: float
    """Of the current skill before the step."""
    current_score: float
    best_score: float
    best_step: int
    current_origin: str
    best_origin: str
    skill_len: int
    """Characters of the current skill after the step."""


class SlowUpdateRecord(Record):
    """`slow_update/epoch_XX/slow_result.json`."""

    epoch: int
    action: Action | Literal["inject_empty", "skip_no_guidance"]
    reasoning: str = ""
    slow_update_content: str = ""
    prev_hard: float | None = None
    """Share of the compared items that passed with the skill of the epoch before."""
    curr_hard: float | None = None
    candidate_hash: str | None = None
    selection_hard: float | None = None
    selection_soft: float | None = None
    previous_score: float | None = None
    current_score: float | None = None


class ComparedItem(Record):
    """`comparison_pairs.json`: one item, tried with the skills of two epochs."""

    id: str
    task: str
    category: str
    prev_hard: float | None
    curr_hard: float | None
    prev_fail_reason: str = ""
    curr_fail_reason: str = ""


class MetaSkillRecord(Record):
    """`meta_skill/epoch_XX/meta_skill_result.json`."""

    epoch: int
    action: Literal["update", "skip_no_answer"]
    reasoning: str = ""
    meta_skill_content: str = ""


class PartScore(Record):
    """How a skill did on a part of the items."""

    hard: float
    soft: float
    n: int
    """Items with a score."""
    low: float
    """95 % interval of `hard`, by a bootstrap over the items."""
    high: float
    by_type: dict[str, float] = Field(default_factory=dict)
    """Kind of item -> share passed."""


class EpochFigures(Record):
    """The steps of one epoch."""

    epoch: int
    steps: int
    accepts: int
    rejects: int
    skips: int
    best_score_at_epoch_end: float
    current_score_at_epoch_end: float


class SkillSummary(Record):
    """`summary.json`: the whole run."""

    baseline_selection_hard: float
    best_selection_hard: float
    """Of the best skill on validation."""
    final_selection_hard: float
    """Of the last current skill."""
    final_selection_soft: float
    best_step: int
    best_origin: str
    current_origin: str
    total_steps: int
    total_accepts: int
    total_rejects: int
    total_skips: int
    validations: int
    """Candidates that were tried on validation: the more, the more of the best one's score is luck."""
    stopped_early: bool = False
    epoch_stats: list[EpochFigures]
    test: dict[str, PartScore] = Field(default_factory=dict)
    """initial, best, final -> score on test; empty if it was not tried."""
    test_delta_hard: float | None = None
    """best - initial."""
    test_gain_p: float | None = None
    """Share of a paired bootstrap's resamples of test in which the best skill is no better than the first."""
