"""Deciding cases: each fact is looked up in the clauses of the sentence, and what they give is put together.

Truth has three values here. A fact that the sentence does not clearly speak of leaves the case undecided: a judge that
guesses would let a wrong sentence pass.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from synth.offline.judge.bounds import Bound, against_now, bounds_of, chosen
from synth.offline.judge.clauses import Clauses, clauses_of
from synth.offline.judge.facts import Fact, read_facts
from synth.policy.quantity import Quantity
from synth.policy.words import places, says, stems

Truth = bool | None
_THERE = re.compile(r"\b(?:must exist|must be one|be one (?:in|that)|must be on file|is identified)\b", re.IGNORECASE)
_OWN = re.compile(r"\b(?:own|theirs|yours)\b", re.IGNORECASE)
_ONCE = re.compile(r"\b(?:once|twice|two|only one|again|at most one)\b", re.IGNORECASE)
_SINGLE = re.compile(r"\b(?:only one|at most one|have two|has no two)\b", re.IGNORECASE)
_OPAQUE = re.compile(r"\bnot counting\b|\bexcept\b|\bbefore or after\b", re.IGNORECASE)
"""Turns of speech that are left to better judges."""
_DENIED = re.compile(r"\b(?:not|no|without)\b(?! (?:less|more|later|past|left|begun|started)\b)", re.IGNORECASE)
_OR = re.compile(r"\bn?or\b(?! (?:more|less|later|over|a later)\b)", re.IGNORECASE)
_IDLE = frozenset(stems("is are was has have takes take be"))


@dataclass(frozen=True)
class Decision:
    holds: Truth
    why: str


def decide(sentence: str, cases: Sequence[str]) -> list[Decision]:
    """What the sentence says of each case."""
    clauses = clauses_of(sentence)
    read = [read_facts(case) for case in cases]
    if clauses is None or any(facts is None for facts in read):
        return [Decision(None, "the sentence or the case is not understood") for _ in cases]
    known = [facts for facts in read if facts is not None]
    values: dict[str, list[str]] = {}
    for facts in known:
        for fact in facts:
            if fact.kind == "choice":
                values.setdefault(fact.noun, []).append(fact.word)
    return [_Reading(sentence, clauses, facts, values).decision() for facts in known]


class _Reading:
    """One case under one sentence."""

    def __init__(
        self, sentence: str, clauses: Clauses, facts: Sequence[Fact], values: Mapping[str, Sequence[str]]
    ) -> None:
        self._sentence = sentence
        self._clauses = clauses
        self._facts = facts
        self._values = values

    def decision(self) -> Decision:
        if len(self._facts) == 1 and self._facts[0].kind == "row":
            return self._row(self._facts[0])
        if _OPAQUE.search(self._sentence) or (not self._clauses.forbids and _DENIED.search(self._clauses.what)):
            return Decision(None, "the sentence is too involved")
        parts: dict[str, list[Truth]] = {"about": [], "what": [], "exception": []}
        for place, truth in self._truths():
            if not place:
                return Decision(None, "the sentence does not clearly speak of this")
            parts[place].append(truth)
        return self._together(parts)

    def _together(self, parts: Mapping[str, list[Truth]]) -> Decision:
        clauses = self._clauses
        what = _all(parts["what"]) if parts["what"] else None
        joined = self._joins_conditions
        if len(parts["what"]) > 1 and joined:
            what = None
        if _SINGLE.search(self._sentence):
            holds = None if joined else _not(_all([*parts["what"], *parts["about"]]))
        elif clauses.forbids:
            holds = _not(what)
            if holds and joined:
                holds = None
        else:
            holds = _or(_not(_all(parts["about"])), what)
        if clauses.exception:
            exception = _all(parts["exception"]) if parts["exception"] else None
            holds = _or(holds if parts["what"] or not clauses.forbids else False, exception)
        return Decision(holds, "by the words of the sentence" if holds is not None else "the words leave it open")

    @property
    def _joins_conditions(self) -> bool:
        return _OR.search(self._clauses.what) is not None and not self._is_list

    @property
    def _is_list(self) -> bool:
        """Whether the `or` of the clause joins values or figures of one choice, and so no conditions."""
        if any(fact.kind == "choice" and self._selects(fact) for fact in self._facts):
            return True
        what = self._clauses.what
        listed = [
            value
            for values in self._values.values()
            for value in values
            if re.search(rf"\bor (?:a |an |the )?{re.escape(value)}\b|\b{re.escape(value)} or\b", what)
        ]
        return bool(listed) and len(_OR.findall(what)) == 1 and re.search(r", or\b", what) is None

    def _row(self, fact: Fact) -> Decision:
        if _ONCE.search(self._sentence):
            return Decision(not fact.true, "the sentence allows one")
        if (" of this " in fact.noun and _OWN.search(self._sentence)) or _THERE.search(self._sentence):
            return Decision(fact.true, "the sentence asks for it")
        return Decision(None, "the sentence does not clearly speak of this")

    def _truths(self) -> Iterable[tuple[str, Truth]]:
        """Where each fact is spoken of, and whether it is as the sentence has it there."""
        count = next((place for place, fact in enumerate(self._facts) if fact.kind == "count"), None)
        inner = list(self._facts[:count]) if count is not None else []
        for number, fact in enumerate(self._facts):
            if fact in inner and number < len(inner):
                continue
            if fact.kind == "count":
                yield self._counted(fact, inner)
            elif fact.kind == "choice" and self._selects(fact):
                continue
            else:
                yield self._looked_up(fact)

    def _counted(self, fact: Fact, inner: Sequence[Fact]) -> tuple[str, Truth]:
        found = [self._looked_up(one) for one in inner]
        if any(not place for place, _ in found) or (len(found) > 1 and self._joins_conditions):
            return "", None
        counts = _all([truth for _, truth in found]) if found else True
        if counts is None or fact.quantity is None:
            return "", None
        number = fact.quantity if counts else fact.quantity._replace(value=fact.quantity.value * 0)
        return self._measured(Fact("count", fact.noun, quantity=number))

    def _selects(self, fact: Fact) -> bool:
        """Whether a choice only says which of several bounds applies: `less than 3 for classic, 4 for silver`."""
        figures = [one for one in self._facts if one.quantity is not None]
        if not figures or not says(self._sentence, fact.word):
            return False
        bounds = [bound for clause in (self._clauses.what,) for bound in bounds_of(clause)]
        return any(
            len({bound.quantity(one.quantity) for bound in bounds if bound.quantity(one.quantity)}) > 1
            for one in figures
            if one.quantity is not None
        )

    def _looked_up(self, fact: Fact) -> tuple[str, Truth]:
        if fact.kind == "choice":
            what, about, exception = self._places()
            for place, clause in (exception, what, about):
                if any(says(clause, value) for value in self._values[fact.noun]):
                    return place, says(clause, fact.word)
            return "", None
        if fact.kind == "yesno":
            return self._answered(fact)
        if fact.kind in ("time", "figure", "count"):
            return self._measured(fact)
        return "", None

    def _places(self) -> list[tuple[str, str]]:
        clauses = self._clauses
        return [("what", clauses.what), ("about", clauses.about), ("exception", clauses.exception)]

    def _answered(self, fact: Fact) -> tuple[str, Truth]:
        if sum(one.kind == "yesno" for one in self._facts) > 1:
            return "", None
        wanted = set(stems(fact.noun.rpartition(' "')[2])) - _IDLE
        for place, clause in self._places():
            if wanted and wanted <= set(stems(clause)):
                if re.search(r"\b(?:no|not|non|without)\b", clause):
                    return "", None
                return place, fact.true
        return "", None

    def _measured(self, fact: Fact) -> tuple[str, Truth]:
        quantity = fact.quantity
        if quantity is None:
            return "", None
        for place, clause in self._places():
            spot, numbers_first = self._spot(clause)
            fitting = chosen(bounds_of(clause), quantity, fact.noun, spot, numbers_first)
            compare = against_now(clause) if fact.kind == "time" and fact.from_now else None
            if not fitting and compare is not None:
                return place, compare(quantity.value, Fraction(0))
            if fitting is None:
                return "", None
            if fitting:
                truths: list[Truth] = []
                for bound in fitting:
                    limit, value = bound.quantity(quantity, fact.noun), self._value(fact, quantity, bound)
                    truths.append(None if limit is None or value is None else bound.compare(value, limit.value))
                return place, _all(truths)
        return "", None

    @staticmethod
    def _value(fact: Fact, quantity: Quantity, bound: Bound) -> Fraction | None:
        """A fact's number as a bound counts it."""
        if fact.kind == "time":
            if fact.from_now:
                return -quantity.value if bound.past else quantity.value
            if quantity.value < 0:
                return -quantity.value if bound.aged else None
            return quantity.value
        return quantity.value + (1 if bound.counts_itself else 0)

    def _spot(self, clause: str) -> tuple[int | None, bool]:
        """Where the case's own choice stands in a clause, and whether figures stand before their choices there."""
        for fact in reversed(self._facts):
            if fact.kind == "choice":
                named = [value for value in dict.fromkeys(self._values[fact.noun]) if says(self._sentence, value)]
                if not all(says(clause, value) for value in named):
                    return None, False
                own = places(clause, fact.word)
                every = [spot for value in named for spot in places(clause, value)]
                figures = bounds_of(clause)
                if own and figures:
                    return own[0][0], figures[0].found.start < min(start for start, _ in every)
        return None, False


def _all(truths: Sequence[Truth]) -> Truth:
    if any(truth is False for truth in truths):
        return False
    return None if any(truth is None for truth in truths) else True


def _or(left: Truth, right: Truth) -> Truth:
    if left or right:
        return True
    return None if left is None or right is None else False


def _not(truth: Truth) -> Truth:
    return None if truth is None else not truth
