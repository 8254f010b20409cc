"""Contradictions: a clause that gives a value for one of the user's own facts, and it is another one.

Values that nobody ever said are invented, and are not looked at here: what remains was said by the assistant, or is
the user's own but belongs to another fact.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, lru_cache

from evaluator.ledger.known import Known, same_time
from evaluator.ledger.names import Names
from evaluator.ledger.own import OwnFact, has_method, method_in
from evaluator.ledger.stance import asserts, chooses, offers
from evaluator.ledger.values import Value, values_in
from evaluator.ledger.wording import clauses, plain

_GAP = re.compile(
    r"(?:[\s,:=()-]|\b(?:is|are|it|its|it's|on|at|of|for|over|the|a|my|our|from|to|be|will|would|should|was|date|"
    r"time|number|"
    r"day|please|as|in|that|this|by|no|again|mon|tues?|wednes|thurs?|fri|satur|sun)(?:day)?\b|'s)*"
)
_SINCE = re.compile(r"\bfrom(?: [\w'-]+){0,4} $", re.I)
_TO = re.compile(r"\bto\b")
"""`From my day of departure to 26 April` says when it begins, and ends with another value."""
_DEADLINE = re.compile(
    r"(?:\b(?:by|until|till|before|due(?: on)?|(?<=\d) to|(?<=[ap]m) to|through|than|valid(?: until)?|ready(?: on)?)|"
    r"-) ?(?:the )?$",
    re.I,
)
_WHICH = re.compile(r"\bwhich\b", re.I)
_NEXT = " | "
_GROWN = 12
"""A day so many years ago, said by a user who knows a date of birth, is meant as one."""
_UNTIL = re.compile(
    r"(?:\b(?:arriv\w+|until|till|to|ends?|clos\w+|lands?|by|before|due|valid|ready|paid)\b(?: (?:in|on|at|the|from|"
    r"until|\w+day|[A-Z]\w+))*|-) ?$"
)
_BOUND = re.compile(r"\b(?:under|over|below|above|than|up to|at most|at least|from|included?)(?: the)? $", re.I)
_IDENTITY = ("email", "digits", "code")


class Contradictions:
    """Finds them in the clauses of one utterance."""

    def __init__(
        self,
        facts: Sequence[OwnFact],
        names: Names,
        year: int,
        known: Callable[[], Known],
        heard: str,
        is_own: Callable[[str], bool],
    ) -> None:
        """`known` gives what was said so far; `heard` is the assistant's last message; `year` is the clock's; `is_own`
        tells whether the user's own texts have these very words."""
        self._facts = facts
        self._names = names
        self._year = year
        self._said = known
        self._last = heard
        self._is_own = is_own
        self._methods = [fact for fact in facts if fact.method is not None]
        self._plain = [fact for fact in facts if fact.plain] if " or " in heard.lower() else []

    @property
    def reads_words(self) -> bool:
        """Whether a fact can be contradicted by words that are no typed value."""
        return bool(self._methods or self._plain)

    def found(self, clause: str, values: Sequence[Value]) -> Iterator[tuple[str, str]]:
        """Words that contradict a fact, and what that fact is called; `values` are those of the clause."""
        contrary = [*self._contrary(clause, values)]
        if contrary and asserts(clause):
            yield from contrary

    def _contrary(self, clause: str, values: Sequence[Value]) -> Iterator[tuple[str, str]]:
        """The same, whether the clause asserts them or not."""
        for value in values:
            fact = (
                self._bound(clause, value)
                or self._of_identity(value, values)
                or self._counted(clause, value, values)
                or self._chosen(clause, value, values)
            )
            if fact is not None:
                yield value.text, fact.words
        yield from self._paid(clause)
        yield from self._alternative(clause)

    @cached_property
    def _known(self) -> Known:
        return self._said()

    @cached_property
    def _heard(self) -> str:
        return plain(self._last)

    @cached_property
    def _passages(self) -> list[str]:
        return [*_passages(self._heard)]

    def _bound(self, clause: str, value: Value) -> OwnFact | None:
        """The fact whose keyword stands right before the value, where the value fits none of that keyword."""
        rivals = [
            fact for fact in self._facts if self._is_of_type(fact, value) and self._is_said_of(fact, clause, value)
        ]
        if not rivals or any(fact.fits(value) for fact in rivals) or self._is_of_another(clause, value, rivals):
            return None
        return rivals[0]

    def _is_said_of(self, fact: OwnFact, clause: str, value: Value) -> bool:
        said = [*_said_of(fact, clause, value)]
        return bool(said) and not any(self._is_own(words) for words in said)

    def _is_of_another(self, clause: str, value: Value, rivals: Sequence[OwnFact]) -> bool:
        """Whether the clause names the record of another fact that the value fits: `my order due on 20 March`."""
        said, nouns = set(re.findall(r"[a-z]+", clause.lower())), {fact.entity.split("_")[-1] for fact in rivals}
        own = {fact.entity.split("_")[-1] for fact in self._facts if fact.fits(value)}
        return bool(own & said - nouns)

    def _is_of_type(self, fact: OwnFact, value: Value) -> bool:
        is_name = value.kind == "name"
        return fact.column in self._names.columns(value.key) if is_name else fact.has_kind_of(value)

    def _of_identity(self, value: Value, values: Sequence[Value]) -> OwnFact | None:
        """The fact about the person of which this is another value: nobody has two."""
        if any(day.year and day.year < self._year - _GROWN for day in value.days):
            born = [fact for fact in self._facts if fact.column == "date_of_birth"]
            return born[0] if born and not any(fact.fits(value) for fact in born) else None
        if value.kind not in _IDENTITY:
            return None
        rivals = [fact for fact in self._facts if fact.is_me and _is_same_identity(fact, value)]
        if not rivals or any(fact.fits(one) for fact in self._facts for one in values if one.kind == value.kind):
            return None
        return rivals[0]

    def _counted(self, clause: str, value: Value, values: Sequence[Value]) -> OwnFact | None:
        """The fact whose unit follows the number, or whose lead comes before it."""
        if value.kind != "number":
            return None
        before, after = value.before(clause), clause[value.end :].lstrip(" x-")
        if _BOUND.search(before):
            return None
        for fact in self._facts:
            if (
                fact.number is None
                or not (fact.units or fact.leads)
                or any(one.number is not None and fact.fits(one) for one in values)
                or any(other.column == fact.column and other.fits(value) for other in self._facts)
            ):
                continue
            attached = any(
                re.match(unit, after, re.I) or re.search(rf"{unit}$", value.text, re.I) for unit in fact.units
            )
            if attached or any(re.search(rf"\b{lead} (?:only )?$", before, re.I) for lead in fact.leads):
                return fact
        return None

    def _chosen(self, clause: str, value: Value, values: Sequence[Value]) -> OwnFact | None:
        """The fact that the value competes with, where the user chooses it from what the assistant put up."""
        is_moment = bool(value.days or value.times) or value.kind == "weekday"
        if not is_moment and value.kind != "name":
            return None
        if any(fact.fits(value) for fact in self._facts) or not chooses(clause):
            return None
        if value.kind == "name":
            return self._named(value, values)
        if value.times and value.number is not None and self._known.has_amount(value.number):
            return None
        if _DEADLINE.search(value.before(clause)):
            return None
        passages = [passage for passage in self._passages if self._mentions(passage, value)]
        for fact in self._facts:
            if fact.is_me or not _competes(fact, value) or any(self._fits(fact, one, value) for one in values):
                continue
            noun = fact.entity.split("_")[-1]
            is_offered = any(_puts_up(passage) or noun in passage.lower() for passage in passages)
            if is_offered and (not fact.is_mine or self._offers_both(fact)):
                return fact
        return None

    def _named(self, value: Value, values: Sequence[Value]) -> OwnFact | None:
        columns = self._names.columns(value.key)
        for fact in self._facts:
            is_rival = fact.column in columns and any(own.kind == "name" for own in fact.values)
            is_rival = is_rival and (not fact.is_mine or bool(_WHICH.search(self._heard)))
            if is_rival and not any(fact.fits(one) for one in values):
                return fact
        return None

    def _fits(self, fact: OwnFact, one: Value, like: Value) -> bool:
        """Whether another value of the clause, of the same type, is the fact's."""
        if like.times:
            return bool(one.times) and fact.fits(one)
        if one.kind == "weekday":
            return any(day.fits(own) for day in self._known.on_weekday(one.key) for own in fact.days)
        return bool(one.days) and fact.fits(one)

    def _mentions(self, passage: str, value: Value) -> bool:
        for one in values_in(passage, self._names):
            if _UNTIL.search(one.before(passage)):
                continue
            if any(day.fits(said) for day in one.days for said in value.days):
                return True
            if any(same_time(said, time[:2]) for said in value.times for time in one.times):
                return True
            if value.kind == "weekday" and (one.key == value.key or self._is_on(one, value.key)):
                return True
        return False

    def _is_on(self, value: Value, weekday: str) -> bool:
        return any(day.fits(known) for day in value.days for known in self._known.on_weekday(weekday))

    def _offers_both(self, fact: OwnFact) -> bool:
        """Whether the assistant named the fact's own value, too."""
        return any(fact.fits(one) for one in values_in(self._heard, self._names) if one.days or one.times)

    def _paid(self, clause: str) -> Iterator[tuple[str, str]]:
        own = {fact.method for fact in self._methods}
        for fact in self._methods:
            others = [(words, "way to pay") for method, words in method_in(clause) if method not in own]
            if others and fact.method is not None and not has_method(clause, fact.method):
                yield from others

    def _alternative(self, clause: str) -> Iterator[tuple[str, str]]:
        """The other one of `routine or express`."""
        for fact in self._plain:
            own = re.escape(fact.plain)
            pair = re.search(rf"\b(?:(\w+),? or {own}|{own},? or (\w+))\b", self._heard, re.I)
            other = (pair[1] or pair[2]) if pair else None
            if other and len(other) > 3 and chooses(clause) and not re.search(rf"\b{own}\b", clause, re.I):
                found = re.search(rf"\b{re.escape(other)}\b", clause, re.I)
                if found:
                    yield found.group(), fact.words


