"""What each of several values in a clause belongs to: by the words that stand at it, it is the fact's or another's.

Values with nothing but glue between them are candidates of one choice, and so are those that bear the same label.
"""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from evaluator.words.candidates import Candidate
from evaluator.words.stems import FILLING, stems
from evaluator.words.wanted import Wanted

_SUM = stems("total altogether overall")
_GLUE = (FILLING - _SUM) | stems(
    "or then with plus but even maybe perhaps possibly either both also only else option between to"
)
_BREAK = re.compile(
    r"[,;()|+=]|\b(?:and|plus|minus|while|whereas|but|or|then|with|of which|less)\b|\s-+>?\s|\u2192", re.IGNORECASE
)
"""Where words about one value end, and those about the next begin."""
_BRACKETED = re.compile(r"\([^()]{0,200}\)")
_OPENING = re.compile(r"[(;]")
_OR = re.compile(r"\bor\s+(?:(?:maybe|perhaps|possibly|even|the|at|on|by)\s+){0,2}$", re.IGNORECASE)
_OR_NAME = re.compile(r"\s*,?(?:(?:\s*/\s*|\s+or\s+)(?:the |at |in )?(?!I\b)[A-Z0-9]|\s+and\s+(?:Dr|Mrs?|Ms|Prof)\b)")
_NAME_OR = re.compile(r"\b[A-Z0-9]\w*,?(?:\s*/\s*|\s+or\s+)(?:the |at |in )?$")
_SPAN = re.compile(r"[\s,]*(?:-+>?|to|until|till|through)\s*(?:at\s)?", re.IGNORECASE)
_WHOLE = re.compile(r"[^\w.!?;]*(?:out )?of (?:the |your |a )?(?:total |full )?", re.IGNORECASE)
_SHARE = re.compile(r"\d\s?(?:%|percent)\s+of\s+(?:the\s|your\s)?(?:total\s)?\(?$", re.IGNORECASE)
_OPERATING = (" of ", "Of ", "=", "\u00d7", " x ", "*")
"""With none of these nothing is computed."""
_TIMES = re.compile(r"(?:\s[x×*]|×)\s?$")
_TIMES_AFTER = re.compile(r"\s?(?:[x×*]\s|×)")
_PLUS = re.compile(r"[\s)][+−-]\s$")
_PLUS_AFTER = re.compile(r"\)?\s[+−-]\s")
_YOU_PAY = re.compile(
    r"\byou(?:'ll|'d| will| still| also| then| yourself| would| must| have to| need to){0,3}(?: to)? (?:pay|owe)\b",
    re.IGNORECASE,
)
_TO_BE_PAID = re.compile(r"\bbe (?:paid|charged|debited|settled|taken)\b", re.IGNORECASE)


class Place(NamedTuple):
    """A value among the others of its clause, with the words that stand at it."""

    before: str
    """From the value before it, or the beginning of the clause."""
    after: str
    lead: str
    """The part of what stands before it that is not about the value before it."""
    tail: str


def places(given: Sequence[Candidate], source: str, leading: str = "") -> list[Place]:
    """What stands at each of the values; `leading` stands before the clause."""
    gaps = [source[one.end : other.start] for one, other in pairwise(given)]
    first, last = source[: given[0].start], source[given[-1].end :]
    befores, afters = [first, *gaps], [*gaps, last]
    lead = f"{leading} {first}" if leading else first
    if "(" in lead or ";" in lead:
        lead = _OPENING.split(_BRACKETED.sub(" ", lead))[-1]
    leads = [lead, *map(_lead, gaps)]
    tails = [*map(_tail, gaps), last]
    return [Place(*one) for one in zip(befores, afters, leads, tails, strict=True)]


def _lead(gap: str) -> str:
    *_, last = [0, *(match.end() for match in _BREAK.finditer(gap))]
    return gap[last:]


def _tail(gap: str) -> str:
    found = _BREAK.search(gap)
    return gap[: found.start()] if found else gap


def belongs_elsewhere(look: Wanted, one: Candidate, at: Place, source: str, *, is_next: bool) -> bool:
    """Whether the words at a value give it another role than the fact's, or make it a part of a sum.

    `is_next`: the value before it is said to be so too.
    """
    if look.has_amounts and _is_operand(source, one, at):
        return True
    if look.roles.is_to_user and _YOU_PAY.search(at.lead):
        return True
    if not look.roles.sides:
        return False
    if isinstance(one.key, tuple) and _is_other_end(look, at, is_next=is_next):
        return True
    words = _stems(at.lead)
    if not words - _GLUE or not _plays(look, words):
        words |= _stems(at.tail)
    return look.roles.is_against(words)


def _stems(text: str) -> frozenset[str]:
    return stems(_TO_BE_PAID.sub("due", text) if " be " in text else text)


def _plays(look: Wanted, words: frozenset[str]) -> bool:
    return any(words & (own | other) for own, other in look.roles.sides)


def _is_operand(source: str, one: Candidate, at: Place) -> bool:
    """A part of a sum, a share or a whole: `382.00 + 24.00 = `, `70% of 174.00`, `189.00 of the 315.00`."""
    if not [sign for sign in _OPERATING if sign in source]:
        return False
    start = source[max(0, one.start - 30) : one.start]
    if _TIMES.search(start) or _TIMES_AFTER.match(at.after) or _SHARE.search(start) or _WHOLE.fullmatch(at.before):
        return True
    return ("=" in source or "\u00d7" in source) and bool(_PLUS.search(start) or _PLUS_AFTER.match(at.after))


def _is_other_end(look: Wanted, at: Place, *, is_next: bool) -> bool:
    if look.roles.is_start and is_next and _SPAN.fullmatch(at.before):
        return True
    return look.roles.is_end and _SPAN.fullmatch(at.after) is not None


def is_choice(look: Wanted, given: Sequence[tuple[Candidate, Place]], source: str) -> bool:
    """Whether the right value is one of several in a clause that nothing binds to anything else."""
    right = [one for one, _ in given if one.is_right]
    if look.is_text and _is_one_of_names(right, source):
        return True
    if not right or len({one.key for one, _ in given}) < 2:
        return False
    is_any = look.is_number or all(one.is_doubtful for one in right)
    sure = [(one, at) for one, at in given if is_any or not one.is_doubtful]
    labels = [(_label(at), one.is_right) for one, at in sure]
    of_right = frozenset[str]().union(*[label for label, is_right in labels if is_right])
    own = of_right | (_GLUE if of_right & _SUM else _GLUE | look.nouns | look.roles.synonyms)
    others = [label - own for label, is_right in labels if not is_right]
    if not all(others) or len({*others}) < len(others):
        return True
    between = [at.before for _, at in sure[1:]]
    return any(_OR.search(gap) or (not isinstance(right[0].key, tuple) and _SPAN.fullmatch(gap)) for gap in between)


def _label(at: Place) -> frozenset[str]:
    """What stands before a value or, where that is glue, after it."""
    words = stems(at.lead)
    return words if words - _GLUE else stems(at.tail)


def _is_one_of_names(right: Sequence[Candidate], clause: str) -> bool:
    """Whether a name that no row is known by stands beside the right one: `Gate A4 or Gate C2`."""
    return any(_OR_NAME.match(clause, one.end) or _NAME_OR.search(clause[: one.start]) for one in right)
