"""Offers: whether what an agent proposes is something else than what the user has asked for.

A deed of another sort, something in addition, or something in its place; values that differ are `conflict`'s.
"""

import re
from collections.abc import Sequence
from functools import cache

from evaluator.words.mentions import mentions
from rollout.offline.user.lexicon import deeds_of, lexicon, stem, stems, strong_deeds_of, wording
from rollout.offline.user.moods import Sentence
from rollout.offline.user.topics import Topic
from rollout.user.telling.errands import Errand
from rollout.user.telling.fact_words import MOMENT, is_said

_CANCEL = re.compile(r"\bcancel\b", re.IGNORECASE)
_KEEP = re.compile(r"\bkeep (?!in mind|me|you|an? )", re.IGNORECASE)
_AWAY = re.compile(r"\b(?:go|off|out|rid|without|away)\b")
_COMPANY = re.compile(r"\b(?:with|from|at|by|of|to|through) [A-Z][\w-]*(?: [A-Z][\w-]*)+")
"""Words of a company's name are of no thing: Larkfield Dental Care has care plans, too."""
NAMES_A_THING = 3
"""Words from which on a proposal says what it is about."""


def is_named(errand: Errand, text: str) -> bool:
    """Whether a text speaks of the errand: of its deed and of its thing."""
    return bool(deeds_of(errand.whole) & deeds_of(text)) and bool(stems(errand.whole) & stems(text))


def is_agreed_to(errand: Errand, text: str, topics: Sequence[Topic]) -> bool:
    """Whether a text speaks of the very thing of what the user only agrees to, and of its deed, or of its being needed
    first: agents and people seldom have the same word for it."""
    beside = frozenset().union(*(stems(str(topic.fact.value)) for topic in topics if not topic.is_row))
    shared = (stems(MOMENT.sub(" ", errand.whole)) & stems(MOMENT.sub(" ", text))) - beside
    things = [word for word in shared if word in _nouns() or not _is_deed(word)]
    is_of_deed = bool(deeds_of(errand.whole) & deeds_of(text)) or wording("needed_first").search(text) is not None
    return is_of_deed and bool(things)


def is_extra(proposed: Sequence[Sentence], errands: Sequence[Errand], topics: Sequence[Topic]) -> bool:
    """Whether it is something in addition, of which the user has said nothing."""
    only_asks = not any(errand.kind == "do" for errand in errands)
    said = frozenset().union(*(stems(errand.whole) for errand in errands))
    for sentence in proposed:
        about = stems(sentence.text)
        if wording("added").search(sentence.text):
            if not about & said:
                return True
            if not any(is_named(errand, sentence.text) for errand in errands) and not _says_own(sentence.text, topics):
                return True
            if not _things(about, errands) and not _says_own(sentence.text, topics):
                return True
        if only_asks and wording("about_else").search(sentence.text) and not about & said:
            return len(about) >= NAMES_A_THING
    return False


def is_instead(proposed: Sequence[Sentence], telling: Sequence[Sentence], topics: Sequence[Topic]) -> bool:
    """Whether it is put in the place of what the user wants, and names nothing of it."""
    offered = [s for s in [*telling, *proposed] if not (s.declines or s.reports or wording("gone").search(s.text))]
    text = " ".join(sentence.text for sentence in offered)
    is_gone = any(s.declines or wording("gone").search(s.text) for s in telling)
    signs = [wording("in_place"), *([wording("other_one")] if is_gone else [])]
    if not any(sign.search(sentence.text) for sign in signs for sentence in [*telling, *proposed]):
        return False
    return not _says_own(text, topics)


def is_beside(proposed: Sequence[str], errands: Sequence[Errand], topics: Sequence[Topic]) -> bool:
    """Whether it is a deed that the user has not asked for."""
    doing = [errand for errand in errands if errand.kind == "do"]
    wanted = [strong_deeds_of(errand.whole) for errand in doing]
    if not wanted:
        return any(
            strong_deeds_of(text) - {"send", "ask", "report"} and wording("acts").search(text) for text in proposed
        )
    if any(_KEEP.search(text) and wording("want_to").search(text) for text in proposed):
        return all("cancel" in deeds for deeds in wanted[:1])
    if any(_is_other_deed(text, doing, topics) for text in proposed):
        return True
    if not any(_CANCEL.search(text) for text in proposed):
        return False
    return not any(
        "cancel" in deeds or (not deeds and _AWAY.search(e.whole)) for deeds, e in zip(wanted, doing, strict=True)
    )


def owns(errand: Errand, topic: Topic) -> bool:
    """Whether a fact is of the errand's record or deed."""
    if topic.is_row:
        return bool(topic.record_stems & stems(errand.whole))
    return bool(strong_deeds_of(topic.record.replace("_", " ")) & strong_deeds_of(errand.whole))


def says(errand: Errand, topic: Topic) -> bool:
    """Whether the errand's words hold a fact."""
    return is_said(topic.fact, errand.whole) or topic.is_day_of(mentions(errand.whole).days)


def _is_other_deed(text: str, doing: Sequence[Errand], topics: Sequence[Topic]) -> bool:
    """Whether a text names a deed and a thing, and neither is of what the user wants."""
    named = wording("names_deed").search(text)
    done = strong_deeds_of(named.group(1)) if named else frozenset()
    about = stems(named.group(1)) if named else frozenset()
    if not named or not done or len(about) < NAMES_A_THING - 1 or _says_own(text, topics):
        return False
    wanted = [deeds_of(errand.whole) for errand in doing]
    said = frozenset().union(*(stems(_COMPANY.sub(" ", errand.whole)) | stems(_records(topics)) for errand in doing))
    return not any(deeds & done for deeds in wanted) and not about & said - stems("bank account")


def _records(topics: Sequence[Topic]) -> str:
    return " ".join(topic.record.replace("_", " ") for topic in topics if not topic.is_own)


def _things(about: frozenset[str], errands: Sequence[Errand]) -> bool:
    """Whether words are of a thing that an errand is about, rather than of its deed."""
    said = frozenset().union(*(stems(errand.whole) for errand in errands))
    return any(not _is_deed(word) for word in about & said)


@cache
def _nouns() -> frozenset[str]:
    """Stems of the things that are called by the word for a deed."""
    return frozenset(stem(noun) for noun in lexicon()["nouns"])


def _is_deed(word: str) -> bool:
    """Whether it is a word for a deed, or a mere figure."""
    return word.isdigit() or bool(strong_deeds_of(word))


def _says_own(text: str, topics: Sequence[Topic]) -> bool:
    """Whether a text says a value of the user's, other than a mere figure."""
    return any(isinstance(topic.fact.value, str) and not topic.is_own and is_said(topic.fact, text) for topic in topics)
