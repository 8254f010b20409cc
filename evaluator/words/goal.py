"""Goals: prose in the second person, one sentence a wish, which `You want`, `After that you want` and the like begin.

`If the insurer needs it first, you agree to pay your bill.` is no wish: the user only agrees to it.
"""

import re

NEXT_WISH = re.compile(
    r"(?<=[.!?])\s+(?=(?:(?:After(?:wards| that)|Then|Next|Finally|Also|And|In addition|Once that is done)\b,?\s+)*"
    r"(?i:you)(?:'d|\s+would)?(?:\s+also)?\s+(?:want|like|need|wish)\b|If\b[^?!]*?\byou\b[^.?!]*?\bagree\s+to\b)"
)
CONSENT = re.compile(
    r"^(?:and\s+|also,?\s+)?if\b[^?!]*?\byou(?:'d|\s+would)?(?:\s+also)?\s+agree\s+to\s+", re.IGNORECASE
)


def wishes_of(goal: str) -> list[str]:
    """The parts of a goal that ask for something."""
    return [wish for wish in NEXT_WISH.split(goal.strip()) if wish and not CONSENT.match(wish)]