def _passages(text: str) -> Iterator[str]:
    """Each sentence with the one after it."""
    parts = [*clauses(text)]
    for part, following in zip(parts, [*parts, ""][1:], strict=True):
        yield f"{part}{_NEXT}{following}"


def _puts_up(passage: str) -> bool:
    return offers(passage) or "?" in passage.partition(_NEXT)[0]


def _said_of(fact: OwnFact, clause: str, value: Value) -> Iterator[str]:
    """Words that give the value for the fact, from its keyword on: `departure on 26 April`."""
    before = value.before(clause)
    lowered = before.lower()
    for keyword in fact.keywords:
        if keyword not in lowered:
            continue
        for match in _whole(keyword).finditer(before):
            gap = before[match.end() :].lower()
            is_end = _TO.search(gap) is not None and _SINCE.search(before[: match.start()]) is not None
            if _GAP.fullmatch(gap) and not is_end:
                yield before[match.start() :] + value.text


@lru_cache(maxsize=1024)
def _whole(keyword: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(keyword)}(?!\w)", re.I)


def _is_same_identity(fact: OwnFact, value: Value) -> bool:
    if value.kind == "email":
        return fact.column == "email"
    if value.kind == "digits":
        return fact.column == "phone" and value.text.lstrip("(")[:1] in "+0"
    return fact.column == "postcode" and bool(re.fullmatch(r"[a-z]{1,2}\d[a-z\d]?\d[a-z]{2}", value.key))


def _competes(fact: OwnFact, value: Value) -> bool:
    if value.times:
        return any(own.times for own in fact.values)
    return bool(fact.days)
