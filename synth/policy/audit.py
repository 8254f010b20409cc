"""The audit: each rule's sentence set against its SQL, both ways.

What the SQL says in numbers, durations, shares and enum values, the sentence says; and the sentence gives no figure and
no other value of those enums that the SQL does not hold. Guards and effects that share a rule's number are one rule.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import Effect, Guard
from synth.policy.demands import Demand, demands, numbers_by_value
from synth.policy.manual import non_prose_in
from synth.policy.wording import (
    Quantity,
    StatedQuantity,
    asserts_value,
    in_words,
    names_value,
    places_of_value,
    quantities,
    stems,
)

_HELD = "~"
"""Stands for a value that the SQL holds."""


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
    common = common_words(blueprint)
    return [fault for rule in rules_of(blueprint) for fault in audit_rule(rule, blueprint, common)]


def common_words(blueprint: Blueprint) -> frozenset[str]:
    """Stems of the words for what tools do and what records hold; in a sentence they need not be values."""
    named = [tool.name for tool in blueprint.tools] + [entity.table for entity in blueprint.tables]
    named += [attribute.name for entity in blueprint.tables for attribute in entity.attributes]
    return frozenset(stem for name in named for stem in stems(name))


def audit_rule(rule: Rule, blueprint: Blueprint, common: frozenset[str]) -> list[str]:
    """The differences of one rule, each with its number and its sentence."""
    told = " / ".join(rule.says)
    return [f"{rule.number} {told!r}: {fault}" for fault in differences(rule, blueprint, common)]


def differences(rule: Rule, blueprint: Blueprint, common: frozenset[str]) -> list[str]:
    """What speaks against the sentence of a rule: it cannot stand in a policy, or is not what its SQL says."""
    if len(rule.says) != 1:
        return [f"it is told in {len(rule.says)} ways; tell it in one"]
    sentence = rule.says[0]
    mark = non_prose_in(sentence)
    if mark or not sentence.strip() or "\n" in sentence.strip():
        return [f"it holds {mark!r}; give plain words" if mark else "it is to be one line of plain words"]
    asked = [demands(sql, blueprint) for sql in rule.sql]
    every = [demand for part in asked for demand in part]
    found = quantities(sentence)
    beside = _beside(rule, blueprint)
    faults = [*_unsaid(every, sentence, found, beside), *_unfounded(every, found), *_foreign(every, sentence, common)]
    faults += [
        fault for sql in rule.sql for pairs in numbers_by_value(sql) for fault in _mixed_up(pairs, sentence, found)
    ]
    return list(dict.fromkeys(faults))


def _beside(rule: Rule, blueprint: Blueprint) -> str:
    """The other sentences of the tools that bring an effect about: what they say of it need not be said twice."""
    others: dict[str, None] = {}
    for tool in blueprint.tools:
        parts: list[Guard | Effect] = [*tool.guards, *tool.effects]
        if any(effect.rule == rule.number for effect in tool.effects):
            others |= dict.fromkeys(part.says for part in parts if part.rule != rule.number)
    return " ".join(others)


def _unsaid(every: Sequence[Demand], sentence: str, found: Sequence[StatedQuantity], beside: str) -> Iterator[str]:
    said = {reading for one in found for reading in one.readings}
    unsaid = []
    for demand in every:
        if demand.counted and not any(names_value(sentence, value) for value in demand.siblings):
            continue
        if demand.required and not (names_value(sentence, demand.word) if demand.word else _meet(demand.options, said)):
            unsaid.append(demand)
    elsewhere = {reading for one in quantities(beside) for reading in one.readings} if unsaid else set[Quantity]()
    for demand in unsaid:
        if not (names_value(beside, demand.word) if demand.word else _meet(demand.options, elsewhere)):
            yield f"the SQL says {demand.text}, the sentence does not"


def _unfounded(every: Sequence[Demand], found: Sequence[StatedQuantity]) -> Iterator[str]:
    held = frozenset(option for demand in every for option in demand.options)
    for one in found:
        if one.firm and not _meet(held, set(one.readings)):
            yield f"the sentence says {in_words(one.readings[0])}, the SQL does not"


def _foreign(every: Sequence[Demand], sentence: str, common: frozenset[str]) -> Iterator[str]:
    held = {demand.word for demand in every}
    left = sentence.lower()
    for word in sorted(filter(None, held), key=len, reverse=True):
        left = left.replace(word.replace("_", " "), _HELD)
    for demand in every:
        for value in demand.siblings:
            if value in held or not asserts_value(left, value):
                continue
            if _listed(left, value) or not common.issuperset(stems(value)):
                yield f"the sentence says {value.replace('_', ' ')!r}, the SQL does not"


def _listed(left: str, value: str) -> bool:
    """Whether a value stands in one list with values that the SQL holds: `held, ticketed or checked in`."""
    words = re.escape(value.replace("_", " "))
    between = r"\s*(?:,\s*(?:(?:or|and|nor)\s)?|\b(?:or|and|nor)\s)\s*(?:an?\s)?"
    return re.search(rf"{_HELD}{between}{words}\b|\b{words}{between}{_HELD}", left) is not None


def _mixed_up(
    pairs: Sequence[tuple[str, frozenset[Quantity]]], sentence: str, found: Sequence[StatedQuantity]
) -> Iterator[str]:
    """Values whose number stands at another value: `25 % for saver, 50 % for flexible` told the wrong way round."""
    spots = {value: places_of_value(sentence, value) for value, _ in pairs}
    if not all(spots.values()):
        return
    every = sorted(spot for found_at in spots.values() for spot in found_at)

    def beside(spot: tuple[int, int], after: bool) -> list[StatedQuantity]:
        if after:
            end = min((start for start, _ in every if start > spot[0]), default=len(sentence))
            return [one for one in found if one.firm and spot[1] <= one.start < end]
        start = max((end for _, end in every if end < spot[1]), default=0)
        return [one for one in found if one.firm and start <= one.start < spot[0]]

    def holds(value: str, options: frozenset[Quantity], after: bool) -> bool:
        return any(_meet(options, set(one.readings)) for spot in spots[value] for one in beside(spot, after))

    def is_mixed_up(after: bool) -> bool:
        """Whether beside some value stands a number of another, and none of its own."""
        strange = [value for value, options in pairs if not holds(value, options, after)]
        return any(holds(value, options, after) for value in strange for other, options in pairs if other != value)

    whole = any(all(holds(value, options, after) for value, options in pairs) for after in (True, False))
    if not whole and (is_mixed_up(after=True) or is_mixed_up(after=False)):
        said = ", ".join(value.replace("_", " ") for value, _ in pairs)
        yield f"the numbers for {said} do not stand beside them as the SQL gives them"


def _meet(options: frozenset[Quantity], said: set[Quantity]) -> bool:
    return bool(options & said)
