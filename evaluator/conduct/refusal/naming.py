"""Which rules a text names, and as what: as the ground on which something is declined, as met, or as a guess.

A rule is named by its number, `R7` or `rule 7`. Only numbers that the policy has count. What is numbered alike is no
rule (Gate B1, the rule 24 hours), and neither is one that is said to be met, to permit it or not to stand in the way,
or that is only asked about. A rule that sets a limit on what it permits (`R7 allows two moves`) is named.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator
from typing import NamedTuple

from evaluator.conduct.refusal.aside import is_said_of_several, is_set_aside
from evaluator.conduct.refusal.between import is_alternative, is_hedged, is_joint, is_likewise
from evaluator.conduct.refusal.denial import denies
from evaluator.ledger.wording import plain

WIDEST = 20
"""Rules of a range, `rules 7 to 9`, that are read."""
_ADDRESS = re.compile(r"\b(?:https?://|www\.)\S+", re.IGNORECASE)
_ASKED = re.compile(
    r"(?:^|(?<=[.!?\n]))[^\S\n]*(?:is|are|was|were|do|does|did|can|could|would|will|may|might|shall|should|has|have)\b"
    r"[^.!?\n]*\?",
    re.IGNORECASE,
)
_THINGS = (
    "gates?|rooms?|vitamins?|seats?|bays?|terminals?|platforms?|zones?|areas?|blocks?|buildings?|rows?|routes?|roads?|"
    "flights?|buses|bus|units?|lockers?|wards?|levels?|floors?|forms?|boxes|box|piers?|desks?|stands?|halls?|lots?|"
    "spaces?|stops?|exits?|doors?|shelf|counters?|lanes?|channels?|slots?|class|size|type|model|version|plan"
)
"""What people number as the policy numbers its rules."""
_UNIT = (
    r"(?:working|business|calendar|full|more|whole)?[\s-]{0,3}"
    r"(?:hours?|hrs?|h|days?|weeks?|months?|minutes?|mins?|years?|times|nights?|percent|per cent|euros?|"
    r"dollars?|cents?|"
    r"pounds?|people|persons?|guests?|bags?|kg|km|miles?|[ap]\.?m)\b"
)
_NUMBER = rf"\d{{1,3}}(?!\w|\s*%|[.:,]\d|[\s-]{{0,3}}{_UNIT})"
_JOINT = r"\s*(?:[,&/\u2010-\u2015-]|\band\b|\bor\b|\bto\b|\bthrough\b)+(?:\s*(?:and|or)\b)?\s*"
_RULE = re.compile(
    rf"(?<!\w)(?:(?P<thing>{_THINGS})\s+)?(?P<letter>[rb][\u2010-\u2015-]?|(?-i:[RB])\s)(?P<number>\d{{1,3}})(?!\w)"
    rf"|(?<!\bas a )\brules?\b(?:\s*(?:numbers?|nos?\b\.?|"
    rf"nr\b\.?))?[\s:#(\[]*(?P<plain>{_NUMBER}(?:{_JOINT}{_NUMBER})*)",
    re.IGNORECASE,
)
"""`R7`, `[B2]`, `rule 7`, `rules 7 to 9`."""
_PART = re.compile(r"(?P<range>(?:\bto\b|\bthrough\b|[\u2010-\u2015-])\s*)?(?P<number>\d+)", re.IGNORECASE)
_OR = re.compile(r"\bor\b", re.IGNORECASE)


class Named(NamedTuple):
    """What a text names as what forbids something."""

    rules: list[str]
    """In their order, as often as they are named."""
    guessed: list[str]
    """Those of them that are only put forward beside another: `R7 or R8`."""

    @property
    def sure(self) -> set[str]:
        """What is named somewhere without another to choose from."""
        return {*(Counter(self.rules) - Counter(self.guessed))}


class _Mention(NamedTuple):
    match: re.Match[str]
    rules: list[str]


def rules_in(text: str, known: Collection[str] | None = None) -> Iterator[str]:
    """The rules that a text names as what forbids something; with `known`, of these alone."""
    yield from named_in(text, known).rules


def named_in(text: str, known: Collection[str] | None = None) -> Named:
    """The rules that a text names as what forbids something; with `known`, of these alone."""
    text = _ASKED.sub(" ", _ADDRESS.sub(" ", text))
    if "rule" in text.casefold():
        text = plain(text)
    mentions = [*_mentions(text, known)]
    aside = _aside(text, [mention.match for mention in mentions])
    kept = [mention for mention, is_aside in zip(mentions, aside, strict=True) if not is_aside]
    return Named([rule for mention in kept for rule in mention.rules], [*_guessed(text, kept)])


def _mentions(text: str, known: Collection[str] | None) -> Iterator[_Mention]:
    for match in _RULE.finditer(text):
        rules = [] if match["thing"] else [rule for rule in _named(match) if known is None or rule in known]
        if rules:
            yield _Mention(match, rules)


def _aside(text: str, matches: list[re.Match[str]]) -> list[bool]:
    """Which are set aside; what is said of several (`R7 and the deadline (R8) are met`) is said of each."""
    refuses = denies(text)
    found = [is_set_aside(text, match.start(), match.end(), refuses) for match in matches]
    several = [is_said_of_several(text, match.end()) for match in matches]
    for place in range(len(matches) - 2, -1, -1):
        match, after = matches[place], matches[place + 1]
        if found[place + 1] and several[place + 1] and is_joint(text[match.end() : after.start()]):
            found[place] = several[place] = True
    for place in range(1, len(matches)):
        if found[place - 1] and is_likewise(text[matches[place - 1].end() : matches[place].start()]):
            found[place] = True
    return found


def _guessed(text: str, mentions: list[_Mention]) -> Iterator[str]:
    """Rules between which the text leaves the choice."""
    hedged = [is_hedged(text, mention.match.start()) for mention in mentions]
    doubtful = {rule for mention, is_one in zip(mentions, hedged, strict=True) if is_one for rule in mention.rules}
    guessed = [is_one and len(doubtful) > 1 for is_one in hedged]
    for place, mention in enumerate(mentions):
        guessed[place] |= len(mention.rules) > 1 and _OR.search(mention.match[0]) is not None
        before = mentions[place - 1].match if place else None
        if before is not None and is_alternative(text, before.start(), before.end(), mention.match.start()):
            guessed[place - 1] = guessed[place] = True
    for mention, is_one in zip(mentions, guessed, strict=True):
        yield from mention.rules if is_one else ()


def _named(match: re.Match[str]) -> Iterator[str]:
    """A rule that is named by its number alone is one of the policy's own."""
    if not match["plain"]:
        yield f"{match['letter'][0].upper()}{int(match['number'])}"
        return
    last = 0
    for part in _PART.finditer(match["plain"]):
        number = int(part["number"])
        is_range = part["range"] and last < number <= last + WIDEST
        yield from (f"R{one}" for one in (range(last + 1, number + 1) if is_range else [number]))
        last = number
