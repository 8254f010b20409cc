"""What each of several values in a clause belongs to: by the words that stand at it, it is the fact's or another's.

Values with nothing but glue between them are candidates of one choice, and so are those that bear the same label.
"""

import re
from collections.abc import Sequence

from evaluator.words.candidates import Candidate
from evaluator.words.stems import FILLING, stems
from evaluator.words.wanted import Wanted

_GLUE = FILLING | stems("or then with plus but even maybe perhaps possibly either both also only else option between to")
_FROM = stems("from")
_OR = re.compile(r"\bor\s+(?:(?:maybe|perhaps|possibly|even|the|at|on|by)\s+){0,2}$", re.IGNORECASE)
_OR_NAME = re.compile(r"\s*,?(?:\s*/\s*|\s+or\s+)(?:the |at |in )?(?!I\b)[A-Z0-9]")
_NAME_OR = re.compile(r"\b[A-Z0-9]\w*,?(?:\s*/\s*|\s+or\s+)(?:the |at |in )?$")
_SPAN = re.compile(r"[\s,]*(?:-+>?|to|until|till|through)\s*(?:at\s)?", re.IGNORECASE)
_WHOLE = re.compile(r"\W*(?:out )?of (?:the |your |a )?(?:total |full )?", re.IGNORECASE)
_SHARE = re.compile(r"\d\s?(?:%|percent)\s+of\s+(?:the\s|your\s)?(?:total\s)?\(?$", re.IGNORECASE)
_TIMES = re.compile(r"(?:\s[x×*]|×)\s?$")
_TIMES_AFTER = re.compile(r"\s?(?:[x×*]\s|×)")
_PLUS = re.compile(r"[\s)][+−-]\s$")
_PLUS_AFTER = re.compile(r"\)?\s[+−-]\s")
_YOU_PAY = re.compile(
    r"\byou(?:'ll|'d| will| still| also| then| yourself| would| must| have to| need to){0,3}(?: to)? (?:pay|owe)\b",
    re.IGNORECASE,
)
_TO_BE_PAID = re.compile(r"\bbe (?:paid|charged|debited|settled|taken)\b", re.IGNORECASE)


def belongs_elsewhere(look: Wanted, given: Sequence[Candidate], place: int, source: str, leading: frozenset[str]) -> bool:
    """Whether the words at a value give it another role than the fact's, or make it a part of a sum."""
    one = given[place]
    before = source[given[place - 1].end if place else 0 : one.start]
    after = source[one.end : given[place + 1].start if place + 1 < len(given) else len(source)]
    if look.has_amounts and _is_operand(source, one, before if place else "", after):
        return True
    if look.roles.is_to_user and _YOU_PAY.search(before):
        return True
    if not look.roles.sides:
        return False
    if isinstance(one.key, tuple) and _is_other_end(look, given, place, before, after):
        return True
    words = _stems(before) | (frozenset[str]() if place else leading)
    if not words - _GLUE or not _plays(look, words):
        words |= _stems(after)
    return look.roles.is_against(words)


def _stems(text: str) -> frozenset[str]:
    return stems(_TO_BE_PAID.sub("due", text) if " be " in text else text)


def _plays(look: Wanted, words: frozenset[str]) -> bool:
    return any(words & (own | other) for own, other in look.roles.sides)


def _is_operand(source: str, one: Candidate, before: str, after: str) -> bool:
    """A part of a sum, a share or a whole: `382.00 + 24.00 = `, `70% of 174.00`, `189.00 of the 315.00`."""
    start = source[max(0, one.start - 30) : one.start]
    if _TIMES.search(start) or _TIMES_AFTER.match(after) or _SHARE.search(start) or _WHOLE.fullmatch(before):
        return True
    return "=" in source and bool(_PLUS.search(start) or _PLUS_AFTER.match(after))


def _is_other_end(look: Wanted, given: Sequence[Candidate], place: int, before: str, after: str) -> bool:
    if look.roles.is_start and place:
        return _SPAN.fullmatch(before) is not None
    return look.roles.is_end and place + 1 < len(given) and _SPAN.fullmatch(after) is not None


def is_choice(look: Wanted, given: Sequence[Candidate], source: str, leading: frozenset[str]) -> bool:
    """Whether the right value is one of several in a clause that nothing binds to anything else."""
    if look.is_text and _is_one_of_names(given, source):
        return True
    right = [one for one in given if one.is_right]
    if not right or len({one.key for one in given}) < 2:
        return False
    sure = [one for one in given if one.is_right or look.is_number or not one.is_doubtful]
    if all(one.is_doubtful for one in right):
        sure = [*given]
    own = _GLUE | look.nouns | look.names
    labels: list[frozenset[str]] = []
    for place, one in enumerate(sure):
        if one.is_right:
            continue
        label = _label(sure, place, source, leading) - own
        if not label or label in labels or _is_beside(sure, place, source):
            return True
        labels.append(label)
    return False


def _label(given: Sequence[Candidate], place: int, source: str, leading: frozenset[str]) -> frozenset[str]:
    """What stands before a value or, where that is glue, after it."""
    start = given[place - 1].end if place else 0
    words = stems(source[start : given[place].start]) | (frozenset[str]() if place else leading)
    if words - _GLUE:
        return words
    end = given[place + 1].start if place + 1 < len(given) else len(source)
    return stems(source[given[place].end : end]) | (words & _FROM)


def _is_beside(given: Sequence[Candidate], place: int, source: str) -> bool:
    """Whether an `or` stands between this value and one at its side."""
    sides = [(one, other) for one, other in ((place - 1, place), (place, place + 1)) if one >= 0 and other < len(given)]
    return any(_OR.search(source[given[one].end : given[other].start]) for one, other in sides)


def _is_one_of_names(given: Sequence[Candidate], clause: str) -> bool:
    """Whether a name that no row is known by stands beside the right one: `Gate A4 or Gate C2`."""
    right = [one for one in given if one.is_right]
    return any(_OR_NAME.match(clause, one.end) or _NAME_OR.search(clause[: one.start]) for one in right)
