"""Formulated: a draft in the form that later steps read, with numbered rules, prefixes and settled parameters."""

import re
from collections.abc import Mapping

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import Parameter, Tool
from skillweave.schema.entity import Entity
from synth.planner.slots import bindings


def formulated(draft: Blueprint, initials: str) -> Blueprint:
    """A blueprint with numbered rules, allocated prefixes and settled parameters."""
    numbers = rule_numbers(draft)
    return prefixed(draft, initials).model_copy(update={"tools": [_settled(tool, numbers) for tool in draft.tools]})


def prefixed(draft: Blueprint, initials: str) -> Blueprint:
    """A blueprint whose tables have prefixes for their ids, unlike each other."""
    taken: set[str] = set()
    tables = [_prefixed(entity, initials, taken) for entity in draft.tables]
    count = len(draft.entities)
    return draft.model_copy(update={"entities": tables[:count], "relationships": tables[count:]})


def rule_numbers(draft: Blueprint) -> dict[str, str]:
    """The author's name of each rule -> `R1`, `R2`, ... in the order in which tools state them."""
    rules = [rule for tool in draft.tools for rule in (*(g.rule for g in tool.guards), *(e.rule for e in tool.effects))]
    return {rule: f"R{number}" for number, rule in enumerate(dict.fromkeys(rules), start=1)}


def server_initials(servers: list[str]) -> dict[str, str]:
    """Two or more letters for each server, unlike any other's."""
    found: dict[str, str] = {}
    for server in sorted(servers):
        words = re.findall(r"[A-Z][a-z0-9]*|[a-z0-9]+", server)
        longest = "".join(word[:3].upper() for word in words)
        choices = ["".join(word[0].upper() for word in words), "".join(word[:2].upper() for word in words), longest]
        choices += [f"{longest}{number}" for number in range(2, 100)]
        found[server] = next(c for c in choices if len(c) > 1 and c not in found.values())
    return found


def _prefixed(entity: Entity, initials: str, taken: set[str]) -> Entity:
    letters = re.sub(r"[^A-Z]", "", entity.name.upper())
    for middle in range(1, len(letters)):
        prefix = initials + letters[0] + letters[middle : middle + 2]
        if prefix not in taken:
            break
    taken.add(prefix)
    return entity.model_copy(update={"prefix": prefix})


def _settled(tool: Tool, numbers: Mapping[str, str]) -> Tool:
    shown = frozenset[str]().union(*(bindings(effect.sql) for effect in tool.effects))
    guards = [guard.model_copy(update={"rule": numbers[guard.rule]}) for guard in tool.guards]
    effects = [effect.model_copy(update={"rule": numbers[effect.rule]}) for effect in tool.effects]
    parameters = [
        parameter.model_copy(update={"observable": parameter.name in shown} | _repaired(parameter))
        for parameter in tool.parameters
    ]
    return tool.model_copy(update={"guards": guards, "effects": effects, "parameters": parameters})


def _repaired(parameter: Parameter) -> dict[str, object]:
    """Small slips of an author: a description without its full stop, an enum with a value twice."""
    repaired: dict[str, object] = {"description": parameter.description.strip().rstrip(".") + "."}
    if parameter.enum:
        repaired["enum"] = list(dict.fromkeys(parameter.enum))
    return repaired
