"""FactLedger: the faults of an utterance, in words that do not give the right value away."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from evaluator.ledger.background import Background
from evaluator.ledger.contradictions import Contradictions
from evaluator.ledger.known import Known
from evaluator.ledger.small_talk import is_small_talk
from evaluator.ledger.values import Value, is_free_of_values, values_of
from evaluator.ledger.wording import clauses, plain
from skillweave.schema.message import Message

FaultKind = Literal["invented", "contradicts", "withheld"]
FOR_THE_USER: dict[FaultKind, str] = {
    "invented": "{words!r} is nothing that you know or have been told",
    "contradicts": "{words!r} is not what you know of the {fact}",
    "withheld": "{words!r} is something that you keep to yourself",
}


class Fault(NamedTuple):
    kind: FaultKind
    words: str
    """As they were said."""
    fact: str = ""
    """What the fact that they contradict is called."""


class FactLedger:
    """Checks what a user says against what they can know: their background, and what was said before."""

    def __init__(self, background: Background) -> None:
        self._background = background
        self._said: list[str] = []
        self._heard = ""
        self._read = 0
        self._known: Known | None = None

    def hear(self, text: str) -> None:
        """Take in what the agent says."""
        self._said.append(text)
        self._heard = text

    def say(self, text: str) -> None:
        """Take in what the user says."""
        self._said.append(text)

    def judge(self, utterance: str) -> list[Fault]:
        """Typed values in the utterance that are invented, kept back or contradict the user's own facts."""
        background = self._background
        found = [Fault("contradicts", name, "name") for name in background.person.other_names(utterance)]
        year = background.known.now.year
        contradictions = Contradictions(
            background.facts, background.names, year, self._known_so_far, self._heard, background.has_words
        )
        if not contradictions.reads_words and is_free_of_values(utterance, background.names):
            return found
        spoken = _Spoken(background.known, self._known_so_far)
        for clause in clauses(plain(utterance)):
            values = values_of(clause, background.names)
            invented = [*spoken.unknown(clause, values)] if values else []
            rest = [value for value in values if value not in invented] if invented else values
            spoken.learn(rest)
            found += map(self._unknown, invented)
            found += [Fault("contradicts", words, fact) for words, fact in contradictions.found(clause, rest)]
        return list(dict.fromkeys(found))

    def faults(self, utterance: str, seen: Sequence[Message]) -> list[str]:
        """The same in words for the user; `seen` is the conversation before it, the user's own words as `assistant`.

        A conversation that went on is not read again from its beginning.
        """
        said = [message.content or "" for message in seen]
        if said[: len(self._said)] != self._said:
            self._said, self._heard, self._read, self._known = [], "", 0, None
        self._said = said
        self._heard = next((message.content or "" for message in reversed(seen) if message.role == "user"), "")
        return [FOR_THE_USER[fault.kind].format(**fault._asdict()) for fault in self.judge(utterance)]

    def _unknown(self, value: Value) -> Fault:
        is_withheld = any(fact.fits(value) for fact in self._background.withheld)
        return Fault("withheld" if is_withheld else "invented", value.text)

    def _known_so_far(self) -> Known:
        """What is known after all that was said; texts are read when that is asked for."""
        if self._known is None:
            self._known = self._background.all_known.copy()
        for text in self._said[self._read :]:
            self._known.hear(text)
        self._read = len(self._said)
        return self._known


class _Spoken:
    """What is known in the middle of an utterance: its clauses so far are known, too."""

    def __init__(self, always: Known, so_far: Callable[[], Known]) -> None:
        self._always = always
        self._so_far = so_far
        self._values: list[Value] = []
        self._known: Known | None = None

    def unknown(self, clause: str, values: Iterable[Value]) -> Iterator[Value]:
        """Values that nobody said; a sum may stand after its parts."""
        for value in values:
            if not self._knows(value) and not is_small_talk(value, clause):
                yield value
            elif value.number is not None:
                self.learn([value])

    def learn(self, values: Iterable[Value]) -> None:
        """Take in values that were let pass."""
        if self._known is None:
            self._values += values
        else:
            self._known.learn(values)

    def _knows(self, value: Value) -> bool:
        if self._always.knows(value):
            return True
        if self._known is None:
            self._known = self._so_far().copy()
            self._known.learn(self._values)
        return self._known.knows(value)
