"""What takes back what was said before: a correction gives another value, a retraction none."""

import re

_CUES = (
    "sorry",
    "apolog",
    "correct",
    "actually",
    "i was ",
    "i meant",
    "misspoke",
    "misread",
    "mistake",
    "in fact",
    "is now",
    "should be",
    "wait",
    "make that",
    "scratch",
    "ignore",
    "disregard",
    "forget",
    "kidding",
    "joking",
    "it up",
    "that up",
    "made up",
    "wrong",
    "error",
    "not true",
    "untrue",
    "n't true",
    "not right",
    "n't right",
    "a lie",
    "false",
    "it back",
    "that back",
    "body else",
    "one else",
    "another customer",
    "another person",
    "a different ",
    "changed to",
)
"""A text in small letters that corrects holds one of these."""
_CORRECTING = re.compile(
    r"\b(?:sorry|apolog\w+|correction|actually|i was wrong|mistaken?|misspoke|misread|i meant|in fact|is now"
    r"|should be|(?:has|have) (?:been )?changed to|scratch that|make that|wait)\b",
    re.IGNORECASE,
)
_OF_WHAT_WAS_SAID = (
    r"(?:that|it|this|my (?:last|previous|earlier) (?:message|answer|statement)|what i (?:said|wrote|told you))"
)
_RETRACTING = re.compile(
    r"\b(?:i was (?:wrong|mistaken|(?:just |only )?(?:kidding|joking))|i made a mistake|i misspoke|i misread"
    r"|(?:just|only) (?:kidding|joking)|correction"
    rf"|(?:scratch|ignore|disregard|forget) {_OF_WHAT_WAS_SAID}|made (?:it|that|this) up"
    rf"|take {_OF_WHAT_WAS_SAID} back"
    rf"|{_OF_WHAT_WAS_SAID}(?: is| was)(?: not|n't)(?: \w+)? (?:right|correct|true)"
    rf"|{_OF_WHAT_WAS_SAID}(?:'s| is| was)(?: all| just| actually)? (?:a lie|wrong|incorrect|a mistake|an error|untrue"
    r"|false|made up|another (?:customer|person)"
    r"|(?:a different|the wrong) (?:customer|person|patient|guest|member|client)|(?:some(?:body|one)|anybody) else))\b",
    re.IGNORECASE,
)


def is_correction(text: str) -> bool:
    """Whether the text says that another value comes, or stands in it, than was said before."""
    return may_correct(text) and _CORRECTING.search(text) is not None


def is_retraction(text: str) -> bool:
    """Whether the text takes back what was said before."""
    return may_correct(text) and _RETRACTING.search(text) is not None


def may_correct(text: str) -> bool:
    """Whether a text may take something back; quick."""
    lowered = text.lower()
    return bool([cue for cue in _CUES if cue in lowered])
