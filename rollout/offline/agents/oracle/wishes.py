"""Wishes: which of the goal's requests the user has made so far. Nothing is done before it was asked for."""

import re

from rollout.offline.agents.heard import Words
from rollout.offline.agents.script import Script

COVERED = 0.5
"""Share of a wish's own words that the user has to have used."""
_ASKING = re.compile(
    r"\b(?:tell me|let me know|know|find out|work out|look(?:ing)? up|check|wonder\w*|how (?:much|many|long))\b"
    r"|(?:^|[.!?;:,]\s+|\band\s+)(?:what|when|which|who|where|how)\b[^.!]*\?",
    re.IGNORECASE,
)
"""Words with which people want to know something. An answer too many does no harm."""
_SMALL_TALK = re.compile(r"\bhow (?:are|is|was|do)\b[^.?!]*\byou[^.?!]*\?|\bhow['’]s[^.?!]*\?", re.IGNORECASE)


class Wishes:
    def __init__(self, script: Script) -> None:
        self._script = script
        self._deeds = [index for index, wish in enumerate(script.wishes) if not wish.asks]
        self._questions = [index for index, wish in enumerate(script.wishes) if wish.asks]
        asked_for = [call.kind == "write" and call.demanded_by is None for call in script.calls]
        self._writes = [position for position, is_asked_for in enumerate(asked_for) if is_asked_for]
        self._paired = len(self._writes) == len(self._deeds)
        self.known: set[int] = set()
        """Indexes of the wishes that were made."""

    def hear(self, words: Words, *, invited: bool) -> None:
        """Take in all that was said. Who was asked what they want, and says something, makes their next wish."""
        stems = words.stems
        before = len(self.known)
        if not self._script.wishes:
            self.known.add(0)
        for index, wish in enumerate(self._script.wishes):
            if (wish.asks and _ASKING.search(words.text)) or (
                wish.words and len(wish.words & stems) >= COVERED * len(wish.words)
            ):
                self.known.add(index)
        open_wishes = [index for index in range(len(self._script.wishes)) if index not in self.known]
        if invited and len(self.known) == before and open_wishes:
            self.known.add(open_wishes[0])

    def covers(self, position: int) -> bool:
        """Whether the call serves a wish that was made."""
        if self._script.calls[position].kind == "auth" or not self._paired:
            return bool(self.known)
        serving = sum(write < position for write in self._writes)
        if serving < len(self._deeds):
            return self._deeds[serving] in self.known
        return bool(self.known & set(self._questions)) or not self._questions

    def asks_for(self, fact: int) -> bool:
        """Whether the user has asked for a fact."""
        if len(self._questions) != len(self._script.facts):
            return bool(self.known)
        return self._questions[fact] in self.known
