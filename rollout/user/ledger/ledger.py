"""FactLedger: the faults of an utterance, in words that do not give the right value away."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date

from rollout.user.ledger.contradictions import Contradictions
from rollout.user.ledger.known import Known
from rollout.user.ledger.own import own_facts
from rollout.user.ledger.small_talk import is_small_talk
from rollout.user.ledger.values import Names, Value, values_in
from rollout.user.ledger.wording import clauses, plain
from rollout.user.role import Role
from skillweave.schema.message import Message

INVENTED = "{words!r} is nothing that you know or have been told"
CONTRADICTS = "{words!r} is not what you know of the {fact}"
NO_NAMES: Mapping[str, frozenset[str]] = {}


class FactLedger:
    """Checks what a user says against what they can know: their role, and what the agent said before."""

    def __init__(self, role: Role, names: Names = NO_NAMES) -> None:
        """`names` are names of records in the world's data, with the columns in which each stands."""
        self._names = names
        self._facts = own_facts(role.scenario.facts, names)
        self._known = Known(date.fromisoformat(role.now[:10]), names)
        for text in _texts(role):
            self._known.hear(text)
        self._heard: list[str] = []
        self._so_far = self._known.copy()

    def faults(self, utterance: str, seen: Sequence[Message]) -> list[str]:
        """Typed values in the utterance that are invented or contradict the role, each in words; `seen` is the
        conversation before it, the user's own words as `assistant`."""
        known = self._after([message.content or "" for message in seen])
        heard = next((message.content or "" for message in reversed(seen) if message.role == "user"), "")
        contradictions = Contradictions(self._facts, self._names, self._so_far, plain(heard))
        found: list[str] = []
        for clause in clauses(plain(utterance)):
            values = values_in(clause, self._names)
            invented = [*_invented(clause, values, known)]
            known.learn(value for value in values if value not in invented)
            rest = [value for value in values if value not in invented]
            found += [INVENTED.format(words=value.text) for value in invented]
            found += [CONTRADICTS.format(words=words, fact=fact) for words, fact in contradictions.found(clause, rest)]
        return list(dict.fromkeys(found))

    def _after(self, said: list[str]) -> Known:
        """What is known after that; a conversation that went on is not read again from its beginning."""
        if said[: len(self._heard)] != self._heard:
            self._heard, self._so_far = [], self._known.copy()
        for text in said[len(self._heard) :]:
            self._so_far.hear(text)
        self._heard = said
        return self._so_far.copy()


def _invented(clause: str, values: Sequence[Value], known: Known) -> Iterator[Value]:
    """Unknown values; a sum may stand after its parts."""
    for value in values:
        if not known.knows(value) and not is_small_talk(value, clause):
            yield value
        elif value.number is not None:
            known.learn([value])


def _texts(role: Role) -> Iterator[str]:
    """All that the user knows."""
    yield from (role.scenario.goal, role.scenario.reason, role.opening, role.company)
    yield f"{role.persona.name}, {role.persona.age}"
    yield role.now
    for fact in role.scenario.facts:
        yield fact.text
        if isinstance(fact.value, str):
            yield fact.value
        elif isinstance(fact.value, int | float):
            is_money = fact.id.endswith("_cents")
            yield f"{fact.value / 100:.2f}" if is_money else str(fact.value)
