"""What a run remembers: how the steps of an epoch went, and what changed for the items between two epochs."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, get_args

from pydantic import Field

from learn.config import PairPolicy
from learn.skill.planning import minibatch_order
from learn.skill.replies import FailureKind
from learn.skill.scores import Row
from skillweave.base.errors import ConfigError
from skillweave.schema.record import Record

Category = Literal["improved", "regressed", "persistent_fail", "stable_success"]
KEPT: dict[str, tuple[Category, ...]] = {
    "mixed": get_args(Category),
    "changed": ("improved", "regressed"),
    "unchanged": ("persistent_fail", "stable_success"),
}
"""Policy -> the categories that it compares."""
LEAST_HARD = 1e-9
"""A smaller hard score is a failure."""


class FailurePattern(Record):
    """Failures of one kind."""

    pattern: str
    count: int
    task_ids: list[str]


class StepEntry(Record):
    """A step of this epoch, as later reflections are told about it."""

    step: int
    action: str
    n_total: int
    n_fail: int
    failure_patterns: list[FailurePattern] = Field(default_factory=list)
    score_before: float | None = None
    """The current skill's score before the step."""
    score_after: float | None = None
    """The candidate's; None if it was not tried."""
    edits: list[str] = Field(default_factory=list)
    """What the candidate changed, a line each."""


def is_failure(row: Row) -> bool:
    """Whether a rollout failed. Any hard score above 0 is none."""
    return not row.hard >= LEAST_HARD


def failure_patterns(rows: Sequence[Row], labels: Sequence[FailureKind] = ()) -> list[FailurePattern]:
    """Failures, grouped by their reason up to its first colon.

    Args:
        rows: Rollouts; those that passed are passed over.
        labels: What reflections say about the failures. One that names a reason describes it. The others describe the
            reasons in their order only if there are as many of them as reasons that no label names: nothing else says
            which belongs to which.
    """
    groups: dict[str, list[str]] = {}
    for row in filter(is_failure, rows):
        reason = row.fail_reason.partition(":")[0].strip() if ":" in row.fail_reason else row.fail_reason
        groups.setdefault(reason or "unknown", []).append(row.id)
    named = _labelled(list(groups), labels)
    return [
        FailurePattern(pattern=named.get(reason, reason), count=len(ids), task_ids=ids)
        for reason, ids in groups.items()
    ]


def _labelled(reasons: Sequence[str], labels: Sequence[FailureKind]) -> dict[str, str]:
    """Reason -> its description, where a label gives one."""
    named: dict[str, str] = {}
    others: list[str] = []
    for label in labels:
        text = f"{label.failure_type}: {label.description}" if label.description else label.failure_type
        reason = next(
            (reason for reason in reasons if reason.casefold() == label.failure_type.strip().casefold()), None
        )
        if reason is not None:
            named.setdefault(reason, text)
        elif text.strip():
            others.append(text)
    unnamed = [reason for reason in reasons if reason not in named]
    return {**named, **dict(zip(unnamed, others, strict=True))} if len(unnamed) == len(others) else named


def render_entries(entries: Sequence[StepEntry]) -> str:
    """The steps as text for a prompt; empty without steps."""
    return "\n\n".join(_entry_text(entry) for entry in entries)


def _entry_text(entry: StepEntry) -> str:
    lines = [f"### Step {entry.step}: {entry.action} ({entry.n_fail} of {entry.n_total} failed)"]
    for pattern in entry.failure_patterns:
        lines.append(f"- {pattern.count} failed: {pattern.pattern}")
    if entry.edits:
        lines.append(f"{_outcome(entry)}:")
        lines += [f"{number}. {edit}" for number, edit in enumerate(entry.edits, start=1)]
    return "\n".join(lines)


def _outcome(entry: StepEntry) -> str:
    """What became of the step's changes, in words."""
    scores = f"the score went {_score(entry.score_before)} -> {_score(entry.score_after)}"
    if entry.action != "reject":
        return f"Accepted; {scores}"
    if entry.score_after is None:
        return "Rejected without a trial"
    return f"Rejected; {scores}" + ("" if entry.score_after != entry.score_before else ", which is no gain")


def _score(score: float | None) -> str:
    return "?" if score is None else f"{score:.3f}"


def shortened(notes: Sequence[str], answer: Sequence[str] | None) -> list[str]:
    """The notes that an optimizer left, if it shortened them; else the notes as they are."""
    return [*answer] if answer and len(notes) > 1 and len(answer) <= len(notes) else [*notes]


def categories(previous: Iterable[Row], current: Iterable[Row], ids: Sequence[str]) -> dict[str, Category]:
    """What changed for each item between two skills. An item passes if at least half of its rollouts do.

    Args:
        previous: Rollouts with the skill of the epoch before.
        current: Rollouts with the skill of now.
        ids: The items; one without a rollout has failed.
    """
    before, after = _passed(previous), _passed(current)
    kinds: dict[tuple[bool, bool], Category] = {
        (False, True): "improved",
        (True, False): "regressed",
        (False, False): "persistent_fail",
        (True, True): "stable_success",
    }
    return {id: kinds[id in before, id in after] for id in ids}


def _passed(rows: Iterable[Row]) -> set[str]:
    by_id: dict[str, list[bool]] = {}
    for row in rows:
        by_id.setdefault(row.id, []).append(not is_failure(row))
    return {id for id, passes in by_id.items() if 2 * sum(passes) >= len(passes)}


def compared(categories: Mapping[str, Category], policy: PairPolicy, most: int | None = None) -> list[str]:
    """The items that guidance is written from.

    Args:
        categories: Item -> what changed for it.
        policy: mixed: all; changed: improved and regressed; unchanged: the others.
        most: The most items of `changed`, which is topped up item by item; None: all.

    Raises:
        ConfigError: There is no such policy.
    """
    if policy not in KEPT:
        raise ConfigError(f"unknown longitudinal_pair_policy {policy!r}; should be {', '.join(KEPT)}")
    kept = [id for id, category in categories.items() if category in KEPT[policy]]
    return kept[:most] if policy == "changed" else kept


def top_up_order(train: Sequence[str], seen: Iterable[str], seed: int) -> list[str]:
    """Items to try next, while too few have changed: train shuffled, without those tried already."""
    tried = set(seen)
    return [id for id in minibatch_order(train, seed) if id not in tried]
