"""The audit: each rule's sentence compared with its SQL, both ways.

The sentence has to state all numbers, durations, shares and enum values of the SQL. It must not state other figures,
nor other values of those enums. Guards and effects with the same rule number are one rule.
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

_KNOWN_VALUE = "~"
"""Replaces a value of the SQL in a sentence."""


@dataclass
class Rule:
    """A rule: its number, its sentence, and all SQL that the sentence describes."""

    number: str
    says: list[str] = field(default_factory=list)
    """Its sentences; more than one if parts with the same number have different sentences."""
    sql: list[str] = field(default_factory=list)

    def add(self, says: str, sql: str) -> None:
        """Add one more guard or effect."""
        if says not in self.says:
            self.says.append(says)
        if sql not in self.sql:
            self.sql.append(sql)


def rules_of(blueprint: Blueprint) -> list[Rule]:
    """The rules of a contract, in the order in which its tools state them."""
    rules: dict[str, Rule] = {}
    for tool in blueprint.tools:
        for guard in tool.guards:
            rules.setdefault(guard.rule, Rule(guard.rule)).add(guard.says, guard.holds)
        for effect in tool.effects:
            rules.setdefault(effect.rule, Rule(effect.rule)).add(effect.says, effect.sql)
    return list(rules.values())


def audit(blueprint: Blueprint) -> list[str]:
    """The differences between the sentence and the SQL of each rule, in words for the author. Empty if all agree."""
    common = common_words(blueprint)
    return [fault for rule in rules_of(blueprint) for fault in audit_rule(rule, blueprint, common)]


def common_words(blueprint: Blueprint) -> frozenset[str]:
    """Stems of the words in names of tools, tables and columns, which need not mean enum values in a sentence."""
    named = [tool.name for tool in blueprint.tools] + [entity.table for entity in blueprint.tables]
    named += [attribute.name for entity in blueprint.tables for attribute in entity.attributes]
    return frozenset(stem for name in named for stem in stems(name))


def audit_rule(rule: Rule, blueprint: Blueprint, common: frozenset[str]) -> list[str]:
    """The differences of one rule, each with the rule's number and sentence."""
    sentences = " / ".join(rule.says)
    return [f"{rule.number} {sentences!r}: {fault}" for fault in differences(rule, blueprint, common)]


def differences(rule: Rule, blueprint: Blueprint, common: frozenset[str]) -> list[str]:
    """The faults of a rule's sentence: it does not fit a policy, or it differs from the SQL.

    Args:
        rule: The rule.
        blueprint: The contract that it belongs to.
        common: `common_words` of the contract.
    """
    if len(rule.says) != 1:
        return [f"it is told in {len(rule.says)} ways; tell it in one"]
    sentence = rule.says[0]
    non_prose = non_prose_in(sentence)
    if non_prose or not sentence.strip() or "\n" in sentence.strip():
        return [f"it holds {non_prose!r}; give plain words" if non_prose else "it is to be one line of plain words"]
    demands_of_parts = [demands(sql, blueprint) for sql in rule.sql]
    all_demands = [demand for part in demands_of_parts for demand in part]
    stated = quantities(sentence)
    companions = _companion_sentences(rule, blueprint)
    faults = [
        *_unsaid_demands(all_demands, sentence, stated, companions),
        *_unfounded_quantities(all_demands, stated),
        *_foreign_values(all_demands, sentence, common),
    ]
    faults += [
        fault
        for sql in rule.sql
        for pairs in numbers_by_value(sql)
        for fault in _mixed_up_numbers(pairs, sentence, stated)
    ]
    return list(dict.fromkeys(faults))


def _companion_sentences(rule: Rule, blueprint: Blueprint) -> str:
    """The other sentences of the tools with this effect. The effect's sentence need not repeat them."""
    others: dict[str, None] = {}
    for tool in blueprint.tools:
        parts: list[Guard | Effect] = [*tool.guards, *tool.effects]
        if any(effect.rule == rule.number for effect in tool.effects):
            others |= dict.fromkeys(part.says for part in parts if part.rule != rule.number)
    return " ".join(others)


