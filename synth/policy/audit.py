"""The audit: each rule's sentence set against its SQL, both ways.

What the SQL says in numbers, durations, shares and enum values, the sentence says; and the sentence gives no figure and
no other value of those enums that the SQL does not hold. Guards and effects that share a rule's number are one rule.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from skillweave.schema.blueprint import Blueprint
from synth.policy.demands import Demand, demands
from synth.policy.quantity import Found, Quantity, in_words, quantities
from synth.policy.words import asserts, names, stems


@dataclass
class Rule:
    """A numbered sentence with all SQL that is told by it."""

    number: str
    says: list[str] = field(default_factory=list)
    """More than one where parts that share the number are told differently."""
    sql: list[str] = field(default_factory=list)

    def add(self, says: str, sql: str) -> None:
        """One more guard or effect."""
        if says not in self.says:
            self.says.append(says)
        if sql not in self.sql:
            self.sql.append(sql)


def rules_of(blueprint: Blueprint) -> list[Rule]:
    """The rules of a contract, in the order in which its tools state them."""
    found: dict[str, Rule] = {}
    for tool in blueprint.tools:
        for guard in tool.guards:
            found.setdefault(guard.rule, Rule(guard.rule)).add(guard.says, guard.holds)
        for effect in tool.effects:
            found.setdefault(effect.rule, Rule(effect.rule)).add(effect.says, effect.sql)
    return list(found.values())


def audit(blueprint: Blueprint) -> list[str]:
    """Where sentence and SQL of a rule differ, in words for the author; empty where all agree."""
    verbs = frozenset(stem for tool in blueprint.tools for stem in stems(tool.name))
    return [fault for rule in rules_of(blueprint) for fault in audit_rule(rule, blueprint, verbs)]


def audit_rule(rule: Rule, blueprint: Blueprint, verbs: frozenset[str]) -> list[str]:
    """The differences of one rule; `verbs` are the stems of words that name what tools do."""
    if len(rule.says) != 1:
        return [f"{rule.number} is told in {len(rule.says)} ways: {' / '.join(rule.says)!r}; tell it in one"]
    sentence = rule.says[0]
    asked = [demands(sql, blueprint) for sql in rule.sql]
    every = [demand for part in asked for demand in part]
    found = quantities(sentence)
    faults = [*_unsaid(every, sentence, found), *_unfounded(every, found), *_foreign(every, sentence, verbs)]
    return [f"{rule.number} {sentence!r}: {fault}" for fault in dict.fromkeys(faults)]


def _unsaid(every: Sequence[Demand], sentence: str, found: Sequence[Found]) -> Iterator[str]:
    said = {reading for one in found for reading in one.readings}
    for demand in every:
        if demand.required and not (names(sentence, demand.word) if demand.word else _meet(demand.options, said)):
            yield f"the SQL says {demand.text}, the sentence does not"


def _unfounded(every: Sequence[Demand], found: Sequence[Found]) -> Iterator[str]:
    held = frozenset(option for demand in every for option in demand.options)
    for one in found:
        if one.firm and not _meet(held, set(one.readings)):
            yield f"the sentence says {in_words(one.readings[0])}, the SQL does not"


def _foreign(every: Sequence[Demand], sentence: str, verbs: frozenset[str]) -> Iterator[str]:
    held = {demand.word for demand in every}
    left = sentence.lower()
    for word in sorted(held, key=len, reverse=True):
        left = left.replace(word.replace("_", " "), ";") if word else left
    for demand in every:
        for value in demand.siblings:
            if value not in held and asserts(left, value) and not verbs & set(stems(value)):
                yield f"the sentence says {value.replace('_', ' ')!r}, the SQL does not"


def _meet(options: frozenset[Quantity], said: set[Quantity]) -> bool:
    return bool(options & said)
