"""Moods: what each sentence of an agent does. It asks, proposes, offers help, reports, declines, waits, or just tells.

Read from the wording alone, without any knowledge of the task; a sentence may have several moods.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from evaluator.words.mentions import Mentions, mentions, sentences
from rollout.offline.user.lexicon import strong_deeds_of, wording

_CHOICE = re.compile(r"\b(?:which|what|when|where|who|whom|whose|how)\b| or (?!no\b)", re.IGNORECASE)
_SPLIT = re.compile(
    r"(?<=[?!])\s+|(?<=[a-z)])\.\s+(?=[a-z]{2,})"
    r"|(?<=[\w)][.])(?<!\bDr\.)(?<!\bMr\.)(?<!\bMrs\.)(?<!\bSt\.)(?<!\d\.)\s+(?=[A-Z][a-z']+ [a-z])"
)
_WHICH_ONE = re.compile(r"\bwhich (?:one|of (?:them|these|those))\b[^?]*\?", re.IGNORECASE)
_PICTURE = re.compile(r"[\u23e9-\u23ff\u2600-\u27bf\U0001f000-\U0001faff]\ufe0f?")
"""Emojis; they end a sentence."""


@dataclass(frozen=True)
class Sentence:
    text: str

    @property
    def asks_something(self) -> bool:
        """Whether it is a question."""
        return self.text.rstrip(" *_)\"'”").endswith("?")

    @cached_property
    def offers(self) -> bool:
        """It asks what the user wants."""
        return wording("offer").search(self.text) is not None

    @cached_property
    def proposes(self) -> bool:
        """It asks for a yes."""
        if self.offers or self.asks_choice or wording("wish_asked").search(self.text):
            return False
        if wording("proposal_said").search(self.text):
            return True
        if self.asks_something and wording("proposal").search(self.text):
            return True
        if not self.asks_something or _CHOICE.search(self.text):
            return False
        # `Pay it by card?`
        is_bare = bool(strong_deeds_of(self.text)) and not wording("inquires").match(self.text)
        return is_bare or wording("want_to").search(self.text) is not None

    @cached_property
    def asks_choice(self) -> bool:
        """It asks which of several it shall be; a list of them may stand before it."""
        return bool(wording("choice_asked").match(self.text) or _WHICH_ONE.search(self.text))

    @cached_property
    def asks(self) -> bool:
        """It asks for something to be told."""
        if self.offers and not wording("request").search(self.text):
            return False
        return self.asks_something or wording("request").search(self.text) is not None

    @cached_property
    def reports(self) -> bool:
        """It says that something has been done."""
        if self.asks or self.proposes or self.gives_up or self.is_rule or wording("history").search(self.text):
            return False
        if self.is_brief:
            return True
        found = wording("done").search(self.text)
        if found is None:
            return False
        return wording("not_yet").search(self._clause(found.start(), found.end())) is None

    @cached_property
    def is_brief(self) -> bool:
        """It reports without a verb: `Invoice: paid by card`."""
        return wording("done_briefly").search(self.text) is not None

    @cached_property
    def is_rule(self) -> bool:
        """It says how things are in general: `Paid invoices are closed.`"""
        return wording("rule").search(self.text) is not None and wording("of_this_one").search(self.text) is None

    @cached_property
    def is_on_the_way(self) -> bool:
        """What it reports is a step, such as having found a record."""
        return wording("on_the_way").search(self.text) is not None

    @cached_property
    def declines(self) -> bool:
        """It says that something is not going to be done."""
        if self.asks_something or self.is_rule or not wording("declined").search(self.text):
            return False
        what = wording("because").split(self.text)[0]
        return not wording("no_decline").search(what or self.text)

    @cached_property
    def gives_up(self) -> bool:
        """It says that nothing more is to be had."""
        return wording("gives_up").search(self.text) is not None

    @cached_property
    def hands_over(self) -> bool:
        """It says that somebody else goes on."""
        return not self.asks_something and wording("hand_over").search(self.text) is not None

    @cached_property
    def waits(self) -> bool:
        """It announces something to come."""
        return not self.asks_something and not self.reports and wording("wait").search(self.text) is not None

    @cached_property
    def tells(self) -> bool:
        """It states something, and neither asks nor announces."""
        return not (self.asks_something or self.waits or self.declines or self.proposes or self.gives_up)

    @cached_property
    def mentions(self) -> Mentions:
        """Its dates, times and numbers."""
        return mentions(self.text)

    def _clause(self, start: int, end: int) -> str:
        """What stands around a place, as far as the next comma or full stop."""
        before = re.split(r"[,;:]\s|\band\b|\bbut\b", self.text[:start])[-1]
        return before + self.text[start:end]


def sentences_of(text: str) -> Iterator[Sentence]:
    """The sentences of an agent's message; in a list of what was done each line is one."""
    plain = wording("done_list").sub(r"\g<0>.", _PICTURE.sub("\n", text))
    for part in sentences(plain):
        for piece in filter(None, _SPLIT.split(part)):
            parts = [piece] if "?" in piece else wording("but").split(piece)
            yield from (Sentence(part.strip()) for part in parts if part.strip())
