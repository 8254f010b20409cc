"""Values that a clause names without saying that they are the fact's: denied, doubted, bounded, or something else's."""

import re

from evaluator.words.candidates import Candidate
from evaluator.words.moments import MONTHS
from evaluator.words.stems import FILLING, stem, stems
from evaluator.words.wanted import Wanted

_SMALL = (
    r"(?:(?:the|a|an|at|on|by|in|for|exactly|actually|be|been|yet|currently|your|worth|about|around|only|of|with|dr)"
    r"\s+){0,4}"
)
_DENIED = re.compile(
    rf"(?:\bnot|n't|\bcannot|\bnever|\bno longer|\bneither|\bnor|\brather than|\binstead of|\bunlike"
    rf"|\b(?:might|may|could)(?: well)? be|\bwould have (?:been|cost)|\b(?:less|more|fewer|other) than|\bover|\bunder"
    rf"|\babove|\bbelow|\bnearly|\balmost|\be\.g\.,?|\bfor (?:example|instance),?|\bsuch as|\bused to be"
    rf"|\bpreviously|\bformerly|\boriginally|\bbetween)\s+{_SMALL}$"
    r"|\bbetween\s[^;]{1,30}\sand\s+(?:the\s)?$"
    r"|\b(?:perhaps|maybe|possibly|probably|presumably|guess(?:ing)?|suppose)\b[^;]*$"
    r"|\b(?:moved?|changed?|rescheduled?|postponed?|lowered|raised|reduced|increased|went|gone|dropped|fallen|risen)\b"
    r"[^;]{0,50}\bfrom\s+(?:the\s)?$",
    re.IGNORECASE,
)
_DENYING = stems(
    "not cannot never no longer neither nor rather instead unlike be been cost than over under above below nearly "
    "almost e for such used previously formerly originally between perhaps maybe possibly probably presumably guess "
    "guessing suppose from t"
)
"""Stems of a clause in which something may be denied, doubted or bounded."""
_OR = re.compile(
    r"(?P<month>\b[a-z]{3,9}\.? )?(?:the )?(?<![\d.,:-])\d{1,2}(?:st|nd|rd|th)?\s?(?:or|and|/|-)\s?(?:at |the )?$",
    re.IGNORECASE,
)
"""`24 or ` before `25 January`."""
_BETWEEN = ("or", "and", "/", "-", " at", " the")
"""With one of which `_OR` ends."""
_BEING = stems("is was are were be isn wasn had")
_DENIED_AFTER = re.compile(
    r"\W{0,2}\s(?:(?:is|was|are|were|would be|cannot be)\s"
    r"(?:not (?:your|the|its|right|correct|it)\b|wrong|incorrect|no longer)"
    r"|(?:isn't|wasn't)\b)",
    re.IGNORECASE,
)
_WAS = re.compile(rf"\b(?:was|were|had been)\s+{_SMALL}$", re.IGNORECASE)
_NOW = re.compile(r"\bnow\b|\bcurrently\b", re.IGNORECASE)
"""`It was 30.00 and is now 20.00.`"""
_OF_NOW = stems("now currently")
_OF = re.compile(r"\b(\w+) (?:of|from|dated|for) (?:the |exactly |about |\w+day,? ){0,2}$")
_OWNING = stems("of from dated for")
_TIMELY = stems("date day time start end deadline expiry out")
"""`The date of 13 March` says which day it is; `the invoice of 13 March` says which invoice."""


def is_denied(look: Wanted, one: Candidate, clause: str, words: frozenset[str]) -> bool:
    """Whether the clause, which has these words, does not say that the fact is this candidate."""
    if one.end == 0:
        return False
    before = clause[max(0, one.start - 70) : one.start]
    is_doubted = bool(words & _DENYING)
    for found in [before] if one.inner <= one.start else [before, clause[max(0, one.inner - 70) : one.inner]]:
        if (is_doubted and _DENIED.search(found)) or (isinstance(one.key, tuple) and _is_other_half(found)):
            return True
    if words & _BEING and _DENIED_AFTER.match(clause, one.end):
        return True
    if words & _OF_NOW and _WAS.search(before) and _NOW.search(clause, one.end):
        return True
    if one.is_right or look.is_text or not words & _OWNING:
        return False
    owner = _OF.search(before)
    if owner is None:
        return False
    own = _TIMELY if isinstance(one.key, tuple) else look.nouns | look.names | FILLING
    return stem(owner[1]) not in own


def _is_other_half(before: str) -> bool:
    half = _OR.search(before) if before.rstrip().endswith(_BETWEEN) else None
    return half is not None and (half["month"] or "")[:3].lower() not in MONTHS
