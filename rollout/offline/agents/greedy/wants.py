"""Wants: what the user asks for, sentence by sentence."""

import re
from typing import NamedTuple

from evaluator.words.mentions import sentences

_ASKS = re.compile(
    r"\b(?:tell me|let me know|(?:to|I) know|if I knew|find out|work out|look(?:ing)? up|could you check|"
    r"do you know|wondering (?:if you could tell|what|when|how))\b"
    r"(?!.*\bif something\b)|(?:^|[,;:]\s+)(?:what|when|which|who|where|how)\b[^.!]*\?",
    re.IGNORECASE,
)
_WANTS = re.compile(
    r"\b(?:(?:want|need|like|love|wish|hop(?:e|ing)|trying|have|intend|mean(?:ing)?|meant) to|help me|can you|"
    r"could you|could we|would you|please|may I|possible to|can I|to, well,)\b",
    re.IGNORECASE,
)
_TALK = re.compile(
    r"\b(?:sorry|how are you|you can help me\b\.?$|right place|thanks?|regards|hope (?:that|it)|need anything)\b",
    re.IGNORECASE,
)
_OBJECT = re.compile(r"\s(?:to|into|for) (?:the|another|a|an)\s", re.IGNORECASE)
_LATER = re.compile(
    r"^(?:and |then |next,? |also,? |afterwards,? )*(?:(?:when|once|as soon as|after) (?:that|this|it)\b[^,]*,\s*)?",
    re.IGNORECASE,
)
_DISLIKE = re.compile(r"\b(?:not|never|rather not|don['’]t) (?:want|like|wish|need|have|hope) to\b", re.IGNORECASE)
_STOP = re.compile(r"(?<=[a-z)][.!?])(?<!\bdr\.)(?<!\bst\.)\s+", re.IGNORECASE)
SHORT = 4
"""Words below which a sentence wants nothing."""


class Want(NamedTuple):
    text: str
    asks: bool
    """Whether it wants to know something."""

    @property
    def what(self) -> str:
        """The part that names what is to be changed: `move my test ...` of `move my test ... to the slot ...`."""
        return self._parts[0]

    @property
    def target(self) -> str:
        """The part that names what it is to become."""
        return self._parts[-1]

    @property
    def _parts(self) -> tuple[str, ...]:
        found = list(_OBJECT.finditer(self.text))
        return (self.text[: found[-1].start()], self.text[found[-1].start() :]) if found else (self.text,)


def wants_in(text: str) -> list[Want]:
    """The wants of a message, in order."""
    found = []
    for sentence in (part for line in sentences(text) for part in _STOP.split(line)):
        sentence = _LATER.sub("", sentence)
        if len(sentence.split()) < SHORT or _DISLIKE.search(sentence):
            continue
        if _ASKS.search(sentence):
            found.append(Want(sentence, True))
        elif _WANTS.search(sentence) and not _TALK.search(sentence):
            found.append(Want(sentence, False))
    return found
