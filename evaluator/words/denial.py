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
    rf"|\bnot \w+ (?:on|at)|\babove|\bbelow|\bnearly|\balmost|\be\.g\.,?|\bfor (?:example|instance),?|\bsuch as"
    rf"|\bused to be|\bpreviously|\bformerly|\boriginally|\bbetween)\s+{_SMALL}$"
    r"|\bbetween\s[^;]{1,30}\sand\s+(?:the\s)?$"
    r"|\b(?:perhaps|maybe|possibly|probably|presumably|guess(?:ing)?|suppose)\b[^;]*$"
    r"|\b(?:moved?|changed?|rescheduled?|postponed?|lowered|raised|reduced|increased|went|gone|dropped|fallen|risen)\b"
    r"[^;]{0,50}\bfrom\s+(?:the\s)?$",
    re.IGNORECASE,
)
_DOUBTED = re.compile(
    r"\b(?:doubt\w*|(?:false|wrong|incorrect|untrue|not true)\s(?:that|to say)|nobody|no one(?!-)"
    r"|(?:cannot|can't|could not|couldn't|unable to) (?:confirm|say|verify|tell)|not (?:sure|certain)|unsure"
    r"|pretend\w*|let's (?:say|assume)|imagine|hypothetically|i (?:think|believe|assume)|either of|one of"
    r"|for example|example answer|as you (?:said|wrote|mentioned|told|put)|according to you"
    r"|(?:someone|somebody|anyone|anybody) else"
    r"|neighbour's|neighbor's|another (?:customer|person|patient|guest|member|client)(?:'s)?)\b[^;]*$"
    r"|\b(?:at least|at most|up to|roughly|approximately|as much as|hardly|barely|anything but|except(?: for)?"
    r"|not quite|avoid|(?:friend|colleague|partner) of|ask)\s(?:the\s|about\s)?$|n't quite\s$",
    re.IGNORECASE,
)
"""What stands somewhere before a value that is not said to be so, or right before one that is a bound."""
_DOUBTING = stems(
    "doubt doubtful doubts false wrong incorrect untrue true nobody one confirm say verify tell sure certain unsure "
    "pretend let imagine hypothetically think believe assume either example said wrote mentioned told put according "
    "else neighbour neighbor another least most up roughly approximately much hardly barely anything except quite "
    "avoid friend colleague partner ask"
)
_DOUBTING_AFTER = stems("more less higher lower cheaper dearer or i had did does do has have is")
_DOUBTED_AFTER = re.compile(
    r"\W{0,2}\s(?:(?:more|less|higher|lower|cheaper|dearer) than\b|or so\b|i (?:think|believe|guess)\b|had i\b"
    r"|(?:did|does|do|has|have|had)(?:\snot|n't)\b|is (?:only )?one of\b)",
    re.IGNORECASE,
)
_BESIDE_MOMENT = re.compile(r"\b(?P<before>before)\s(?:the\s)?$|\bafter\s(?:the\s)?$", re.IGNORECASE)
_NOT_SO = re.compile(r"\bnot\s(\w+)\b", re.IGNORECASE)
_RATE = re.compile(r"\s?(?:per|a|each|every|/)\s?(?:month|week|year|day|night|hour)\b", re.IGNORECASE)
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
    r"|(?:isn't|wasn't|weren't|(?:was|were) not)\b)",
    re.IGNORECASE,
)
_WAS = re.compile(rf"\b(?:was|were|had been)\s+{_SMALL}$", re.IGNORECASE)
_NOW = re.compile(r"\bnow\b|\bcurrently\b", re.IGNORECASE)
"""`It was 30.00 and is now 20.00.`"""
_OF_NOW = stems("now currently")
_OF = re.compile(r"\b(\w+) (?:of|from|dated|for) (?:the |exactly |about |\w+day,? ){0,2}$")
_OWNING = stems("of from dated for")
_BY_TIME = stems("premium price rate cost fee rent")
"""What may be so much a month."""
_BY_THEN = stems("due return")
_TIMELY = stems("date day time start end deadline expiry out")
"""`The date of 13 March` says which day it is; `the invoice of 13 March` says which invoice."""


def is_denied(look: Wanted, one: Candidate, clause: str, words: frozenset[str], leading: str = "") -> bool:
    """Whether the clause, which has these words, does not say that the fact is this candidate."""
    if one.end == 0:
        return False
    if _is_doubted(look, one, clause, words, leading):
        return True
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


def _is_doubted(look: Wanted, one: Candidate, clause: str, words: frozenset[str], leading: str) -> bool:
    """Whether it is said with doubt, of something else, as a bound, or as a rate."""
    before = f"{leading} {clause[: one.start]}"
    if words & _DOUBTING and _DOUBTED.search(before):
        return True
    if words & _DOUBTING_AFTER and _DOUBTED_AFTER.match(clause, one.end):
        return True
    if isinstance(one.key, tuple):
        for end in {one.start, one.inner or one.start}:
            bound = _BESIDE_MOMENT.search(clause, max(0, end - 15), end)
            if bound and not (bound["before"] and look.nouns & _BY_THEN):
                return True
    if "not " in before and any(stem(word) in look.telling for word in _NOT_SO.findall(before)):
        return True
    return look.has_amounts and not (words | look.nouns) & _BY_TIME and bool(_RATE.match(clause, one.end))


def _is_other_half(before: str) -> bool:
    half = _OR.search(before) if before.rstrip().endswith(_BETWEEN) else None
    return half is not None and (half["month"] or "")[:3].lower() not in MONTHS