def _unsaid_demands(
    demands_of_rule: Sequence[Demand], sentence: str, stated: Sequence[StatedQuantity], companions: str
) -> Iterator[str]:
    readings_said = {reading for quantity in stated for reading in quantity.readings}
    unsaid = []
    for demand in demands_of_rule:
        if demand.counted and not any(names_value(sentence, value) for value in demand.siblings):
            continue
        if demand.required and not _is_said(demand, sentence, readings_said):
            unsaid.append(demand)
    elsewhere = (
        {reading for quantity in quantities(companions) for reading in quantity.readings} if unsaid else set[Quantity]()
    )
    for demand in unsaid:
        if not _is_said(demand, companions, elsewhere):
            yield f"the SQL says {demand.text}, the sentence does not"


def _is_said(demand: Demand, text: str, readings: set[Quantity]) -> bool:
    """Whether a text, whose quantities have these readings, meets a demand."""
    return names_value(text, demand.word) if demand.word else _have_common(demand.options, readings)


def _unfounded_quantities(demands_of_rule: Sequence[Demand], stated: Sequence[StatedQuantity]) -> Iterator[str]:
    known = frozenset(option for demand in demands_of_rule for option in demand.options)
    for quantity in stated:
        if quantity.is_firm and not _have_common(known, set(quantity.readings)):
            yield f"the sentence says {in_words(quantity.readings[0])}, the SQL does not"


def _foreign_values(demands_of_rule: Sequence[Demand], sentence: str, common: frozenset[str]) -> Iterator[str]:
    known = {demand.word for demand in demands_of_rule}
    rest = sentence.lower()
    for word in sorted(filter(None, known), key=len, reverse=True):
        rest = rest.replace(word.replace("_", " "), _KNOWN_VALUE)
    for demand in demands_of_rule:
        for value in demand.siblings:
            if value in known or not asserts_value(rest, value):
                continue
            if _is_listed_with_known(rest, value) or not common.issuperset(stems(value)):
                yield f"the sentence says {value.replace('_', ' ')!r}, the SQL does not"


def _is_listed_with_known(text: str, value: str) -> bool:
    """Whether a value is in one list with values of the SQL: `held, ticketed or checked in`."""
    words = re.escape(value.replace("_", " "))
    between = r"\s*(?:,\s*(?:(?:or|and|nor)\s)?|\b(?:or|and|nor)\s)\s*(?:an?\s)?"
    return re.search(rf"{_KNOWN_VALUE}{between}{words}\b|\b{words}{between}{_KNOWN_VALUE}", text) is not None


def _mixed_up_numbers(
    pairs: Sequence[tuple[str, frozenset[Quantity]]], sentence: str, stated: Sequence[StatedQuantity]
) -> Iterator[str]:
    """A fault if numbers are next to the wrong values: `50 % for saver, 25 % for flexible` for the opposite SQL."""
    spots = {value: places_of_value(sentence, value) for value, _ in pairs}
    if not all(spots.values()):
        return
    all_spots = sorted(spot for found_at in spots.values() for spot in found_at)

    def beside(spot: tuple[int, int], after: bool) -> list[StatedQuantity]:
        if after:
            end = min((start for start, _ in all_spots if start > spot[0]), default=len(sentence))
            return [quantity for quantity in stated if quantity.is_firm and spot[1] <= quantity.start < end]
        start = max((end for _, end in all_spots if end < spot[1]), default=0)
        return [quantity for quantity in stated if quantity.is_firm and start <= quantity.start < spot[0]]

    def holds(value: str, options: frozenset[Quantity], after: bool) -> bool:
        return any(
            _have_common(options, set(quantity.readings)) for spot in spots[value] for quantity in beside(spot, after)
        )

    def is_mixed_up(after: bool) -> bool:
        """Whether some value is next to another value's number and not next to its own."""
        unmatched = [value for value, options in pairs if not holds(value, options, after)]
        return any(holds(value, options, after) for value in unmatched for other, options in pairs if other != value)

    is_right = any(all(holds(value, options, after) for value, options in pairs) for after in (True, False))
    if not is_right and (is_mixed_up(after=True) or is_mixed_up(after=False)):
        values = ", ".join(value.replace("_", " ") for value, _ in pairs)
        yield f"the numbers for {values} do not stand beside them as the SQL gives them"


def _have_common(options: frozenset[Quantity], stated: set[Quantity]) -> bool:
    return bool(options & stated)
