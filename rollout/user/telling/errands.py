"""Errands: what a user asks for, one by one, in their own words. Read from a goal, which is prose in the second person.

`You want to move your visit.` is an errand to be done, `You want to know the fee.` one to be answered, and `If the
insurer needs it first, you agree to pay your bill.` one that is never asked for and only agreed to.
"""

import re
from dataclasses import dataclass
from typing import Literal

from evaluator.words.goal import CONSENT
from skillweave.schema.task import Task

_SENTENCE = re.compile(
    r"(?<=[.?!])\s+(?=(?:You|Then|After|Afterwards|And|Also|Next|Once|Finally|When|In addition|If\b[^?!]*?\bagree)\b)"
)
_OPENING = re.compile(
    r"^(?:(?:after that|afterwards|then|next|finally|also|and|once that is done|in addition),?\s+)*"
    r"you(?:'d|\s+would)?(?:\s+also)?\s+(?:want|like|need|wish|would like|have)\s+(?:to\s+)?",
    re.IGNORECASE,
)
_HEAR = re.compile(r"^(?:know|find out|learn|hear|be informed (?:of|about))\s+(?=\w)", re.IGNORECASE)
_YOU = re.compile(r"\b(you are|you're|you've|you'd|you'll|yourself|yours|your|you)\b", re.IGNORECASE)
_FIXED = {"your": "my", "yours": "mine", "yourself": "myself", "you're": "I'm", "you've": "I've"} | {
    "you'd": "I'd",
    "you'll": "I'll",
    "you are": "I am",
}
_AS_SAID = {
    "your": ("my", "your"),
    "yours": ("mine", "yours"),
    "yourself": ("myself", "yourself"),
    "you're": ("i'm", "you're"),
    "you've": ("i've", "you've"),
    "you'd": ("i'd", "you'd"),
    "you'll": ("i'll", "you'll"),
    "you are": ("i am", "you are"),
    "you": ("i", "me", "you"),
}
_OBJECT_AFTER = frozenset(
    [
        "to",
        "from",
        "with",
        "for",
        "of",
        "about",
        "after",
        "before",
        "by",
        "on",
        "tell",
        "told",
        "send",
        "sent",
        "give",
        "remind",
        "let",
        "get",
        "cost",
        "costs",
        "charge",
        "charged",
        "cover",
        "covers",
        "owe",
        "paid",
        "show",
        "make",
        "help",
        "see",
        "allow",
        "leave",
        "sign",
        "put",
        "move",
        "call",
    ]
)
_VERB_AFTER = frozenset(
    [
        "have",
        "has",
        "had",
        "will",
        "would",
        "can",
        "could",
        "are",
        "were",
        "was",
        "am",
        "do",
        "did",
        "still",
        "now",
        "then",
        "owe",
        "paid",
        "pay",
        "booked",
        "charge",
        "get",
        "need",
        "want",
        "leave",
        "arrive",
        "come",
        "prefer",
        "take",
        "took",
        "bought",
        "ordered",
        "should",
        "must",
        "may",
        "might",
        "already",
        "once",
        "first",
        "also",
        "just",
    ]
)
Kind = Literal["do", "hear"]


@dataclass(frozen=True)
class Errand:
    kind: Kind
    """To be done, or to be answered."""
    words: str
    """In the first person, to follow `I want to` or `I want to know`, as this user tells it."""
    full: str = ""
    """With all that the goal says of it, where `words` leave something out."""
    only_if_needed: bool = False
    """The user does not ask for it, and agrees to it where what they ask for needs it first."""

    @property
    def whole(self) -> str:
        """All that the goal says of it."""
        return self.full or self.words


def errands_of(goal: str, said: str = "") -> tuple[Errand, ...]:
    """The errands of a goal, those that are only agreed to last; `said` is a message in which the user has put them in
    their own words."""
    found = []
    for sentence in _SENTENCE.split(goal.strip()):
        consent = CONSENT.match(sentence.strip())
        opening = CONSENT if consent else _OPENING
        rest = opening.sub("", sentence.strip()).rstrip(" .")
        if not rest:
            continue
        hear = _HEAR.match(rest)
        words = rest[hear.end() :] if hear else rest
        words = _as_said(words, said) or _to_me(words)
        found.append(Errand("hear" if hear else "do", words, only_if_needed=consent is not None))
    return tuple(sorted(found, key=lambda errand: errand.only_if_needed))


def asked_for(goal: str) -> str:
    """The goal without what the user only agrees to."""
    return " ".join(sentence for sentence in _SENTENCE.split(goal.strip()) if not CONSENT.match(sentence.strip()))


def errands_of_task(task: Task) -> tuple[Errand, ...]:
    """The errands of a task's goal, as its first message puts them where it does."""
    return errands_of(task.scenario.goal, task.messages[0].content or "" if task.messages else "")


def _as_said(words: str, said: str) -> str | None:
    """The words with the pronouns that the user's message has in their places; None where it does not hold them."""
    places = list(_YOU.finditer(words))
    if not places:
        return words
    if not said:
        return None
    pattern, end = "", 0
    for place in places:
        pattern += re.escape(words[end : place.start()]) + f"({'|'.join(_AS_SAID[place.group().lower()])})"
        end = place.end()
    match = re.search(rf"(?<!\w){pattern}{re.escape(words[end:])}(?!\w)", said, re.IGNORECASE)
    if match is None:
        return None
    pronouns = iter(match.groups())
    return _YOU.sub(lambda _: _cased(next(pronouns)), words)


def _to_me(words: str) -> str:
    return _YOU.sub(lambda place: _pronoun(words, place), words)


def _pronoun(words: str, place: re.Match[str]) -> str:
    said = place.group().lower()
    if said in _FIXED:
        return _FIXED[said]
    before = words[: place.start()].split()
    after = re.match(r"\s+(\w+)", words[place.end() :])
    follows = after.group(1).lower() if after else ""
    if follows in _VERB_AFTER and not (before and before[-1].lower() in {"to", "from", "for", "with", "of"}):
        return "I"
    is_object = not follows or (before and before[-1].lower() in _OBJECT_AFTER) or follows in _OBJECT_AFTER
    return "me" if is_object else "I"


def _cased(pronoun: str) -> str:
    lower = pronoun.lower()
    return lower.capitalize() if re.match(r"i\b", lower) else lower
