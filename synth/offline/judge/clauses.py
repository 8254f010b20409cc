"""Clauses: a rule's sentence taken apart into what it is about, what it asks for or forbids, and its exception."""

import re
from dataclasses import dataclass

from synth.offline.judge.bounds import bounds_of

_FIRST = re.compile(r"(?:only|at most|at least|no more than|not more than)\b", re.IGNORECASE)
_ABLE = re.compile(r"\b(?:can|may)\b", re.IGNORECASE)
_FORBIDS = re.compile(
    r"\b(?:cannot|can not|may not|must not|no longer|nobody|nothing|never|not)\b(?! (?:less|more|later|past) )",
    re.IGNORECASE,
)
_ASKS = re.compile(r"\b(?:must|has to|have to|needs?|can|may|lasts?|is|are|takes?)\b", re.IGNORECASE)
_AUXILIARY = re.compile(r"\b(?:is|are|was|were|can|may|be|has|have)$", re.IGNORECASE)
_VERB = re.compile(r"\b(?:can|may|is|are)\b", re.IGNORECASE)
_RESULT = re.compile(r", so (?=at (?:least|most)\b)", re.IGNORECASE)
_TURN = re.compile(
    r"\b(?:if|when|while|where|once|until|before|after|at least|at most|up to|more than|less than|within|with|to|for|"
    r"on|in|at|from|of)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Clauses:
    forbids: bool
    about: str
    """What the rule is about; empty where that is in `what`."""
    what: str
    """What it asks for, or forbids."""
    exception: str = ""


def clauses_of(sentence: str) -> Clauses | None:
    """The clauses; None for a sentence whose build is not understood."""
    text = sentence.strip().rstrip(".")
    main, _, exception = text.partition(" unless ")
    result = _RESULT.search(main)
    found = Clauses(False, "", main[result.end() :]) if result else _main(main)
    return found and Clauses(found.forbids, found.about, found.what, exception)


def _main(text: str) -> Clauses | None:
    if _FIRST.match(text):
        able = list(_ABLE.finditer(text))
        return Clauses(False, text[able[-1].end() :], text[: able[-1].start()]) if able else None
    forbidding = _FORBIDS.search(text)
    before, only, after = text.partition(" only ")
    if only and not (forbidding and forbidding.start() < len(before)):
        return _limited(before, after)
    if forbidding:
        return Clauses(True, "", text)
    asking = _ASKS.search(text)
    if asking is None:
        return Clauses(False, "", text) if bounds_of(text) else None
    about, what = text[: asking.start()], text[asking.end() :]
    if bounds_of(about) and not bounds_of(what) and not asking[0].lower().startswith(("must", "ha", "need")):
        return Clauses(False, "", text)
    return Clauses(False, about, what)


def _limited(before: str, after: str) -> Clauses:
    """What stands around `only`: `is only sold | at least 3 days ahead`, `on Sundays only | seniors | are let in`."""
    turn = _TURN.search(after)
    if turn is not None and (turn.start() == 0 or _AUXILIARY.search(before)):
        return Clauses(False, f"{before} {after[: turn.start()]}", after[turn.start() :])
    verb = None if _AUXILIARY.search(before) else _VERB.search(after)
    if verb is None:
        return Clauses(False, before, after)
    return Clauses(False, f"{before} {after[verb.start() :]}", after[: verb.start()])
