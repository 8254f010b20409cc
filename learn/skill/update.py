"""Update: from what reflections propose to a candidate, by merging, choosing and editing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from learn.config import SkillConfig
from learn.skill.document import Edit, EditReport, apply_edits, as_text, body_of, with_body
from learn.skill.items import leaks
from learn.skill.optimizer import Briefing, Change, Optimizer, Reflected
from learn.skill.patches import MergeSource, merge_patches, needs_ranking, select
from learn.skill.records import RejectReason
from learn.skill.replies import RewrittenSkill
from learn.skill.schedule import autonomous_budget, budget_at
from rollout.trajectory import skill_text

MOST_CHANGES = 200
"""Changes of one step that are looked at."""


@dataclass(frozen=True)
class SkillCandidate:
    """A new version of the skill, and how it came about."""

    skill: str | None
    """None: the optimizer wrote none."""
    merged: int
    """Changes after merging."""
    budget: int
    """Most changes of the step."""
    changes: Sequence[Change] = ()
    """Those that were chosen, in the order in which they are made."""
    reports: Sequence[EditReport] = ()
    """What became of each edit."""
    leaked: Sequence[str] = field(default_factory=tuple)
    """What of validation or test stood in changes that were left out."""


async def make_candidate(
    optimizer: Optimizer,
    briefing: Briefing,
    patches: Sequence[Reflected],
    settings: SkillConfig,
    *,
    hard: float,
    update: int,
    total: int,
    secrets: Mapping[str, str],
) -> SkillCandidate:
    """Merge proposals, choose among them, and make the changes.

    Args:
        optimizer: Who merges, chooses and rewrites.
        briefing: The current skill, and what the optimizer is told.
        patches: The proposals.
        settings: The section `skill`.
        hard: Share of the step's conversations that passed.
        update: Number of this update, from 1.
        total: Steps of the whole run.
        secrets: What no skill may hold -> what it is.
    """

    async def merge(group: Sequence[Sequence[Change]], level: int, source: MergeSource) -> list[Change] | None:
        return await optimizer.merge(briefing, group, f"{source}, level {level}")

    merged: list[Change] = await merge_patches(
        [patch.items for patch in patches if patch.source == "failure"],
        [patch.items for patch in patches if patch.source == "success"],
        merge_batch_size=settings.gradient.merge_batch_size,
        merge=merge,
    )
    # More than anybody proposes who means it; all of them go into one question.
    merged = merged[:MOST_CHANGES]
    found = {id(change): leaks(_words(change), secrets) for change in merged}
    clean = [change for change in merged if not found[id(change)]]
    leaked = sorted({leak for reasons in found.values() for leak in reasons})
    if settings.optimizer.skill_update_mode == "full_rewrite_minibatch":
        chosen = clean[:1]
        text = chosen[0].new_skill if chosen and isinstance(chosen[0], RewrittenSkill) else None
        skill = None if text is None else _rewritten(briefing.skill, text, settings.evaluation.longest_skill)
        return SkillCandidate(skill, len(merged), 1, chosen, leaked=leaked)
    budget = await _budget(optimizer, briefing, clean, settings, hard, update, total)
    indices = await optimizer.rank(briefing, clean, budget) if needs_ranking(clean, budget) else None
    chosen = select(clean, budget, indices)
    if settings.optimizer.skill_update_mode == "rewrite_from_suggestions":
        body = await optimizer.rewrite(briefing, chosen) if chosen else None
        skill = None if body is None else _rewritten(briefing.skill, body, settings.evaluation.longest_skill)
        return SkillCandidate(skill, len(merged), budget, chosen, leaked=leaked)
    edits = [change for change in chosen if isinstance(change, Edit)]
    skill, reports = apply_edits(briefing.skill, edits)
    return SkillCandidate(skill, len(merged), budget, edits, reports, leaked)


def _words(change: Change) -> str:
    """All texts of a change."""
    values = change.model_dump().values()
    return "\n".join(as_text(value) for value in values)


def _rewritten(skill: str, body: str, longest: int) -> str:
    """The skill with another body. One that is too long whatever is taken from it stays as it is: it is rejected."""
    return body if len(body) > longest + len(skill) else with_body(skill, body)


async def _budget(
    optimizer: Optimizer,
    briefing: Briefing,
    pool: Sequence[Change],
    settings: SkillConfig,
    hard: float,
    update: int,
    total: int,
) -> int:
    """The most changes of this update."""
    choice = settings.optimizer
    if choice.lr_scheduler == "autonomous":
        rate = await optimizer.learning_rate(briefing, pool, hard) if pool else 0
        return autonomous_budget(rate, len(pool)).budget
    return budget_at(
        update,
        total,
        scheduler=choice.lr_scheduler,
        most=choice.learning_rate,
        least=choice.min_learning_rate,
    )


def refusal(candidate: str, current: str, longest: int, secrets: Mapping[str, str]) -> RejectReason | None:
    """Why a candidate is rejected without a trial; None if it is to be tried."""
    if len(candidate) > longest:
        return "size"
    if skill_text(candidate) == skill_text(current):
        return "unchanged"
    if leaks(body_of(candidate), secrets):
        return "leak"
    return None
