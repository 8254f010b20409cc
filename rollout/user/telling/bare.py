"""Bare words: an errand without those of its facts that can be left to be asked for.

What cannot be left out without breaking the sentence stays in: a telling may hold a fact back, it may not garble it.
"""

import re
from collections.abc import Iterable

from rollout.user.telling.fact_words import place_of
from skillweave.schema.task import Fact

_BEFORE = (
    r"on|at|for|from|with|in|by|using|as|starting|called|named|marked|dated|numbered|beginning|issued|until|of|under"
)
_LEADING = re.compile(
    rf"(?:,\s*)?(?:(?:that|which) (?:begins|begin|starts|opens|ends|leaves|is due|was issued|is)\s+)?"
    rf"(?:\b(?:{_BEFORE})\s+)+(?:(?:the|a|an)\s+)?$"
)
_REASON = re.compile(
    r"(?:,?\s+and (?:give|note)|\s+with|\s+giving|\s+for the reason of|\s+because of(?: this:)?"
    r"|,?\s+the reason being)\s+$"
)
_TRAILING = re.compile(r"^ (?:group|family|category|rate|handling|branch|fare|zone|plan|cover|insurance)\b")
_DETERMINED = re.compile(r"\b(?:my|the|a|an|that)\s+$")
_NOUN = re.compile(
    r"^ (?!(?:on|at|for|from|with|in|by|to|and|of|as|that|is|made|paid|during|come|before|over|due|so|if|when)\b)[a-z]+"
)
_TORN = re.compile(
    r"\b(?:a|an|the|my|your|of|with|for|to|from|by|on|at|and|until|called|is|are|it|happened|give|note|party|asking)"
    r"(?=\s*(?:$|[,;.]|\b(?:on|at|for|from|with|in|by|to|and|until|of|as|is|are)\b))|^\W|\(\)|, ?,|,\s*and\b"
)
_NEEDS = re.compile(
    r"\b(?:booked|billed|served|made|last|planned|am|are|is|be|check|have|wrote|stands|happened|names|known|me|go|run|due|born|out|runs)$"
)
"""Words that say nothing without what follows them."""
_RANGE = re.compile(r"^,? (?:to|until|till) (?=[\dA-Z])")
_END = re.compile(r",?(?:\s+paid)?\s*$")


def bare(words: str, facts: Iterable[Fact]) -> tuple[str, list[Fact]]:
    """The words without what can be left out, and the facts left out."""
    left_out = []
    for fact in facts:
        shorter = _without(words, fact)
        if shorter is not None and len(shorter.split()) > 1 and place_of(fact, shorter) is None:
            words = shorter
            left_out.append(fact)
    return words, left_out


def _without(words: str, fact: Fact) -> str | None:
    """The words without the fact; None where they would not hold together."""
    place = place_of(fact, words)
    if place is None or isinstance(fact.value, int | float) or fact.value is None:
        return None
    before, said, after = words[: place[0]], words[place[0] : place[1]], words[place[1] :]
    reason = _REASON.search(before)
    leading = _LEADING.search(before)
    starts = re.match(rf"(?:{_BEFORE})\b", said)
    if _RANGE.match(after) or (after.startswith(" as ") and not after.startswith(" as the reason")):
        return None
    if reason and ("reason" in reason.group() or "because" in reason.group() or after.startswith(" as the reason")):
        found = before[: reason.start()] + after.removeprefix(" as the reason")
    elif _DETERMINED.search(before) and _NOUN.match(after) and not _TRAILING.match(after):
        found = before + after.lstrip()
    elif leading and not _NEEDS.search(before[: leading.start()].rstrip()):
        found = before[: leading.start()].rstrip() + _TRAILING.sub("", after)
    elif starts:
        found = before.rstrip() + after
    else:
        return None
    found = re.sub(r"\s+", " ", found).strip()
    end = _END.search(found)
    if end and end.group().startswith(","):
        found = found[: end.start()]
    torn = _TORN.search(found) is not None and _TORN.search(words) is None
    return None if torn else re.sub(r"\ba (?=[aeiou])", "an ", found)
