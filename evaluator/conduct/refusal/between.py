"""What stands between two rules that a text names: one thing is said of both, or one is guessed beside the other."""

import re

_NEAR = 80
"""Characters between two rules that are looked at."""
_BEFORE = 40
"""Characters before a rule in which it may be hedged."""
_PHRASE = r"(?:(?:the|our|your|its|a|an)\s+)?(?:[\w-]+\s+){0,4}[\s\[(\"'*]*$"
_CLOSED = r"^[\])\"'*]*(?:\s*\([^()]{0,60}\))?\s*"
_JOINT = re.compile(
    rf"{_CLOSED}(?:,\s*(?:and|as well as|plus)\s|,|&|\+|/|\band\b|\bas well as\b|\bplus\b)\s*(?:also\s+)?{_PHRASE}",
    re.I,
)
_LIKEWISE = re.compile(rf"\b(?:so|as|likewise|also)\s+(?:is|are|does|do|has|have)\s+{_PHRASE}", re.IGNORECASE)
_DOUBT = r"(?:maybe|perhaps|possibly|probably|presumably|potentially|alternatively|likely|else|even|i think|i guess)"
_WAY = (
    r"(?:(?:it|that|this)(?:'s| is| was| might be| may be| could be)|by|because of|due to|under|of|the|our|rules?|with)"
)
_OR = re.compile(rf"\bor(?:[\s,;:]+(?:{_DOUBT}|{_WAY}))*[\s,\[(\"'*]*$", re.IGNORECASE)
_HEDGE = re.compile(
    rf"\b(?:{_DOUBT}|(?:might|may|could) (?:well )?be)(?:[\s,]+(?:{_DOUBT}|{_WAY}))*[\s,\[(\"'*]*$", re.IGNORECASE
)
_OF_NONE = re.compile(r"\b(?:without|neither)\b[^.;:!?]{0,40}$", re.IGNORECASE)


def is_joint(between: str) -> bool:
    """Whether the second rule is added to the first: `R7 and the deadline (R8)`."""
    return len(between) <= _NEAR and _JOINT.search(between) is not None


def is_likewise(between: str) -> bool:
    """Whether the second rule is said to be as the first: `R7 is met, and so is R8`."""
    return len(between) <= _NEAR and _LIKEWISE.search(between) is not None


def is_alternative(text: str, start: int, end: int, following: int) -> bool:
    """Whether a rule is put forward in place of the one before, that stands from `start` to `end`: `R7 or R8`."""
    between = text[end:following]
    if len(between) > _NEAR or _OR.search(between) is None:
        return False
    return _OF_NONE.search(text[max(start - _BEFORE, 0) : start]) is None


def is_hedged(text: str, start: int) -> bool:
    """Whether a rule is named as a mere possibility: `maybe R7`."""
    return _HEDGE.search(text[max(start - _BEFORE, 0) : start]) is not None
