"""What nobody would call an invented fact: hedged numbers, durations, idioms, places in a list."""

import re
from decimal import Decimal

from evaluator.ledger.values import Value

SMALL = 10
"""Bare numbers below it are free."""
_HEDGE = re.compile(
    r"\b(?:about|around|roughly|some|maybe|perhaps|almost|nearly|over|like|at least|up to|approximately|a good|"
    r"another|last|past|next|first|in|for)(?: the)?(?: (?:last|past|next))? $",
    re.I,
)
_ROUGHLY = re.compile(r"\b(?:about|around|roughly|nearly|almost|approximately|some|say|towards)(?: the)? $|~ ?$", re.I)
_UNIT = re.compile(
    r"[ -]?(?:(?:or|to|-) ?(?:so|\d+)[ -])?(?:-?\d+[ -])?(?:more |whole |full |good )?(?:minutes?|mins?|seconds?|"
    r"secs?|hours?|hrs?|days?|nights?|weeks?|months?|years?|yrs?|times?|miles?|km|"
    r"kids?|children|friends?|colleagues?|people|relatives|messages|emails|calls|steps|questions?|things?|"
    r"things)\b(?! (?:old|of age))",
    re.I,
)
_LISTED = re.compile(r"(?:\b(?:option|number|no\.?|choice|item|line|question|step|point)|#) ?$", re.I)
_LIST_ORDINAL = re.compile(r"(?:st|nd|rd|th)$", re.I)
_COUNTED = re.compile(
    r" (?:one|option|slot|choice|item|window|offer|flight|on the list|time|birthday|anniversary)\b", re.I
)
_SINCE = re.compile(r"\b(?:since|in|back in|from|until) $", re.I)
_RELATIVE = re.compile(
    r"\b(?:my|our|his|her) (?:\w+ )?(?:son|daughter|child|kid|baby|mum|mom|mother|dad|father|wife|husband|partner|"
    r"dog|cat|gran\w*)\b[^,.]{0,20}$",
    re.I,
)
_FAREWELL = re.compile(r"\b(?:see you|talk|speak|again|back|hear|call|check|write)\b", re.I)
_AGAIN = re.compile(
    r"\b(?:call|ring|write|check|phone|try|ask|get|talk|speak)\b(?: (?:to|with) (?:you|them))? (?:you )?"
    r"(?:again|back|in)\b|\bsee you\b",
    re.I,
)
"""Says when to be heard of again."""
_THANKS = re.compile(r" (?:\w+ )?(?:thanks|thank you|apologies|pardons|kisses|hugs)\b", re.I)
_HABIT = re.compile(r"\b(?:every|each|happy|nice|lovely|good|great|busy|having a|had a|have a) (?:\w+ )?$", re.I)


def is_small_talk(value: Value, clause: str) -> bool:
    """Whether the value, unknown as it is, is none that counts."""
    before, after = value.before(clause), clause[value.end :]
    if value.kind == "relative":
        return bool(_FAREWELL.search(clause))
    if value.kind == "weekday":
        return bool(_HABIT.search(before) or _AGAIN.search(before))
    if value.kind == "time":
        return bool(_ROUGHLY.search(before))
    if value.kind == "date":
        return _is_place_in_list(value, after)
    return value.kind == "number" and value.number is not None and _is_free(value, value.number, before, after)


def _is_free(value: Value, number: Decimal, before: str, after: str) -> bool:
    if number < SMALL and number == number.to_integral_value():
        return True
    if _LISTED.search(before) and number < 2 * SMALL:
        return True
    if _THANKS.match(after) or _UNIT.match(after) or (number < 100 and _HEDGE.search(before) and "%" not in value.text):
        return True
    if _ROUGHLY.search(before) or re.search(r"\bturn(?:s|ed|ing)? $", before, re.I):
        return True
    if number in (100, 110) and (re.search("%|per", value.text) or after.startswith(" times")):
        return True
    if 1900 < number < 2100 and _SINCE.search(before):
        return True
    return bool(_RELATIVE.search(before)) or bool(re.match(r"/(?:10|7|24|50)\b", after)) or before.endswith("/")


def _is_place_in_list(value: Value, after: str) -> bool:
    is_ordinal = bool(_LIST_ORDINAL.search(value.text)) and len(value.text) <= 4
    return is_ordinal and bool(_COUNTED.match(after))
