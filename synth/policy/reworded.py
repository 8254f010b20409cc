"""The sentences in which a manual states its rules, where they are not the contract's own."""

import re

from skillweave.schema.blueprint import Blueprint
from synth.policy.manual import flat, stated_rules

_SENTENCE = re.compile(r"\[(?P<rule>R\d+)\] (?P<says>.+?[.!?])(?=\s|$)")


def sentences_of(manual: str, blueprint: Blueprint) -> dict[str, str]:
    """Number of a rule -> the sentence that the manual has for it; only of rules that it words otherwise."""
    text = flat(manual)
    rules = {rule: says for tool in blueprint.tools for rule, says in stated_rules(tool).items()}
    told = {found["rule"]: found["says"] for found in reversed(list(_SENTENCE.finditer(text)))}
    return {rule: told[rule] for rule, says in rules.items() if f"[{rule}] {flat(says)}" not in text and rule in told}
