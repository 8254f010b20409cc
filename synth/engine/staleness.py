"""Staleness: whether an item has to be redone, and the reason in words."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from skillweave.base.manifest import Fingerprint, ItemOutput, ItemRecord

LIMIT_PARAMS = frozenset({"max_rejected"})
"""Parameters that say how a step is judged, and not what its items come to."""

COMPLAINT_CHARS = 300
"""Longest complaints shown in a reason."""


@dataclass(frozen=True)
class RedoDecision:
    redo: bool
    reason: str = "up to date"
    blocked_by: str | None = None
    """Why nothing can be done: what the item stands on was not made."""
    round: int = 0
    sent_back: tuple[str, ...] = ()
    """The round in which the item's authors are asked, and what they are told of later rejections."""


def decide(
    previous: ItemRecord | None,
    before: Fingerprint | None,
    now: Fingerprint,
    authors: Mapping[str, str],
    digest_of: Callable[[str], str | None],
    is_intact: Callable[[ItemOutput], bool],
    *,
    retries: bool = False,
    complaints: Sequence[str] = (),
) -> RedoDecision:
    """`digest_of` gives the digest of what a read of that label would see now, `is_intact` whether an output is there
    as it was written; `retries`: a rejection does not stand; `complaints` of later items are sent back to this one."""
    if previous is None or previous.state == "skipped":
        return RedoDecision(True, "new")
    if previous.state == "rejected" and retries:
        return RedoDecision(True, "rejected last time", round=previous.round + 1)
    told = tuple(previous.sent_back)
    reason = "what it was made from is not known" if before is None else _change(before, now)
    reason = reason or _authors(previous.authors, authors) or _reads(previous.reads, digest_of)
    if reason:
        # What was sent back is about what it made of other inputs.
        return RedoDecision(True, reason, round=previous.round)
    if complaints and set(complaints) <= set(told):
        return RedoDecision(True, "mended in vain", round=previous.round + 1)
    if complaints:
        told = tuple(dict.fromkeys((*told, *complaints)))
        return RedoDecision(
            True, f"sent back, {'; '.join(complaints)[:COMPLAINT_CHARS]}", round=previous.round, sent_back=told
        )
    if previous.state == "failed":
        return RedoDecision(True, "failed last time", round=previous.round, sent_back=told)
    for output in previous.outputs:
        if not is_intact(output):
            changed = f"output {output.label} changed or missing"
            return RedoDecision(True, changed, round=previous.round, sent_back=told)
    return RedoDecision(False)


def _change(before: Fingerprint, now: Fingerprint) -> str | None:
    if before == now:
        return None
    for name in sorted(before.prompts.keys() | now.prompts.keys()):
        if before.prompts.get(name) != now.prompts.get(name):
            return f"prompt {name} changed"
    for name in sorted(before.params.keys() | now.params.keys()):
        if before.params.get(name) != now.params.get(name):
            return f"parameter {name} changed {before.params.get(name)!r} -> {now.params.get(name)!r}"
    if before.seed != now.seed:
        return f"seed changed {before.seed} -> {now.seed}"
    if before.now != now.now:
        return f"simulation_time changed {before.now} -> {now.now}"
    for name in sorted(before.libraries.keys() | now.libraries.keys()):
        if before.libraries.get(name) != now.libraries.get(name):
            return f"library {name} changed {before.libraries.get(name)} -> {now.libraries.get(name)}"
    changed = sorted(
        name for name in before.code.keys() | now.code.keys() if before.code.get(name) != now.code.get(name)
    )
    return f"code of {changed[0]} changed" + (f" (and {len(changed) - 1} more modules)" if len(changed) > 1 else "")


def _authors(before: Mapping[str, str], now: Mapping[str, str]) -> str | None:
    for role in sorted(before.keys() | now.keys()):
        old, new = before.get(role, "none"), now.get(role, "none")
        if old != new:
            names = old.partition("#")[0], new.partition("#")[0]
            return f"author of {role} changed" + (f" {names[0]} -> {names[1]}" if names[0] != names[1] else "")
    return None


def _reads(before: Mapping[str, str], digest_of: Callable[[str], str | None]) -> str | None:
    for label, digest in sorted(before.items()):
        found = digest_of(label)
        if found != digest:
            return f"input {label} {'changed' if found else 'is gone'}"
    return None
