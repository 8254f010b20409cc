"""Whether the user asked for a human, after the agent had said that it cannot do what they want.

Only the user's own words count: to agree to an offer of the agent's is no wish of theirs.
"""

import re
from collections.abc import Sequence

from evaluator.words.markup import folded
from skillweave.schema.message import Message

_CANNOT = re.compile(
    r"\b(?:cannot|can ?not|can't|could(?: not|n't)|unable|not able|impossible|won't be able|no (?:tool|way|option|"
    r"function"
    r"|means|possibility)\b|(?:do|does)(?: not|n't) (?:have|offer|support|cover|do)|beyond (?:what|my)|"
    r"outside (?:of )?(?:what|my)|"
    r"(?:not|isn't|nothing) (?:be )?(?:possible|available|offered|something|supported|that i|i can|in my power))\b",
    re.IGNORECASE,
)
_WHO = (
    r"(?:human|(?:real |actual |live )?person|people|someone|somebody|colleagues?|(?:real |live )?agent|"
    r"representative|rep|"
    r"advis[oe]r|manager|supervisor|operator|employee|member of (?:the |your )?(?:staff|team)|staff)\b"
)
_ANY = rf"(?:(?:an?|the|one of|your|some|another|any|real|actual|live|human|of) ){{0,4}}{_WHO}"
_OVER = r"(?:put|pass|patch|hand|transfer|connect|forward|refer|direct|send|switch|escalate)"
_ASKS = re.compile(
    rf"\b(?:{_OVER} (?:me|us)(?: (?:through|over|on|along|up))?(?: please)?(?= *(?:$|[.,!?;]|please|now|then|(?:to|"
    rf"with) {_ANY}))"
    rf"|{_OVER} (?:me|us) through\b"
    rf"|{_OVER} (?:it|this|that|(?:my|the) (?:request|case|matter))(?: (?:over|on|along|up))? (?:to|with) {_ANY}"
    rf"|(?:speak|talk|chat|get in touch|be connected|be put through)(?: directly)? (?:to|with) {_ANY}"
    rf"|(?:want|need|prefer|ask for|asking for|have|get|get me|give me|find me|(?:would|'d) (?:like|prefer|"
    rf"rather have)) {_ANY}"
    rf"|(?:can|could|may|let|is there|will) {_ANY}(?: else)? (?:who )?(?:can |could |please )?"
    rf"(?:help|do|handle|take|deal|look|call|contact|see)\b|{_ANY},? please\b)",
    re.IGNORECASE,
)
_NEGATED = re.compile(
    r"(?:\b(?:no need (?:to|for you to)|never|rather not|without|instead of|rather than|not)|(?:do|would|wo|did|"
    r"does)n't"
    r"(?! you\b))(?: [\w']+){0,4}\s*$",
    re.IGNORECASE,
)
_BEFORE = 60
"""Characters before a wish in which it may be denied."""


def asked_for_human(messages: Sequence[Message]) -> bool:
    """Whether, in these messages, the user did so after the agent's no."""
    has_declined = False
    for message in messages:
        text = folded(message.content or "")
        if message.role == "assistant":
            has_declined = has_declined or _CANNOT.search(text) is not None
        elif message.role == "user" and has_declined and _asks(text):
            return True
    return False


def _asks(text: str) -> bool:
    return any(
        not _NEGATED.search(text[max(match.start() - _BEFORE, 0) : match.start()]) for match in _ASKS.finditer(text)
    )
